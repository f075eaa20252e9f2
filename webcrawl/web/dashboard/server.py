"""The dashboard's application: routes, rights, limits, errors and event streams.

``make_app`` returns an application of one crawl, which may be mounted below a prefix (``Application.add_subapp``):
all addresses in it are relative.
"""

from __future__ import annotations

import asyncio
import logging
import time
from importlib import resources
from typing import TYPE_CHECKING, Any

from aiohttp import web

from webcrawl.config.checks import missing_packages
from webcrawl.config.metrics import LIBRARY
from webcrawl.errors import CrawlError
from webcrawl.version import __version__
from webcrawl.web.access import (
    WRONG_TOKENS_LOGGED,
    Access,
    Asked,
    Denial,
    Granted,
    Rate,
    RateLimiter,
    Right,
    check_json,
    client_name,
)
from webcrawl.web.dashboard import openapi
from webcrawl.web.dashboard.api import ENDPOINTS, PREFIX, PUBLIC, Api, Call, EndpointReply, error_sentence
from webcrawl.web.dashboard.endpoint import EVENTS
from webcrawl.web.dashboard.metrics import metrics_view
from webcrawl.web.dashboard.reading import ReaderThreads, SharedState
from webcrawl.web.fields import as_json, read_body, read_query
from webcrawl.web.headers import HEADERS
from webcrawl.web.metrics.exposition import CrawlMetrics, exposed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from webcrawl.web.dashboard.api import Endpoint
    from webcrawl.web.dashboard.source import CrawlSource

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

BODY_MAX = 1 << 20
BODY_SECONDS = 15.0
"""Time for the whole body of a request."""
REQUESTS = Rate(50.0, 300)
"""Requests of one client."""

logger = logging.getLogger(__name__)

_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".txt": "text/plain",
    ".md": "text/plain",
}
"""The content types of the files of the page."""


def make_app(source: CrawlSource, access: Access, *, name: str = "") -> web.Application:
    """Return the application for one crawl. ``name``: of the crawl in log lines, if there are several."""
    return Dashboard(source, access, name).application


