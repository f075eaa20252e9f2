"""A storage that answers with errors settles no page: the crawl ends with status 1 and a sentence, and what it could
not keep is fetched by the next run. Judged by the log of the server.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from tests.crawl import expectation
from webcrawl.features.content_seen.store import SPEC
from webcrawl.storage.sqlite.tables import SqliteTables
from webcrawl.storage.tables import Row

WEB = {"hosts": 4, "pages": 40, "seed": 3}


def assert_all_is_fetched_in_the_end(web, first, second):
    assert first.status == 1, first.stderr[-3000:]
    assert "can no longer be kept" in first.stderr
    assert "request errors 0" not in " ".join(first.stderr.split())
    assert second.status == 0, second.stderr[-3000:]
    assert set(expectation.asked(web)) == set(expectation.depths(web))
    done = [line["url"] for crawl in (first, second) for line in crawl.lines()]
    assert set(done) == set(expectation.depths(web))


@pytest.mark.parametrize(
    "planted",
    [
        ("SET", "{broad:0}:table:contents", "a text"),
        ("RPUSH", "{broad:1}:table:contents", "a list"),
        ("SET", "{broad:0}:robots", "a text"),
    ],
    ids=lambda words: words[1],
)
def test_a_wrong_value_in_redis_loses_no_page(serve, start, redis_server, planted):
    web = serve(**WEB)
    redis_server.call(*planted)
    first = start(web.seeds, REDIS_URL=redis_server.url).wait()
    redis_server.call("DEL", planted[1])

    second = start(web.seeds, of=first, REDIS_URL=redis_server.url).wait()
    assert_all_is_fetched_in_the_end(web, first, second)


async def a_row(job):
    tables = SqliteTables(job)
    table = tables.table(SPEC)
    await tables.open()
    await table.add([("o00", Row(b"0", b""))])
    await tables.close()


def test_a_wrong_file_beside_the_frontier_loses_no_page(serve, start, folder):
    web = serve(**WEB)
    job = folder / "sqlite" / "job"
    job.mkdir(parents=True)
    asyncio.run(a_row(job))
    with closing(sqlite3.connect(job / "contents.db")) as connection:
        connection.execute("ALTER TABLE contents RENAME COLUMN value TO something")
    first = start(web.seeds, jobdir=job).wait()
    for file in job.glob("contents.db*"):
        file.unlink()

    assert_all_is_fetched_in_the_end(web, first, start(web.seeds, of=first).wait())
