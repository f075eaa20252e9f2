"""Over sockets, with a hub by the recommendation: asking, asking back, pushing, leaving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from tests.hub import Hub
from tests.rows import each_row
from webcrawl.errors import StartRefused, StorageFull
from webcrawl.features.websub.callback import Callback
from webcrawl.features.websub.discovery import Advertised
from webcrawl.features.websub.server import CallbackServer
from webcrawl.features.websub.store import SubscriptionStore
from webcrawl.features.websub.subscriber import Subscriber, Terms
from webcrawl.features.websub.subscription import Subscription, SubscriptionState
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.memory.tables import MemoryTables

DAY = 86_400.0
TOPIC = "http://a.test/feed"


@dataclass
class Crawl:
    """Sends requests to hubs at once, and records the topics to revisit."""

    hub: Hub
    now: float = 1_000_000.0
    revisited: list[str] = field(default_factory=list)
    pushed: int = 0

    async def request(self, hub: str, form: bytes, topic: str) -> str | None:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        async with self.hub.session.post(hub, data=form, headers=headers, allow_redirects=False) as response:
            self.answers.append((form, response.status, response.headers.get("Location")))
        return None

    async def revisit(self, one: Subscription) -> None:
        self.revisited.append(one.topic)

    async def drain(self) -> None:
        """Nothing to do."""

    def heard(self) -> None:
        self.pushed += 1

    async def step(self, seconds: float = 0.0) -> None:
        """Let time pass, do what is due, and have the hub do what it has to."""
        self.now += seconds
        self.answers: list[tuple[bytes, int, str | None]] = []
        await self.subscriber.step(self, self.now)
        for form, status, location in self.answers:
            token = form.decode().partition("hub.callback=")[2].partition("&")[0].rpartition("%2F")[2]
            await self.subscriber.responded(token, status, location, self.now)

    async def find(self, hub: str) -> None:
        self.subscriber.note(UrlEntry(TOPIC, "a.test", 0), Advertised(TOPIC, (hub,)))
        await self.step()


@asynccontextmanager
async def crawl_and_hub(**options) -> AsyncIterator[tuple[Crawl, Hub]]:
    hub = Hub(lambda: crawl.now)
    await hub.start()
    crawl = Crawl(hub)
    crawl.subscriber = Subscriber(SubscriptionStore(MemoryTables()), Terms("", secret="always", **options))
    await crawl.subscriber.open()
    crawl.server = CallbackServer(Callback(crawl.subscriber), lambda: crawl.now, 100_000, crawl.heard)
    await crawl.server.start("127.0.0.1", 0)
    callback = f"http://127.0.0.1:{crawl.server.port}/at/websub"
    crawl.subscriber.terms = Terms(callback, secret="always", **options)
    try:
        yield crawl, hub
    finally:
        await crawl.server.stop()
        await hub.stop()


def test_from_the_first_request_to_the_last() -> None:
    async def play() -> None:
        async with crawl_and_hub() as (crawl, hub):
            await crawl.find(hub.url)
            assert await hub.ask_back() == [True]
            for method in ("sha1", "sha256", "sha384", "sha512"):
                hub.method = method
                assert await hub.push(TOPIC, b"new " * 20_000) == [202]
                await crawl.step(3600)
            assert crawl.revisited == [TOPIC] * 4
            # The lease is renewed with another callback, and the old one ends at the next push.
            await crawl.step(8 * DAY)
            await crawl.step()
            assert await hub.ask_back() == [True]
            assert sorted(await hub.push(TOPIC, b"new")) == [202, 410]
            assert await hub.push(TOPIC, b"new") == [202]
            await crawl.step(3 * DAY)
            crawl.subscriber.end()
            await crawl.step()
            assert await hub.ask_back() == [True]
            assert hub.held == {}
            assert await crawl.subscriber.store.count() == 0
            assert [form["hub.mode"] for form in hub.forms] == ["subscribe", "subscribe", "unsubscribe"]

    asyncio.run(play())


def test_intents_and_pushes_that_are_not_ours_come_to_nothing() -> None:
    async def play() -> None:
        async with crawl_and_hub() as (crawl, hub):
            await crawl.find(hub.url)
            [wish] = hub.wishes
            for wrong in (
                {"topic": "http://a.test/other"},
                {"mode": "unsubscribe"},
                {"callback": wish.callback[:-1] + "x"},
            ):
                hub.wishes = [type(wish)(**{**vars(wish), **wrong})]
                assert await hub.ask_back() == [False]
            hub.wishes = [wish]
            assert await hub.ask_back() == [True]
            [held] = hub.held.values()
            for secret in ("wrong", None):
                held.secret = secret
                assert await hub.push(TOPIC, b"evil") == [202]
            held.callback = held.callback.replace("/at/websub/", "/elsewhere/")
            held.secret = wish.secret
            assert await hub.push(TOPIC, b"new" * 100_000) == [202]
            await crawl.step(DAY)
            assert crawl.revisited == []
            assert crawl.subscriber.counts.ignored == 3
            assert await hub.push(TOPIC, b"new") == [202]
            await crawl.step()
            assert crawl.revisited == [TOPIC]
            assert await hub.deny(TOPIC, held.callback, "no more") == 200
            [one] = await crawl.subscriber.store.of_topics([TOPIC])
            assert (one.state, one.reason) == (SubscriptionState.DENIED, "no more")

    asyncio.run(play())


def test_a_hub_that_moved_is_followed_and_one_that_refuses_is_not_asked_again() -> None:
    async def play() -> None:
        async with crawl_and_hub() as (crawl, hub):
            await crawl.find(hub.url + "moved")
            await crawl.step()
            assert await hub.ask_back() == [True]
        async with crawl_and_hub() as (crawl, hub):
            await crawl.find(hub.url + "refuses")
            [one] = await crawl.subscriber.store.of_topics([TOPIC])
            assert (one.state, one.reason) == (SubscriptionState.DENIED, "the hub answered 403")

    asyncio.run(play())


@each_row("method", ["HEAD", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_not_for_us(method: str) -> None:
    async def play() -> None:
        async with crawl_and_hub() as (crawl, hub):
            url = f"http://127.0.0.1:{crawl.server.port}/x"
            async with hub.session.request(method, url) as response:
                assert response.status in (404, 405)

    asyncio.run(play())


def test_a_hub_is_told_to_come_again_while_the_store_is_full() -> None:
    async def play() -> None:
        async with crawl_and_hub() as (crawl, hub):
            await crawl.find(hub.url)

            async def full(token: str) -> None:
                raise StorageFull("no room")

            get, crawl.subscriber.store.get = crawl.subscriber.store.get, full
            [wish] = hub.wishes
            assert await hub.ask_back() == [False]
            crawl.subscriber.store.get = get
            hub.wishes = [wish]
            assert await hub.ask_back() == [True]

    asyncio.run(play())


BROKEN = {
    "a body that ends too early": "POST {path} HTTP/1.1\r\nHost: x\r\n{signed}Content-Length: 1000\r\n\r\nabc",
    "chunks that are none": "POST {path} HTTP/1.1\r\nHost: x\r\n{signed}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a coding that is none": "POST {path} HTTP/1.1\r\nHost: x\r\n{signed}Content-Encoding: gzip\r\n"
    "Content-Length: 3\r\n\r\nabc",
    "a long header": "GET {path} HTTP/1.1\r\nHost: x\r\nA: {long}\r\n\r\n",
    "a long query": "GET {path}?{long} HTTP/1.1\r\nHost: x\r\n\r\n",
    "no HTTP": "\x16\x03\x01\x02\x00\x01\r\n\r\n",
}


def test_what_is_no_request_is_no_matter_for_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def send(port: int, text: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text.encode("latin-1"))
        writer.write_eof()
        # It is answered, or the connection is closed.
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    async def play() -> None:
        async with crawl_and_hub() as (crawl, hub):
            await crawl.find(hub.url)
            assert await hub.ask_back() == [True]
            [held] = hub.held.values()
            path = "/" + held.callback.split("/", 3)[3]
            for text in BROKEN.values():
                await send(
                    crawl.server.port,
                    text.format(path=path, signed="X-Hub-Signature: sha1=aa\r\n", long="a" * 9000),
                )
            await crawl.step(DAY)
            assert crawl.revisited == []
            assert await hub.push(TOPIC, b"new") == [202]

    asyncio.run(play())
    assert [record.message for record in caplog.records if "ignored" not in record.message] == []


def test_a_fault_of_ours_costs_one_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        async with crawl_and_hub() as (crawl, hub):
            await crawl.find(hub.url)
            get, crawl.subscriber.store.get = crawl.subscriber.store.get, None
            [wish] = hub.wishes
            assert await hub.ask_back() == [False]
            crawl.subscriber.store.get = get
            hub.wishes = [wish]
            assert await hub.ask_back() == [True]

    asyncio.run(play())
    assert [record.message for record in caplog.records if record.exc_info] == ["A hub could not be answered"]


def test_a_place_that_is_taken_is_named() -> None:
    async def play() -> None:
        async with crawl_and_hub() as (crawl, _):
            second = CallbackServer(Callback(crawl.subscriber), lambda: 0.0, 100, lambda: None)
            with pytest.raises(StartRefused, match=f"WEBSUB_LISTEN.*{crawl.server.port}"):
                await second.start("127.0.0.1", crawl.server.port)

    asyncio.run(play())