class Site:
    """A JSON API, made from a table of endpoints, with the files of its page: rights, limits and errors."""

    def __init__(self, access: Access, endpoints: Iterable[Endpoint], name: str = "") -> None:
        """``name``: in log lines, if there are several sites."""
        self._access = access
        self._endpoints = [endpoint for endpoint in endpoints if endpoint.in_public or not access.public]
        self._api: Any = None
        """The first argument of the answers of the endpoints."""
        self._rates = RateLimiter(REQUESTS)
        self._wrong_tokens = RateLimiter(WRONG_TOKENS_LOGGED)
        self._name = f"{name}: " if name else ""

    def _new_application(self, files: Iterable[tuple[str, bytes, str]]) -> web.Application:
        """Return an application with the endpoints and with these files: path, content and type of each."""
        application = web.Application(middlewares=[self._guard], client_max_size=BODY_MAX)
        application.on_response_prepare.append(_add_headers)
        for endpoint in self._endpoints:
            # A HEAD is a GET without its body, which a stream has no end of.
            has_head = endpoint.method == "GET" and endpoint.media_type != EVENTS
            for method in ("GET", "HEAD") if has_head else (endpoint.method,):
                application.router.add_route(method, f"{PREFIX}{endpoint.path}", self._handler(endpoint))
        described = as_json(openapi.description(self._endpoints, public=self._access.public))
        application.router.add_get(f"{PREFIX}/openapi.json", _constant(described, "application/json"))
        application.router.add_get("/healthz", _constant(b'{"status":"ok"}', "application/json"))
        for path, content, kind in files:
            application.router.add_get(path, _constant(content, kind, is_page=kind == "text/html"))
        return application

    # -- requests ------------------------------------------------------------------------------------------

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check what holds for all requests, and answer errors as JSON."""
        asked = asked_in(request)
        now = time.time()
        try:
            if wait := self._rates.take(client_name(asked.client), now):
                raise Denial(429, "too many requests", wait)
            self._access.check_host(asked)
            is_page = request.method in ("GET", "HEAD") and getattr(
                request.match_info.handler, "is_page", False
            )
            self._access.check_origin(asked, is_page=is_page)
            return await handler(request)
        except Denial as denial:
            self._log(denial, asked, now)
            return _denied(denial)
        except web.HTTPMethodNotAllowed as error:
            allowed = sorted(error.allowed_methods)
            denied = _denied(
                Denial(
                    405, f"{request.method[:20]} is not allowed here: {', '.join(allowed)}", allowed=allowed
                )
            )
            denied.headers["Allow"] = ", ".join(allowed)
            return denied
        except web.HTTPRequestEntityTooLarge:
            return _denied(Denial(413, f"the body is longer than {BODY_MAX} bytes"))
        except web.HTTPException as error:
            sentence = "there is nothing at this address" if error.status == 404 else error.reason
            return _denied(Denial(error.status, sentence))
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            # Whatever fails here fails one request.
            logger.exception("%sA request to %s failed", self._name, ascii(request.path[:200]))
            return _denied(Denial(500, "the dashboard failed; its log says how"))

    def _log(self, denial: Denial, asked: Asked, now: float) -> None:
        wrong = denial.status in (401, 429) and (
            asked.headers.get("Authorization") is not None or asked.method == "POST"
        )
        if wrong and not self._wrong_tokens.take("", now):
            logger.warning("%sA request from %s was refused: %s", self._name, asked.client, denial.sentence)

    def _handler(self, endpoint: Endpoint) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            asked, now = asked_in(request), time.time()
            granted = self._allowed(endpoint, asked, now)
            values = read_query(request.rel_url.raw_query_string, endpoint.query)
            for field in endpoint.inside:
                values[field.name] = field.checked(request.match_info[field.name])
            if endpoint.body is not None:
                values |= read_body(await _body(request), endpoint.body)
            try:
                reply = await endpoint.answer(self._api, Call(asked, granted, values, now, request))
            except CrawlError as error:
                raise Denial(503, error_sentence(error), 5.0) from error
            return self._response(request, endpoint, reply)

        return handle

    def _allowed(self, endpoint: Endpoint, asked: Asked, now: float) -> Granted:
        """Return the right of a request to an endpoint. :raises Denial: it does not suffice"""
        granted = self._access.granted(asked, now)
        if self._access.public:
            if endpoint.body is not None:
                check_json(asked)
            return granted
        if endpoint.right is Right.WRITE:
            self._access.check_change(asked, granted)
        elif asked.is_change:
            check_json(asked)
        if granted.right < endpoint.right:
            raise Denial(401, "reading needs the token: log in, or send Authorization: Bearer TOKEN")
        return granted

    def _response(self, request: web.Request, endpoint: Endpoint, answer: Any) -> web.StreamResponse:
        if isinstance(answer, web.StreamResponse):
            return answer
        reply = answer if isinstance(answer, EndpointReply) else EndpointReply(answer)
        response = web.Response(
            status=reply.status, body=as_json(reply.value), content_type="application/json"
        )
        if reply.cookie is not None:
            sessions = self._access.sessions
            # The address of this endpoint is BASE/api/v1/session.
            path = request.path.removesuffix(f"{PREFIX}{endpoint.path}") or "/"
            if reply.cookie:
                response.set_cookie(
                    sessions.cookie,
                    reply.cookie,
                    path=path,
                    httponly=True,
                    samesite="Strict",
                    secure=request.headers.get("Origin", "").startswith("https:"),
                )
            else:
                response.del_cookie(sessions.cookie, path=path)
        return response


class Dashboard(Site):
    """The application of one crawl, and what its requests share."""

    def __init__(self, source: CrawlSource, access: Access, name: str = "") -> None:
        super().__init__(access, PUBLIC if access.public else ENDPOINTS, name)
        self._source = source
        self._readers = ReaderThreads()
        self._state = SharedState(self._readers, lambda: source.state(public=access.public))
        self._api = Api(source, access, self._readers, self._state)
        self.application = self._application()

    def _application(self) -> web.Application:
        application = self._new_application(static_files())
        application.on_cleanup.append(self._close)
        application.router.add_get("/readyz", self._readyz)
        if not self._access.public:
            application.router.add_get("/metrics", self._metrics)
        return application

    async def _close(self, application: web.Application) -> None:
        self._readers.close()
        await asyncio.to_thread(self._source.close)

    # -- monitoring ----------------------------------------------------------------------------------------

    async def _metrics(self, request: web.Request) -> web.Response:
        """Answer Prometheus. However many ask, the crawl is read every two seconds at most."""
        if self._access.granted(asked_in(request), time.time()).right < Right.READ:
            raise Denial(401, "reading needs the token: send Authorization: Bearer TOKEN")
        if (why := missing_packages([LIBRARY])) is not None:
            raise Denial(501, f"/metrics {why}")
        try:
            view = metrics_view((await self._state.latest()).value)
        except Denial:
            view = CrawlMetrics(is_up=False, version=__version__)
        body, content_type = exposed(view, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _readyz(self, request: web.Request) -> web.Response:
        """Answer 200 while the crawl can be read, and 503 otherwise."""
        await self._state.latest()
        return web.Response(body=b'{"status":"ok"}', content_type="application/json")


def asked_in(request: web.Request) -> Asked:
    """Return what a request says about itself."""
    return Asked(request.method, request.headers, request.cookies, request.remote, request.raw_path)


def static_files() -> Iterable[tuple[str, bytes, str]]:
    """Yield path, content and type of the files of the page. Other files cannot be asked for."""
    folder = resources.files("webcrawl.web.dashboard") / "static"
    for file in folder.iterdir():
        kind = _TYPES.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None and file.is_file():
            content = file.read_bytes()
            if file.name == "index.html":
                yield "/", content, kind
            else:
                yield f"/static/{file.name}", content, kind


def _constant(content: bytes, kind: str, *, is_page: bool = False) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        charset = "utf-8" if kind.startswith("text/") else None
        return web.Response(body=content, content_type=kind, charset=charset)

    handle.is_page = is_page  # type: ignore[attr-defined]
    return handle


async def _body(request: web.Request) -> bytes:
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise Denial(415, "the body must not be compressed")
    length = request.content_length
    if length is not None and length > BODY_MAX:
        raise Denial(413, f"the body is longer than {BODY_MAX} bytes")
    try:
        return await asyncio.wait_for(request.read(), BODY_SECONDS)
    except TimeoutError:
        raise Denial(408, f"the body did not arrive within {BODY_SECONDS:g} seconds") from None


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        if name == "Server" or name not in response.headers:
            response.headers[name] = value


def _denied(denial: Denial) -> web.Response:
    value: dict[str, Any] = {"error": denial.sentence}
    if denial.allowed is not None:
        value["allowed"] = denial.allowed
    if denial.problems:
        value["problems"] = denial.problems
    response = web.Response(status=denial.status, body=as_json(value), content_type="application/json")
    if denial.retry_after is not None:
        response.headers["Retry-After"] = str(max(1, round(denial.retry_after + 0.5)))
    if denial.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
