"""A hub by the WebSub recommendation (sections 5 to 7): asks back, pushes, signs, and lets leases end.

It is driven by hand: what it has to ask is asked by ``ask_back``, and ``push`` sends what a publisher would have
announced. So a test decides what happens when, by a clock of its own.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from aiohttp import ClientSession, web

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Held:
    """A subscription as the hub has it: its unique key is topic and callback."""

    topic: str
    callback: str
    secret: str | None
    ends_at: float


@dataclass
class Wish:
    """A request that was accepted and is not verified yet."""

    mode: str
    topic: str
    callback: str
    lease_seconds: int
    secret: str | None


@dataclass
class Hub:
    """``url`` is where it takes requests, once it runs."""

    clock: Callable[[], float]
    lease_max: int = 864_000
    method: str = "sha256"
    wishes: list[Wish] = field(default_factory=list)
    held: dict[tuple[str, str], Held] = field(default_factory=dict)
    forms: list[dict[str, str]] = field(default_factory=list)
    """All requests as they came."""
    url: str = ""

    async def start(self) -> None:
        self.session = ClientSession()
        application = web.Application()
        application.router.add_post("/", self._accept)
        application.router.add_post("/moved", self._moved)
        application.router.add_post("/refuses", self._refuse)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"

    async def stop(self) -> None:
        await self.session.close()
        await self._runner.cleanup()

    async def _moved(self, request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": self.url})

    async def _refuse(self, request: web.Request) -> web.Response:
        return web.Response(status=403, text="not for you")

    async def _accept(self, request: web.Request) -> web.Response:
        if request.content_type != "application/x-www-form-urlencoded":
            return web.Response(status=415)
        said = {
            name: values[0] for name, values in parse_qs(await request.text(), strict_parsing=True).items()
        }
        self.forms.append(said)
        secret = said.get("hub.secret")
        callback, mode = urlsplit(said["hub.callback"]), said["hub.mode"]
        if mode not in ("subscribe", "unsubscribe") or not callback.netloc or len(secret or "") >= 200:
            return web.Response(status=400)
        lease = min(int(said.get("hub.lease_seconds", self.lease_max)), self.lease_max)
        self.wishes.append(Wish(mode, said["hub.topic"], said["hub.callback"], lease, secret))
        return web.Response(status=202)

    async def ask_back(self) -> list[bool]:
        """Verify all that was asked for; whether each was confirmed (section 5.3)."""
        wishes, self.wishes = self.wishes, []
        return [await self._verify(wish) for wish in wishes]

    async def _verify(self, wish: Wish) -> bool:
        challenge = f"challenge-{len(self.forms)}-{wish.mode}"
        said: dict[str, Any] = {
            "hub.mode": wish.mode,
            "hub.topic": wish.topic,
            "hub.challenge": challenge,
            "hub.lease_seconds": wish.lease_seconds,
        }
        async with self.session.get(f"{wish.callback}?{urlencode(said)}") as response:
            if response.status // 100 != 2 or await response.text() != challenge:
                return False
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.content_type == "application/octet-stream"
        key = wish.topic, wish.callback
        if wish.mode == "unsubscribe":
            self.held.pop(key, None)
        else:
            ends_at = self.clock() + wish.lease_seconds
            self.held[key] = Held(wish.topic, wish.callback, wish.secret, ends_at)
        return True

    async def deny(self, topic: str, callback: str, reason: str) -> int:
        """Tell that a subscription is not possible (any more); the status of the answer (section 5.2)."""
        self.held.pop((topic, callback), None)
        said = {"hub.mode": "denied", "hub.topic": topic, "hub.reason": reason}
        async with self.session.get(f"{callback}?{urlencode(said)}") as response:
            return response.status

    async def push(self, topic: str, content: bytes) -> list[int]:
        """Send new content to all whose lease has not ended; the statuses they answered. 410 ends one (section 7)."""
        statuses = []
        for key, held in list(self.held.items()):
            if held.topic != topic or held.ends_at <= self.clock():
                continue
            headers = {"Content-Type": "text/html", "Link": f'<{self.url}>; rel="hub", <{topic}>; rel="self"'}
            if held.secret is not None:
                mac = hmac.new(held.secret.encode(), content, self.method).hexdigest()
                headers["X-Hub-Signature"] = f"{self.method}={mac}"
            async with self.session.post(held.callback, data=content, headers=headers) as response:
                statuses.append(response.status)
                if response.status == 410:
                    del self.held[key]
        return statuses
