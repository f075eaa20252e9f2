"""What a backend's state tells of all URLs to who lists them from outside: the same on SQLite and on Redis."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import FOLDER_KINDS, DrivenFolder
from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis
from tests.contract.samples import entry, found, pages, robots
from webcrawl.errors import CrawlError
from webcrawl.frontier.records import QUEUED, State, UrlRecord
from webcrawl.storage.contract import Batch, Settled
from webcrawl.storage.redis.inspection import RedisInspection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven
    from webcrawl.storage.inspection import UrlStateReader

pytestmark = pytest.mark.parametrize("make_backend", [*FOLDER_KINDS, "redis"], indirect=True)


@pytest.fixture
def backend(make_backend: MakeBackend) -> Iterator[Driven]:
    made = make_backend(delay_seconds=5.0)
    yield made
    made.check_consistency()


@contextmanager
def states(driven: Driven) -> Iterator[UrlStateReader]:
    if isinstance(driven, DrivenFolder):
        with driven.inspection.url_states() as opened:
            yield opened
    else:
        assert isinstance(driven, DrivenRedis)
        inspection = RedisInspection({"url": driven.url}, driven.spider, LEASE_SECONDS, 0.0)
        with inspection.url_states() as shared:
            yield shared


def test_every_queued_url_is_listed_once_with_what_is_stored_of_it(backend: Driven) -> None:
    first = entry("http://a.test/first", level=7, depth=2, via="http://b.test/é", redirects=1, attempts=3)
    again = entry("http://b.test/0", repeat=True)
    answer = entry("http://b.test/elsewhere.txt", kind="robots", repeat=True)
    urls = [first, *pages("a.test", 700), *pages("b.test", 2), again]
    backend.commit(found(*urls[:-1]))
    asked = entry("http://b.test/hub", kind="websub", repeat=True)
    backend.commit(found(again, answer, asked))
    backend.activate_keys(1)
    with states(backend) as opened:
        listed = list(opened.queued())
    by_place = {(one.key, one.level, one.position): one for one in listed}
    assert len(by_place) == len(listed) == len(urls)
    assert by_place == {(url.key, url.level, url.position): url for url in urls}
    for key in ("a.test", "b.test"):
        own = [one for one in listed if one.key == key]
        assert own == sorted(own, key=lambda one: (-one.level, one.position))


def test_the_states_of_urls_are_told_with_the_reasons(backend: Driven) -> None:
    urls = pages("a.test", 300)
    backend.commit(found(*urls, *pages("b.test", 1)))
    fence = backend.activate_one().record.fence
    records = [
        UrlRecord(state, rule, status)
        for state, rule in ((State.DONE, None), (State.FAILED, "dns"), (State.REFUSED, "robots"))
        for status in (None, 200, 404)
    ]
    ended = [Settled(url, records[n % 9], fence=fence) for n, url in enumerate(urls[:90])]
    backend.commit(Batch(settled=ended, robots=[robots("http://a.test")]))
    with states(backend) as opened:
        assert opened.states_kept == backend.exact
        told = opened.known("a.test", [url.fingerprint for url in urls] + [5])
        assert opened.known("never.test", [1, 2]) == {}
    if backend.exact:
        expected = {url.fingerprint: records[n % 9] for n, url in enumerate(urls[:90])}
        assert told == expected | {url.fingerprint: QUEUED for url in urls[90:]}


def test_the_fingerprints_of_all_that_were_refused_are_told(backend: Driven) -> None:
    urls = {host: pages(host, 300) for host in ("a.test", "b.test")}
    backend.commit(found(*urls["a.test"], *urls["b.test"]))
    ended = [
        Settled(
            url,
            UrlRecord(State.REFUSED, "robots") if n % 2 else UrlRecord(State.DONE),
            fence=key.record.fence,
        )
        for key in backend.activate_keys(2)
        for n, url in enumerate(urls[key.record.key][:90])
    ]
    backend.commit(Batch(settled=ended))
    with states(backend) as opened:
        told = {mark for some in opened.refused() for mark in some}
    refused = {one.entry.fingerprint for one in ended if one.record.state is State.REFUSED}
    assert len(refused) == 90
    assert told == (refused if backend.exact else set())


def test_a_folder_or_name_without_a_crawl_has_no_url_states(backend: Driven) -> None:
    if isinstance(backend, DrivenFolder):
        opened = backend.technology.inspect_folder(backend.directory / "other").url_states()
    else:
        assert isinstance(backend, DrivenRedis)
        opened = RedisInspection({"url": backend.url}, "nobody", LEASE_SECONDS, 0.0).url_states()
    with pytest.raises(CrawlError), opened:
        pass
