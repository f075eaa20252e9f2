"""A JOBDIR that cannot be used is left unchanged; one line says why and what to do, and the status is 2."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=3, pages=20)


@pytest.fixture(scope="module")
def finished(web, crawl):
    return crawl(web.seeds).assert_ended_well()


def change(path, statement):
    with closing(sqlite3.connect(path / "frontier.db", isolation_level=None)) as connection:
        connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def another_version(path):
    change(path, "UPDATE meta SET value = '999' WHERE name = 'schema_version'")


def other_key(path):
    change(path, "UPDATE meta SET value = 'host' WHERE name = 'POLITENESS_KEY'")


def no_database(path):
    (path / "frontier.db").write_bytes(b"This is no database. " * 500)


def torn(path):
    file = path / "frontier.db"
    file.write_bytes(file.read_bytes()[:5000])


def scribbled_over(path):
    file = path / "frontier.db"
    content = bytearray(file.read_bytes())
    content[4096:20_000] = bytes(range(256)) * 62 + bytes(32)
    file.write_bytes(content)


def of_something_else(path):
    (path / "frontier.db").unlink()
    change(path, "CREATE TABLE recipes (name TEXT)")


def gone(path):
    for file in path.glob("frontier.db*"):
        file.unlink()


def emptied(path):
    gone(path)
    (path / "frontier.db").touch()


CASES = {
    gone: ["is missing", "fetch.jsonl, warc", "checkpoint"],
    emptied: ["is empty", "fetch.jsonl, warc", "checkpoint"],
    another_version: ["999", "version"],
    other_key: ["POLITENESS_KEY=host"],
    no_database: ["damaged", "checkpoint"],
    torn: ["damaged", "checkpoint"],
    scribbled_over: ["damaged", "checkpoint"],
    of_something_else: ["something else", "JOBDIR"],
}


def content_of(path):
    """Every file with a digest; what SQLite keeps beside a database that is being read does not count."""
    return {
        file.relative_to(path): hashlib.sha1(file.read_bytes()).hexdigest()
        for file in path.rglob("*")
        if file.is_file() and not file.name.endswith(("-wal", "-shm")) and file.name != "lock"
    }


def refusal(crawl):
    """The lines on standard error that say why; nothing else may be an error."""
    assert crawl.status == 2, crawl.stderr[-3000:]
    assert "Traceback" not in crawl.stderr, crawl.stderr[-3000:]
    return [line for line in crawl.stderr.splitlines() if line.startswith("scrapy crawl: ")]


@pytest.mark.parametrize("damage", CASES, ids=lambda damage: damage.__name__)
def test_a_jobdir_that_cannot_be_used_is_refused_and_left_alone(web, finished, crawl, folder, damage):
    path = folder / damage.__name__ / "job"
    shutil.copytree(finished.path, path)
    damage(path)
    before, asked = content_of(path), len(web.hits())

    (line,) = refusal(crawl(web.seeds, jobdir=path))

    assert str(path) in line
    for word in CASES[damage]:
        assert word in line
    assert content_of(path) == before
    assert len(web.hits()) == asked


def test_a_jobdir_that_is_a_file_is_refused(web, crawl, folder):
    file = folder / "a-file"
    file.write_text("not a folder")

    (line,) = refusal(crawl(web.seeds, jobdir=file))
    assert str(file) in line


def test_a_second_process_on_the_same_jobdir_is_refused_and_the_first_goes_on(serve, start, crawl):
    web = serve(hosts=4, pages=40)
    first = start(web.seeds, POLITENESS_MIN_DELAY=0.5)
    first.until_logged(5)
    (line,) = refusal(crawl(web.seeds, of=first))
    assert first.process.poll() is None
    first.wait().assert_ended_well()

    assert f"in use by process {first.process.pid}" in line
    assert first.assert_sound().queued == 0
    assert len(first.fetched()) == 40


def test_the_lock_of_a_killed_process_holds_nobody_up(serve, start, crawl):
    web = serve(hosts=4, pages=40)
    first = start(web.seeds, POLITENESS_MIN_DELAY=0.1)
    first.until_logged(5)
    first.kill()

    crawl(web.seeds, of=first).assert_ended_well()
    assert Path(first.path / "lock").exists()


def test_on_redis_a_second_worker_and_another_spider_are_refused_on_a_jobdir(
    serve, start, crawl, serve_redis
):
    web, redis = serve(hosts=4, pages=40), serve_redis()
    ours = {"module": "tests.crawl.ordinary.settings", "REDIS_URL": redis.url}
    first = start(web.seeds, spider="broad", POLITENESS_MIN_DELAY=0.5, REDIS_URL=redis.url, WORKER_NAME="w1")
    first.until_logged(5)
    (line,) = refusal(crawl(web.seeds, of=first, REDIS_URL=redis.url, WORKER_NAME="w2"))
    assert f"in use by process {first.process.pid}" in line
    assert first.process.poll() is None
    first.wait().assert_ended_well()
    kept, asked = content_of(first.path), len(web.hits())

    origins = {"origins": web.web.origin(0)}
    (line,) = refusal(crawl(of=first, spider="shared", arguments=origins, **ours))
    assert f"JOBDIR {first.path} is a crawl of the spider broad, and shared would" in line
    assert content_of(first.path) == kept
    assert len(web.hits()) == asked
    # Nobody has joined its crawl on Redis, nor that of broad.
    assert redis.call("EXISTS", "shared:workers") == redis.call("EXISTS", "broad:workers") == 0
    crawl(web.seeds, of=first, REDIS_URL=redis.url).assert_ended_well()


def test_a_crawl_of_before_brackets_counted_goes_on_with_the_rules_that_the_refusal_names(serve, crawl):
    web, rules = serve(hosts=4, pages=80, seed=7), "escapes,empty_query"
    first = crawl(web.seeds, CANONICAL_RULES=rules, CLOSESPIDER_PAGECOUNT=30).assert_ended_well()
    # What was not noted then.
    change(first.path, "DELETE FROM meta WHERE name = 'spider'")
    (first.path / "spider").unlink()
    asked = len(web.hits())

    (line,) = refusal(crawl(web.seeds, of=first))
    assert f"was started with CANONICAL_RULES={rules} and cannot go on with" in line
    assert f"; give CANONICAL_RULES={rules}, or another JOBDIR" in line
    assert len(web.hits()) == asked

    crawl(web.seeds, of=first, CANONICAL_RULES=rules).assert_ended_well()
    assert first.assert_sound().queued == 0
    assert first.fetched() == dict.fromkeys(web.web.urls(), 1)
