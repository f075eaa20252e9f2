"""What a backend's state tells of one URL to who looks from outside: the same on SQLite and on Redis."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from redis import RedisCluster

from tests.contract.driven import FOLDER_KINDS, DrivenFolder, DrivenSqlite
from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis
from tests.contract.samples import NOW, entry, found, pages, robots
from webcrawl.errors import JobdirUnusable
from webcrawl.frontier.records import Kind, State, UrlRecord
from webcrawl.storage.contract import Batch, Settled
from webcrawl.storage.inspection import Activity, UrlSnapshot
from webcrawl.storage.redis import inspection as on_redis
from webcrawl.storage.redis.control import Control
from webcrawl.storage.sqlite import inspection as in_sqlite
from webcrawl.urls.politeness_key import get_origin

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven
    from webcrawl.frontier.records import UrlEntry

pytestmark = pytest.mark.parametrize(
    "make_backend",
    [*FOLDER_KINDS, "redis", pytest.param("redis-cluster", marks=pytest.mark.soak)],
    indirect=True,
)

WHY = (None, "dns", "robots")
"""Why a URL is done, has failed, was refused."""
STATUS = (301, None, 503)
"""What its last response had, before it was refused."""


@pytest.fixture
def backend(make_backend: MakeBackend) -> Iterator[Driven]:
    """An open backend of each kind that can be looked at; it must be as it was afterwards."""
    driven_backend = make_backend(delay_seconds=5.0)
    yield driven_backend
    driven_backend.check_consistency()


def look(driven: Driven, one: UrlEntry) -> UrlSnapshot:
    """What is there of a URL; the look changes nothing."""
    before = stored(driven)
    begun_with: list[Mapping[str, str]] = []

    def key_of(settings: Mapping[str, str]) -> str:
        begun_with.append(settings)
        return one.key

    if isinstance(driven, DrivenFolder):
        seen = driven.inspection.snapshot(key_of, one.fingerprint, get_origin(one.url), NOW)
    else:
        assert isinstance(driven, DrivenRedis)
        seen = driven.run(_look_in_redis(driven, key_of, one))
    assert begun_with[0]["POLITENESS_KEY"] == "host"
    assert stored(driven) == before
    return seen


async def _look_in_redis(driven: DrivenRedis, key_of: object, one: UrlEntry) -> UrlSnapshot:
    control = Control({"url": driven.url}, driven.spider, LEASE_SECONDS)
    await control.open()
    try:
        return await on_redis.read_snapshot(control, key_of, one.fingerprint, get_origin(one.url))  # type: ignore[arg-type]
    finally:
        await control.close()


def stored(driven: Driven) -> object:
    """What changes with anything that is stored."""
    if isinstance(driven, DrivenRedis):
        if isinstance(driven.client, RedisCluster):
            info = driven.client.info("persistence", target_nodes=RedisCluster.PRIMARIES)
            return [node["rdb_changes_since_last_save"] for node in info.values()]
        return driven.client.info("persistence")["rdb_changes_since_last_save"]
    if not isinstance(driven, DrivenSqlite):
        assert isinstance(driven, DrivenFolder)
        return {path: path.read_bytes() for path in driven.directory.iterdir()}
    with closing(sqlite3.connect(driven.path)) as connection:
        return list(connection.iterdump())


def test_a_url_that_was_never_queued_is_not_known(backend: Driven) -> None:
    backend.commit(found(*pages("a.test", 3)))
    for page in (entry("http://a.test/other"), entry("http://b.test/")):
        seen = look(backend, page)
        assert (seen.known, seen.state, seen.entry, seen.before) == (False, None, None, 0)
        assert (seen.key is None) == (page.key == "b.test")


@pytest.mark.parametrize("count", [3, 1500])
def test_a_queued_url_is_told_with_all_that_is_stored_of_it(backend: Driven, count: int) -> None:
    urls = pages("a.test", count)
    first = entry("http://a.test/first", level=7, depth=2, via="http://b.test/é", redirects=1, attempts=3)
    backend.commit(found(*urls, first, *pages("b.test", 2)))
    seen = look(backend, first)
    assert (seen.known, seen.state, seen.entry, seen.before) == (True, State.QUEUED, first, 0)
    for number in (0, count // 2, count - 1):
        seen = look(backend, urls[number])
        assert (seen.state, seen.entry, seen.before) == (State.QUEUED, urls[number], number + 1)
    assert seen.key is not None
    assert (seen.key.activity, seen.key.queued) == (Activity.IDLE, count + 1)
    assert (seen.key.record.key, seen.key.record.delay_seconds) == ("a.test", 5.0)


def test_a_url_that_is_over_has_its_state(backend: Driven) -> None:
    states = (State.DONE, State.FAILED, State.REFUSED)
    urls = pages("a.test", 4)
    backend.commit(found(*urls))
    active = backend.activate_one()
    ended = [
        Settled(url, UrlRecord(state, why, status), fence=active.record.fence)
        for url, state, why, status in zip(urls, states, WHY, STATUS, strict=False)
    ]
    backend.commit(Batch(settled=ended))
    for url, state, why, status in zip(urls, states, WHY, STATUS, strict=False):
        seen = look(backend, url)
        assert (seen.known, seen.state) == (True, state if backend.exact else None)
        assert seen.rules_kept == backend.exact
        assert seen.record == (UrlRecord(state, why, status) if backend.exact else None)
    assert look(backend, urls[3]).before == 0


def test_a_url_that_is_refused_later_has_its_own_rule(backend: Driven) -> None:
    """Also where the queue is too long, and where the same word is met again."""
    urls = pages("a.test", 200)
    backend.commit(found(*urls))
    fence = backend.activate_one().record.fence
    for first in (0, 100):
        some = urls[first : first + 100]
        backend.commit(
            Batch(
                settled=[
                    Settled(page, UrlRecord(State.REFUSED, WHY[n % 2 + 1]), fence=fence)
                    for n, page in enumerate(some)
                ]
            )
        )
    for number in (0, 1, 99, 100, 199):
        seen = look(backend, urls[number])
        why = WHY[(number % 100) % 2 + 1]
        assert seen.record == (UrlRecord(State.REFUSED, why) if backend.exact else None)


def test_on_redis_the_first_63_words_of_a_shard_are_kept(backend: Driven) -> None:
    urls = pages("a.test", 300)
    backend.commit(found(*urls))
    fence = backend.activate_one().record.fence
    for first in range(0, 300, 30):
        some = enumerate(urls[first : first + 30], first)
        backend.commit(
            Batch(
                settled=[Settled(page, UrlRecord(State.FAILED, f"word {n}"), fence=fence) for n, page in some]
            )
        )
    bound = 63 if isinstance(backend, DrivenRedis) else 300
    for number in (0, 1, bound - 1, *([bound, 299] if bound < 300 else ())):
        seen = look(backend, urls[number])
        word = f"word {number}" if number < bound else None
        assert seen.record == (UrlRecord(State.FAILED, word) if backend.exact else None)


def test_an_active_key_has_a_holder(backend: Driven) -> None:
    [page] = pages("a.test", 1)
    backend.commit(found(page))
    active = backend.activate_one()
    seen = look(backend, page)
    assert seen.key is not None
    assert (seen.state, seen.key.activity) == (State.QUEUED, Activity.ACTIVE)
    if isinstance(backend, DrivenRedis):
        assert seen.key.holder is not None
        assert seen.key.held_until == pytest.approx(NOW + LEASE_SECONDS, abs=10)
    active.record.given_up, active.record.failures, active.record.last_error = True, 9, "dns"
    backend.release_keys(active.record)
    seen = look(backend, page)
    assert seen.key is not None
    assert seen.key.activity is Activity.GIVEN_UP
    assert (seen.key.record.failures, seen.key.record.last_error) == (9, "dns")


def test_a_parked_key_says_until_when_and_what_for(backend: Driven) -> None:
    [page] = pages("a.test", 1)
    backend.commit(found(page))
    record = backend.activate_one().record
    record.next_fetch_at, record.fetches, record.delay_seconds = NOW + 5, 1, 5.0
    record.parked, record.blocked_until = True, NOW + 60
    backend.release_keys(record)
    seen = look(backend, page)
    assert seen.key is not None
    assert seen.key.activity is Activity.IDLE
    told = seen.key.record
    assert (told.parked, told.blocked_until) == (True, NOW + 60)
    assert told.next_fetch_at == pytest.approx(NOW + 5)


def test_the_robots_txt_of_the_origin_comes_along(backend: Driven) -> None:
    [page] = pages("a.test", 1)
    answer = robots("http://a.test", "User-agent: *\nDisallow: /é")
    backend.commit(Batch([page], [], [], [answer, robots("http://a.test:81", "other")]))
    assert look(backend, page).robots == answer
    assert look(backend, entry("http://b.test/")).robots is None


def test_a_repeat_is_no_second_state_and_a_robots_txt_in_the_queue_no_url(backend: Driven) -> None:
    [page] = pages("a.test", 1)
    again = entry(page.url, repeat=True)
    hop = entry("http://a.test/robots.txt", level=9, kind=Kind.ROBOTS, repeat=True, payload="{}")
    hop.fingerprint = 0
    backend.commit(found(page, again, hop))
    seen = look(backend, page)
    assert (seen.state, seen.entry, seen.before) == (State.QUEUED, page, 1)
    nothing = entry("http://a.test/nothing")
    nothing.fingerprint = 0
    assert look(backend, nothing).entry is None


def test_what_is_no_crawl_is_refused(make_backend: MakeBackend, tmp_path: Path) -> None:
    with pytest.raises(JobdirUnusable, match="is no crawl"):
        in_sqlite.read_snapshot(tmp_path / "frontier.db", lambda settings: "a.test", 1, "http://a.test", NOW)


def test_how_many_hosts_have_waited_longer_is_counted(backend: Driven) -> None:
    for at, name in enumerate(("first", "second", "third")):
        backend.commit(Batch([entry(f"http://{name}/")], at=NOW + at))
    backend.commit(Batch([entry("http://better/", level=3)], at=NOW + 10))
    for before, name in enumerate(("first", "second", "third")):
        key = look(backend, entry(f"http://{name}/")).key
        assert key is not None
        assert key.hosts_before == before
    better = look(backend, entry("http://better/")).key
    assert better is not None
    assert better.hosts_before == 0


def test_an_active_host_waits_behind_none(backend: Driven) -> None:
    backend.commit(Batch([entry("http://a/")], at=NOW))
    assert backend.active_keys() == ["a"]
    key = look(backend, entry("http://a/")).key
    assert key is not None
    assert key.hosts_before is None
