"""All hosts of a crawl, and the head of a queue, for who looks from outside: the same on SQLite and on Redis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import FOLDER_KINDS, DrivenFolder
from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis
from tests.contract.samples import NOW, entry, found, pages
from webcrawl.storage import inspection
from webcrawl.storage.contract import Batch
from webcrawl.storage.inspection import Activity, HostSummary
from webcrawl.storage.redis import inspection as on_redis
from webcrawl.storage.redis.control import Control
from webcrawl.storage.sqlite import inspection as in_sqlite

if TYPE_CHECKING:
    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven
    from webcrawl.frontier.records import UrlEntry

pytestmark = pytest.mark.parametrize(
    "make_backend",
    [*FOLDER_KINDS, "redis", pytest.param("redis-cluster", marks=pytest.mark.soak)],
    indirect=True,
)


@pytest.fixture
def backend(make_backend: MakeBackend) -> Iterator[Driven]:
    made = make_backend(delay_seconds=5.0)
    yield made
    made.check_consistency()


def hosts_of(driven: Driven) -> dict[str, HostSummary]:
    if isinstance(driven, DrivenFolder):
        return {one.key: one for some in driven.inspection.hosts() for one in some}
    assert isinstance(driven, DrivenRedis)
    return driven.run(_hosts_in_redis(driven))


async def _hosts_in_redis(driven: DrivenRedis) -> dict[str, HostSummary]:
    control = await _control(driven)
    try:
        return {one.key: one async for some in on_redis.read_hosts(control) for one in some}
    finally:
        await control.close()


async def _control(driven: DrivenRedis) -> Control:
    control = Control({"url": driven.url}, driven.spider, LEASE_SECONDS)
    await control.open()
    return control


def queue_of(driven: Driven, key: str, most: int) -> list[UrlEntry]:
    if isinstance(driven, DrivenFolder):
        return driven.inspection.queue(key, most)
    assert isinstance(driven, DrivenRedis)
    return driven.run(_queue_in_redis(driven, key, most))


async def _queue_in_redis(driven: DrivenRedis, key: str, most: int) -> list[UrlEntry]:
    control = await _control(driven)
    try:
        return await on_redis.read_queue(control, key, most)
    finally:
        await control.close()


def test_every_host_comes_with_what_it_does_and_what_is_known_of_it(backend: Driven) -> None:
    assert hosts_of(backend) == {}
    backend.commit(found(*pages("active.test", 3), *pages("gone.test", 2), *pages("parked.test", 1)))
    records = {active.record.key: active.record for active in backend.activate_keys()}
    assert set(records) == {"active.test", "gone.test", "parked.test"}
    backend.commit(found(*pages("idle.test", 4)))
    records["gone.test"].given_up = True
    records["gone.test"].last_error = "dns"
    records["gone.test"].failures = 4
    parked = records["parked.test"]
    parked.parked, parked.next_fetch_at, parked.delay_seconds = True, NOW + 60.0, 7.5
    parked.fetches, parked.pages = 9, 5
    backend.run(backend.backend.release_keys([records["gone.test"], parked]))

    told = hosts_of(backend)
    assert {key: (one.activity, one.queued, one.is_parked) for key, one in told.items()} == {
        "active.test": (Activity.ACTIVE, 3, False),
        "gone.test": (Activity.GIVEN_UP, 2, False),
        "parked.test": (Activity.IDLE, 1, True),
        "idle.test": (Activity.IDLE, 4, False),
    }
    assert (told["gone.test"].last_error, told["gone.test"].failures) == ("dns", 4)
    one = told["parked.test"]
    assert (one.requests, one.pages, one.delay_seconds) == (9, 5, 7.5)
    # A record in Redis is late by what its holder's clock may be.
    assert NOW + 60.0 <= one.next_fetch_at <= NOW + 61.0


def test_more_hosts_than_are_read_in_one_step(backend: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_sqlite, "HOSTS_AT_ONCE", 7)
    backend.commit(found(*(entry(f"http://h{number}.test/") for number in range(50))))
    assert {key: one.queued for key, one in hosts_of(backend).items()} == {
        f"h{number}.test": 1 for number in range(50)
    }
    assert inspection.HOSTS_AT_ONCE > 7


def test_the_head_of_a_queue_is_in_its_order(backend: Driven) -> None:
    urls = pages("a.test", 300)
    first = entry("http://a.test/first", level=7)
    backend.commit(Batch([*urls, first], [], [], []))
    assert queue_of(backend, "a.test", 3) == [first, *urls[:2]]
    assert len(queue_of(backend, "a.test", 1000)) == 301
    assert queue_of(backend, "unknown.test", 3) == []
