"""The server at which hubs reach us, on the event loop of the crawl."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import ClientError, web

from webcrawl.errors import CrawlError, StartRefused
from webcrawl.features.websub.callback import NOT_FOUND, Answer, Callback, Push
from webcrawl.features.websub.subscription import is_token

AT_ONCE = 32
"""Requests that are read at a time; others are told to come again."""
READ_SECONDS = 30.0
"""For the whole body of a push."""
_KEEP_ALIVE_SECONDS = 15.0
_BUSY = Answer(503)
_PIECE = 1 << 16

logger = logging.getLogger(__name__)
_UNHEARD = logging.getLogger(f"{__name__}.peers")
"""To which aiohttp tells, with tracebacks, what is wrong with requests. Anybody can send such: it is for no log."""
_UNHEARD.setLevel(logging.CRITICAL + 1)


class Server:
    """Answers GET and POST for any path that ends in the token of a subscription, and 404 to all else.

    It is meant to stand behind a proxy that ends TLS; what comes in is bounded all the same.
    """

    def __init__(
        self, callback: Callback, clock: Callable[[], float], body_max: int, pushed: Callable[[], None]
    ) -> None:
        """``body_max``: bytes of a push that are read; ``pushed`` is called when one may have come."""
        self._callback = callback
        self._clock = clock
        self._body_max = body_max
        self._pushed = pushed
        self._open = 0
        self._failed = False
        self._runner: web.AppRunner | None = None
        self.port = 0
        """Where it listens, once it does."""

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 for any that is free. :raises StartRefused: that cannot be"""
        application = web.Application()
        application.router.add_route("GET", "/{path:.*}", self._get)
        application.router.add_route("POST", "/{path:.*}", self._post)
        runner = web.AppRunner(
            application,
            access_log=None,
            logger=_UNHEARD,
            keepalive_timeout=_KEEP_ALIVE_SECONDS,
            # What is signed is the body as it comes, and a bomb stays packed.
            auto_decompress=False,
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            await runner.cleanup()
            raise StartRefused(f"WEBSUB_LISTEN: nothing can be heard at {host}:{port}: {error}") from error
        self._runner = runner
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        """What is being answered is answered."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _get(self, request: web.Request) -> web.Response:
        query = request.rel_url.raw_query_string
        return await self._answered(request, lambda token: self._callback.intent(token, query, self._clock()))

    async def _post(self, request: web.Request) -> web.Response:
        return await self._answered(request, lambda token: self._push(request, token))

    async def _push(self, request: web.Request, token: str) -> Answer:
        push = await self._callback.begin(token, request.headers.get("X-Hub-Signature"))
        if isinstance(push, Answer):
            return push
        await self._read(request, push)
        answer = await self._callback.end(push, self._clock())
        self._pushed()
        return answer

    async def _read(self, request: web.Request, push: Push) -> None:
        """Nothing of the body is kept, and nothing read that needs no signature."""
        if push.signature is None or not push.wants_body:
            return
        length = 0
        async for part in request.content.iter_chunked(_PIECE):
            length += len(part)
            if length > self._body_max:
                push.too_long = True
                return
            push.signature.feed(part)

    async def _answered(self, request: web.Request, step: Callable[[str], Awaitable[Answer]]) -> web.Response:
        token = request.path.rpartition("/")[2]
        if not is_token(token):
            # Whoever tries names costs no look into the store.
            return _response(NOT_FOUND)
        if self._open >= AT_ONCE:
            return _response(_BUSY)
        self._open += 1
        try:
            async with asyncio.timeout(READ_SECONDS):
                answer = await step(token)
        except TimeoutError:
            answer = Answer(408)
        except CrawlError as error:
            if not self._failed:
                logger.warning("Hubs are told to come again: %s", error)
            self._failed = True
            answer = _BUSY
        except (ConnectionError, ClientError, web.RequestPayloadError):
            # The body came to no end, or not as HTTP has it.
            answer = Answer(400)
        except Exception:
            # A fault of ours must cost this answer, not the server.
            logger.exception("A hub could not be answered")
            answer = Answer(500)
        else:
            self._failed = False
        finally:
            self._open -= 1
        return _response(answer)


def _response(answer: Answer) -> web.Response:
    """A body is a challenge, which must not be taken for a document (section 8.2)."""
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    if answer is _BUSY:
        headers["Retry-After"] = "60"
    return web.Response(
        status=answer.status,
        body=answer.body,
        headers=headers,
        content_type="application/octet-stream",
    )
