"""What a backend's state tells of all URLs to who lists them from outside: the same on SQLite and on Redis."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenSqlite
from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis
from tests.contract.samples import entry, found, pages, robots
from webcrawl.control.shared import shared_books
from webcrawl.errors import CrawlError
from webcrawl.frontier.records import State
from webcrawl.storage.contract import Batch, Settled
from webcrawl.storage.inspection import Known
from webcrawl.storage.redis.control import Control
from webcrawl.storage.sqlite.inspection import books_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven
    from webcrawl.storage.inspection import UrlStateReader

pytestmark = pytest.mark.parametrize("make_backend", ["sqlite", "sqlite-bloom", "redis"], indirect=True)


@pytest.fixture
def backend(make_backend: MakeBackend) -> Iterator[Driven]:
    made = make_backend(delay_seconds=5.0)
    yield made
    made.check_books()


@contextmanager
def books(driven: Driven) -> Iterator[UrlStateReader]:
    if isinstance(driven, DrivenSqlite):
        with books_of(driven.path) as opened:
            yield opened
    else:
        assert isinstance(driven, DrivenRedis)
        with shared_books(Control({"url": driven.url}, driven.spider, LEASE_SECONDS)) as shared:
            yield shared


def test_every_queued_url_is_listed_once_with_what_is_stored_of_it(backend: Driven) -> None:
    first = entry("http://a.test/first", level=7, depth=2, via="http://b.test/é", redirects=1, attempts=3)
    again = entry("http://b.test/0", repeat=True)
    answer = entry("http://b.test/elsewhere.txt", kind="robots", repeat=True)
    urls = [first, *pages("a.test", 700), *pages("b.test", 2), again]
    backend.commit(found(*urls[:-1]))
    asked = entry("http://b.test/hub", kind="websub", repeat=True)
    backend.commit(found(again, answer, asked))
    backend.activate(1)
    with books(backend) as opened:
        listed = list(opened.queued())
    by_place = {(one.key, one.level, one.position): one for one in listed}
    assert len(by_place) == len(listed) == len(urls)
    assert by_place == {(one.key, one.level, one.position): one for one in urls}
    for key in ("a.test", "b.test"):
        own = [one for one in listed if one.key == key]
        assert own == sorted(own, key=lambda one: (-one.level, one.position))


def test_the_states_of_urls_are_told_with_the_reasons(backend: Driven) -> None:
    urls = pages("a.test", 300)
    backend.commit(found(*urls, *pages("b.test", 1)))
    fence = backend.activate_one().record.fence
    states = (State.DONE, State.FAILED, State.REFUSED)
    rules = (None, "dns", "robots")
    ended = [Settled(one, states[n % 3], rules[n % 3], fence=fence) for n, one in enumerate(urls[:90])]
    backend.commit(Batch(settled=ended, robots=[robots("http://a.test")]))
    with books(backend) as opened:
        assert opened.states_kept == backend.exact
        told = opened.known("a.test", [one.fingerprint for one in urls] + [5])
        assert opened.known("never.test", [1, 2]) == {}
    if backend.exact:
        expected = {one.fingerprint: Known(states[n % 3], rules[n % 3]) for n, one in enumerate(urls[:90])}
        assert told == expected | {one.fingerprint: Known(State.QUEUED, None) for one in urls[90:]}


def test_the_fingerprints_of_all_that_were_refused_are_told(backend: Driven) -> None:
    urls = {host: pages(host, 300) for host in ("a.test", "b.test")}
    backend.commit(found(*urls["a.test"], *urls["b.test"]))
    ended = [
        Settled(
            one, State.REFUSED if n % 2 else State.DONE, "robots" if n % 2 else None, fence=key.record.fence
        )
        for key in backend.activate(2)
        for n, one in enumerate(urls[key.record.key][:90])
    ]
    backend.commit(Batch(settled=ended))
    with books(backend) as opened:
        told = {mark for some in opened.refused() for mark in some}
    refused = {one.entry.fingerprint for one in ended if one.state is State.REFUSED}
    assert len(refused) == 90
    assert told == (refused if backend.exact else set())


def test_what_is_no_crawl_has_no_books(backend: Driven) -> None:
    if isinstance(backend, DrivenSqlite):
        opened = books_of(backend.path.with_name("other.db"))
    else:
        assert isinstance(backend, DrivenRedis)
        opened = shared_books(Control({"url": backend.url}, "nobody", LEASE_SECONDS))  # type: ignore[assignment]
    with pytest.raises(CrawlError), opened:
        pass
