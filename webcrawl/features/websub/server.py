"""HTTP server that hubs send their requests to, on the event loop of the crawl."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import ClientError, web

from webcrawl.errors import CrawlError, StartRefused
from webcrawl.features.websub.callback import NOT_FOUND, Callback, CallbackResponse, Push
from webcrawl.features.websub.subscription import is_token

AT_ONCE = 32
"""Maximum number of requests processed at a time; others get status 503."""
READ_SECONDS = 30.0
"""Time limit for the whole body of a push."""
_KEEP_ALIVE_SECONDS = 15.0
_BUSY = CallbackResponse(503)
_PIECE = 1 << 16

logger = logging.getLogger(__name__)
_PEERS = logging.getLogger(f"{__name__}.peers")
"""Logger to which aiohttp writes errors of requests, with tracebacks. Anyone can send faulty requests, so it is
silenced."""
_PEERS.setLevel(logging.CRITICAL + 1)


class CallbackServer:
    """Answers GET and POST for any path that ends in the token of a subscription, and 404 for all others.

    It is intended to run behind a proxy that terminates TLS; requests are limited in any case.
    """

    def __init__(
        self, callback: Callback, clock: Callable[[], float], body_max: int, on_push: Callable[[], None]
    ) -> None:
        """``body_max``: maximum number of bytes of a push; ``on_push`` is called when one may have arrived."""
        self._callback = callback
        self._clock = clock
        self._body_max = body_max
        self._on_push = on_push
        self._open = 0
        self._failed = False
        self._runner: web.AppRunner | None = None
        self.port = 0
        """The port on which it listens, after ``start``."""

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 uses any free port. :raises StartRefused: the address cannot be used"""
        application = web.Application()
        application.router.add_route("GET", "/{path:.*}", self._get)
        application.router.add_route("POST", "/{path:.*}", self._post)
        runner = web.AppRunner(
            application,
            access_log=None,
            logger=_PEERS,
            keepalive_timeout=_KEEP_ALIVE_SECONDS,
            # The signature is of the body as received, and a decompression bomb stays compressed.
            auto_decompress=False,
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            await runner.cleanup()
            raise StartRefused(f"WEBSUB_LISTEN: cannot listen on {host}:{port}: {error}") from error
        self._runner = runner
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening, after open requests were answered."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _get(self, request: web.Request) -> web.Response:
        query = request.rel_url.raw_query_string
        return await self._answered(request, lambda token: self._callback.intent(token, query, self._clock()))

    async def _post(self, request: web.Request) -> web.Response:
        return await self._answered(request, lambda token: self._push(request, token))

    async def _push(self, request: web.Request, token: str) -> CallbackResponse:
        push = await self._callback.begin(token, request.headers.get("X-Hub-Signature"))
        if isinstance(push, CallbackResponse):
            return push
        await self._read(request, push)
        answer = await self._callback.end(push, self._clock())
        self._on_push()
        return answer

    async def _read(self, request: web.Request, push: Push) -> None:
        """Read the body for its signature, without keeping it; a body that needs no signature is not read."""
        if push.signature is None or not push.wants_body:
            return
        length = 0
        async for part in request.content.iter_chunked(_PIECE):
            length += len(part)
            if length > self._body_max:
                push.too_long = True
                return
            push.signature.feed(part)

    async def _answered(
        self, request: web.Request, step: Callable[[str], Awaitable[CallbackResponse]]
    ) -> web.Response:
        token = request.path.rpartition("/")[2]
        if not is_token(token):
            # Guessed names cause no look-up in the store.
            return _response(NOT_FOUND)
        if self._open >= AT_ONCE:
            return _response(_BUSY)
        self._open += 1
        try:
            async with asyncio.timeout(READ_SECONDS):
                answer = await step(token)
        except TimeoutError:
            answer = CallbackResponse(408)
        except CrawlError as error:
            if not self._failed:
                logger.warning("Hubs get status 503, since the store fails: %s", error)
            self._failed = True
            answer = _BUSY
        except (ConnectionError, ClientError, web.RequestPayloadError):
            # The body is incomplete or is not valid HTTP.
            answer = CallbackResponse(400)
        except Exception:
            # A bug must cost only this answer, not the server.
            logger.exception("A hub could not be answered")
            answer = CallbackResponse(500)
        else:
            self._failed = False
        finally:
            self._open -= 1
        return _response(answer)


def _response(answer: CallbackResponse) -> web.Response:
    """Build the response. Its body is a challenge, which must not be interpreted as a document (section 8.2)."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    if answer is _BUSY:
        headers["Retry-After"] = "60"
    return web.Response(
        status=answer.status,
        body=answer.body,
        headers=headers,
        content_type="application/octet-stream",
    )
