"""What processes have counted is stored with each commit, and is there when they are killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import FOLDER_KINDS, DrivenFolder
from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis
from tests.contract.samples import NOW, entry, found
from webcrawl.reports.totals import stored_errors, stored_figures
from webcrawl.storage.contract import Batch, Counted
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.counted import PROCESSES_MAX

if TYPE_CHECKING:
    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven
    from webcrawl.storage.inspection import CrawlStatus

every_kind = pytest.mark.parametrize("make_backend", [*FOLDER_KINDS, "redis"], indirect=True)


def status_of(driven: Driven) -> CrawlStatus:
    if isinstance(driven, DrivenFolder):
        return driven.inspection.status(NOW)
    assert isinstance(driven, DrivenRedis)
    return driven.run(_status_in_redis(driven))


async def _status_in_redis(driven: DrivenRedis) -> CrawlStatus:
    control = Control({"url": driven.url}, driven.spider, LEASE_SECONDS)
    await control.open()
    try:
        return await control.status()
    finally:
        await control.close()


def counted(begun_at: float, **numbers: int) -> Batch:
    words = {name.replace("_", " ", 1): number for name, number in numbers.items()}
    return Batch([entry(f"http://a/{begun_at}/{numbers}")], counted=Counted("w1", begun_at, words))


@every_kind
def test_the_last_figures_of_each_process_are_those_of_the_crawl(make_backend: MakeBackend) -> None:
    backend = make_backend()
    backend.commit(found(entry("http://a/")))
    assert not status_of(backend).counted
    backend.commit(counted(NOW, pages=2, bytes=100, status_200=2))
    backend.commit(counted(NOW, pages=5, bytes=900, status_200=4, status_404=1, error_timeout=1))
    for run in range(1, 4):
        backend.crash()
        backend.commit(counted(NOW + run, pages=1, status_503=1, error_reset=2))
    totals = status_of(backend).totals
    assert stored_figures(totals) == {
        "pages": 8,
        "bytes": 900,
        "errors": 7,
        "pages_2xx": 4,
        "pages_3xx": 0,
        "pages_4xx": 1,
        "pages_5xx": 3,
        "pages_other": 0,
    }
    assert stored_errors(totals) == {"timeout": 1, "reset": 6}
    if isinstance(backend, DrivenFolder):
        assert len(status_of(backend).counted) == 2, "those of earlier runs are kept together"
    backend.check_consistency()


@pytest.mark.parametrize("make_backend", ["redis"], indirect=True)
def test_what_many_processes_counted_is_merged_without_those_that_run(make_backend: MakeBackend) -> None:
    driven = make_backend()
    assert isinstance(driven, DrivenRedis)
    driven.commit(counted(NOW, pages=1))
    for number in range(PROCESSES_MAX + 50):
        one = Counted(f"gone {number}", NOW + number, {"pages": 2, "bytes": 10**15})
        driven.client.hset(f"{driven.spider}:counted", one.name, one.packed())
    live = Counted("test", NOW - 9, {"pages": 40})
    driven.client.hset(f"{driven.spider}:counted", live.name, live.packed())
    driven.crash()
    found = status_of(driven)
    assert len(found.counted) < PROCESSES_MAX
    assert found.totals["pages"] == 2 * (PROCESSES_MAX + 50) + 41
    assert found.totals["bytes"] == (PROCESSES_MAX + 50) * 10**15
    # The process that runs goes on in its own field.
    again = Counted("test", NOW - 9, {"pages": 45})
    driven.commit(Batch([entry("http://a/again")], counted=again))
    assert status_of(driven).totals["pages"] == found.totals["pages"] + 5
