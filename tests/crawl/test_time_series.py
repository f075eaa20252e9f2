"""The figures of a crawl, as other processes read them: while it runs, and afterwards as time series."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import suppress

import pytest

from webcrawl.control.selection import select_crawl_in
from webcrawl.errors import StartRefused
from webcrawl.features.timeseries.archives import ARCHIVES, unpacked
from webcrawl.features.timeseries.store import SPEC
from webcrawl.frontier.figures import COUNTERS, FIGURES
from webcrawl.storage import technology_in
from webcrawl.storage.sqlite.tables import SqliteTables
from webcrawl.storage.tables import RowId


def local(crawl):
    return select_crawl_in(crawl.path, technology_in(crawl.path))


def published(crawl):
    """The process of a crawl and its figures, once it has published some."""
    # There is a moment at which its database has no crawl yet.
    workers = []
    with suppress(StartRefused):
        workers = local(crawl).status().workers if technology_in(crawl.path) else []
    return workers[0] if workers and workers[0].figures.get("pages") else None


def recorded(crawl, archive=0):
    """What each counter grew by, in all steps of an archive of the crawl's folder."""

    async def blocks():
        tables = SqliteTables(crawl.path, reading=True)
        table = tables.table(SPEC)
        await tables.open()
        places = range(ARCHIVES[archive].blocks)
        rows = await table.get([RowId("0", b"%d:%d" % (archive, place)) for place in places])
        await tables.close()
        return [unpacked(row.value) for row in rows if row is not None]

    found = Counter()
    for block in asyncio.run(blocks()):
        for row in filter(None, block.integrals):
            found.update(dict(zip(block.names, row, strict=True)))
    return {one.name: found[one.name] for one in COUNTERS}


def test_series_are_the_figures_of_the_summary_over_a_restart(serve, start):
    web = serve(hosts=4, pages=12, seed=2)
    crawl = start(web.seeds, POLITENESS_MIN_DELAY=1)
    crawl.until(lambda: published(crawl))
    worker = published(crawl)
    crawl.signal(signal.SIGTERM)
    crawl.wait().assert_ended_well()
    again = start(of=crawl, seeds=web.seeds).wait().assert_ended_well()

    # While it runs: all figures, from the process that has the folder.
    assert set(worker.figures) >= {one.name for one in FIGURES}
    assert worker.name == f"process {crawl.process.pid}"
    assert worker.started_at <= worker.latest_at
    assert worker.figures["active"] >= worker.figures["ready"]
    assert worker.figures["capacity"] > 0
    assert worker.figures["disk_total"] > worker.figures["disk_free"] > 0
    assert worker.figures["rss_all"] >= worker.figures["rss"] > 0
    assert local(again).status().workers == []

    # Afterwards: what was counted in both runs, each thing once.
    pages, log = again.lines(), again.log()
    counted = {
        "pages": len(pages),
        "requests": len(log),
        "robots": len(again.lines("robots")),
        "done": again.figures().totals["done"],
        "failed": again.figures().totals["failed"],
        "errors": sum("error" in line for line in log),
        "items": len(pages),
    }
    for archive in range(len(ARCHIVES)):
        found = recorded(again, archive)
        assert {name: pytest.approx(found[name], abs=0.01) for name in counted} == counted
        assert found["bytes"] == pytest.approx(
            sum(line["bytes"] for line in log if "bytes" in line), rel=1e-4
        )
        assert sum(found[f"pages_{name}"] for name in ("2xx", "3xx", "4xx", "5xx", "other")) == pytest.approx(
            found["pages"], abs=0.01
        )
    assert found["archive_bytes"] > 0
    assert found["cpu_seconds"] > 0


def test_a_crawl_may_do_without(serve, start):
    web = serve(hosts=1, pages=2, seed=2)
    crawl = start(web.seeds, TIME_SERIES=0).wait().assert_ended_well()
    assert not (crawl.path / f"{SPEC.file}.db").exists()
    assert local(crawl).series(["pages"], None, None, 10).values == {"pages": [None]}
