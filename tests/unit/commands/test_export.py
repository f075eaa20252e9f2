"""``scrapy export``: what it writes, from which logs and sample, and with which status it ends."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenSqlite
from tests.contract.sample_crawl import HELD, LONG, SHORT, SampleCrawl
from tests.contract.samples import entry, found, pages
from tests.unit.commands.conftest import local_crawl
from tests.unit.export.logs import HOSTILE, log
from tests.unit.links.logged import kept, page
from webcrawl.archive import fetchlog
from webcrawl.archive.disk import Disk
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.storage.contract import Batch, Settled

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from typing import Any

    from tests.commands import Command, Done
    from webcrawl.frontier.records import UrlEntry

FETCHED = [
    {"url": "http://a.test/0", "key": "a.test", "kind": "page", "status": 200, "end": 5.0, "depth": 1},
    {"url": "http://a.test/1", "key": "a.test", "kind": "page", "error": "dns", "end": 6.0, "bytes": 0},
    {"url": "http://a.test/2", "key": "a.test", "kind": "page", "status": 301, "location": "3", "end": 7.0},
    {"url": "http://a.test/robots.txt", "key": "a.test", "kind": "robots", "status": 404, "end": 4.0},
]


@pytest.fixture
def export(command: Callable[..., Command]) -> Command:
    return command("export", FETCH_PRIVATE_ADDRESSES=1, POLITENESS_KEY="host")


@pytest.fixture
def local(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """A crawl with URLs in each state, and their log: 0 and 2 done, 1 failed, 3 and 4 refused, the rest queued."""
    with local_crawl(runner, tmp_path) as crawl:
        urls = pages("a.test", 7)
        crawl.commit(found(*urls, entry("http://b.test/\x1b x", via="http://a.test/0", depth=1)))
        fence = crawl.activate_keys(1)[0].record.fence
        done = (State.DONE, State.FAILED, State.DONE, State.REFUSED, State.REFUSED)
        why = (None, "dns", None, "robots", "robots")
        ended = [
            Settled(url, UrlRecord(s, w), fence=fence) for url, s, w in zip(urls, done, why, strict=False)
        ]
        crawl.commit(Batch(settled=ended))
        write(crawl.directory, FETCHED)
        yield crawl


def write(folder: Path, lines: list[dict[str, Any]], name: str = "fetch.jsonl") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines), "ascii")
    return folder


def wrong(done: Done) -> list[str]:
    assert (done.status, done.out) == (2, ""), done
    return [line.removeprefix("scrapy export: ") for line in done.err.splitlines()]


def test_the_tree_is_that_of_all_workers_and_of_compressed_parts(export: Command, tmp_path: Path) -> None:
    lines = log(1, 90)
    first, second = write(tmp_path / "w1", lines[:30]), write(tmp_path / "w2", lines[30:60])
    write(first, lines[60:], "fetch-20260101000000000.jsonl")
    fetchlog.compress(first / "fetch-20260101000000000.jsonl", Disk())
    tree = export("tree", str(first), str(second), "--format", "json", "--depth", "1").told
    assert tree["title"] == "Sites of w1, w2"
    assert tree["totals"]["requests"] == 90
    assert tree["totals"]["bytes"] == sum(line["bytes"] for line in lines)
    output = export("tree", str(first), str(second), "--most", "1").said
    assert "more)" in output
    assert export("tree", str(first), "--format", "html", "-o", "tree.html").said == ""
    assert Path("tree.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("state", "urls", "missing"),
    [
        ("done", ["http://a.test/0", "http://a.test/2"], ""),
        ("failed", ["http://a.test/1"], ""),
        ("refused", ["http://a.test/3"], "scrapy export: 1 URL more is refused"),
        ("queued", ["http://a.test/5", "http://a.test/6", "http://b.test/%1B%20x"], ""),
    ],
)
def test_urls_are_listed_by_the_state_that_the_books_say(
    local: DrivenSqlite, export: Command, state: str, urls: list[str], missing: str
) -> None:
    for words, settings in (((str(local.directory),), {}), ((), {"JOBDIR": local.directory})):
        done = export("urls", *words, "--state", state, **settings)
        assert (done.status, done.out.splitlines()) == (0, urls)
        assert done.err.startswith(missing)
        assert bool(done.err) == bool(missing)


def test_refused_urls_are_named_with_their_rules_where_a_page_links_to_them(
    local: DrivenSqlite, export: Command
) -> None:
    linked = [
        "http://a.test/4?",
        "http://a.test/4",
        "http://a.test/3",
        "http://a.test/5",
        "http://a.test/new",
    ]
    first_time = page("http://b.test/", linked)
    first_time.other_links = [(f"mailto:{number}@a.test", "a", "", "") for number in range(9)]
    kept(local.directory, [first_time], [page("http://b.test/", [], 9e9)])
    done = export("urls", str(local.directory), "--state", "refused", "--format", "json")
    assert (done.status, done.err) == (0, "")
    first, second = [json.loads(line) for line in done.out.splitlines()]
    assert (first["url"], first["via"]) == ("http://a.test/3", "http://a.test/2")
    assert second.pop("url") in linked[:2]
    assert second == {"state": "refused", "key": "a.test", "rule": "robots", "via": "http://b.test/"}
    output = export("urls", str(local.directory), "--state", "done").said
    assert output.splitlines() == ["http://a.test/0", "http://a.test/2"]


def test_as_json_a_url_is_told_with_what_is_known_of_it(local: DrivenSqlite, export: Command) -> None:
    def told(state: str) -> list[dict[str, Any]]:
        done = export("urls", str(local.directory), "--state", state, "--format", "json")
        return [json.loads(line) for line in done.out.splitlines()]

    first, second = told("done")
    assert first == {
        "url": "http://a.test/0", "state": "done", "key": "a.test", "status": 200, "ended_at": 5.0, "depth": 1
    }  # fmt: skip
    assert second["status"] == 301
    [failed] = told("failed")
    assert failed["rule"] == "dns"
    [refused] = told("refused")
    assert refused == {
        "url": "http://a.test/3", "state": "refused", "key": "a.test", "rule": "robots", "depth": 0,
        "via": "http://a.test/2",
    }  # fmt: skip
    assert told("queued")[-1]["via"] == "http://a.test/0"


def test_the_stored_status_is_listed_and_without_one_that_of_the_log(
    local: DrivenSqlite, export: Command
) -> None:
    retried, failed, _ = local.queued()
    local.commit(Batch(settled=[Settled(failed, UrlRecord(State.FAILED, "redirects", 302))]))
    local.commit(Batch(settled=[Settled(retried, UrlRecord(State.QUEUED, None, 503), tried_again(retried))]))
    write(local.directory, [*FETCHED, {**FETCHED[0], "url": failed.url, "end": 9.0, "status": 307}])

    def statuses(state: str) -> list[tuple[str, int | None]]:
        done = export("urls", str(local.directory), "--state", state, "--format", "json")
        lines = [json.loads(line) for line in done.out.splitlines()]
        return [(row["url"], row.get("status")) for row in lines]

    assert statuses("failed") == [("http://a.test/1", None), (failed.url, 302)]
    assert statuses("done") == [("http://a.test/0", 200), ("http://a.test/2", 301)]
    assert statuses("queued") == [(retried.url, 503), ("http://b.test/\x1b x", None)]


def tried_again(one: UrlEntry) -> UrlEntry:
    return replace(one, attempts=one.attempts + 1)


def test_without_books_the_last_line_of_a_url_counts(export: Command, tmp_path: Path) -> None:
    again = {**FETCHED[1], "end": 9.0, "status": 200}
    del again["error"]
    one, two = write(tmp_path / "w1", [again]), write(tmp_path / "w2", FETCHED)
    urls = [f"http://a.test/{number}" for number in range(3)]
    assert export("urls", str(one), str(two), "--state", "done").said.splitlines() == urls
    assert export("urls", str(two), "--state", "failed").said.splitlines() == urls[1:2]
    assert wrong(export("urls", str(two), "--state", "refused")) == [
        "refused URLs are unknown: the states of URLs are not stored"
    ]
    assert "which crawl?" in wrong(export("urls", str(two), "--state", "queued"))[0]


def test_the_books_of_a_crawl_on_redis_are_read(export: Command, sample: SampleCrawl, tmp_path: Path) -> None:
    redis = {"REDIS_URL": sample.driven.url, "FRONTIER_BACKEND": "redis"}
    output = export("urls", "--state", "queued", "--format", "json", **redis).said
    told = [json.loads(line) for line in output.splitlines()]
    keys = [row["key"] for row in told]
    assert (keys.count(SHORT), keys.count(LONG)) == (5, 320)
    lines = [
        {"url": f"http://{HELD}/{n}", "key": HELD, "kind": "page", "status": 200, "end": 1.0}
        for n in range(6)
    ]
    folder = str(write(tmp_path / "w1", lines))
    done = export("urls", folder, "--state", "done", **redis)
    assert done.out.splitlines() == [row.url for row in sample.settled[:2]]
    refused = export("urls", folder, "--state", "refused", "--format", "json", **redis)
    assert [json.loads(line)["url"] for line in refused.out.splitlines()] == [sample.settled[3].url]
    kept(tmp_path / "w2", [page("http://b.test/", [row.url for row in sample.settled])])
    write(tmp_path / "w2", [])
    linked = export("urls", str(tmp_path / "w2"), "--state", "refused", "--format", "json", **redis).told
    assert (linked["url"], linked["via"]) == (sample.settled[3].url, "http://b.test/")


def test_seeds_are_one_url_a_site(export: Command, tmp_path: Path) -> None:
    folder = str(write(tmp_path / "w1", log(2)))
    assert len(export("seeds", folder).said.splitlines()) == 8
    assert len(export("seeds", folder, "--by", "domain").said.splitlines()) == 6


def test_parquet_is_written_to_a_file(
    export: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    folder = str(write(tmp_path / "w1", [*log(2, 50), *HOSTILE]))
    done = export("parquet", folder, "-o", "log.parquet")
    assert (done.status, done.out, done.err) == (0, "", "scrapy export: 57 rows in log.parquet\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert wrong(export("parquet", folder, "-o", "other.parquet")) == [
        "Parquet needs pyarrow, which is not installed: pip install pyarrow, or give another form"
    ]


def test_hostile_lines_break_no_form(export: Command, tmp_path: Path) -> None:
    folder = str(write(tmp_path / "w1", HOSTILE))
    for words in (["tree"], ["urls", "--state", "done"], ["urls", "--state", "failed"], ["seeds"]):
        output = export(words[0], folder, *words[1:]).said
        assert all(character.isprintable() or character == "\n" for character in output)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["trees"], "trees: cannot be exported; did you mean tree?"),
        (["urls"], "--state: is missing; give one of done, failed, refused, queued"),
        (["urls", "--state", "leased"], "--state: must be one of done, failed, refused, queued, not leased"),
        (["tree", "--state", "done"], "--state: is for urls, not for tree"),
        (["seeds", "--format", "json"], "--format: seeds takes text, not json"),
        (["seeds", "--by", "page"], "--by: must be host or domain, not page"),
        (["parquet"], "--output: is needed: Parquet is written to a file"),
        (["tree", "nowhere"], "nowhere: is no folder"),
        (["tree"], "which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(export: Command, words: list[str], told: str) -> None:
    assert wrong(export(*words)) == [told]


def test_a_file_that_cannot_be_written_is_told(export: Command, tmp_path: Path) -> None:
    folder = str(write(tmp_path / "w1", log(2, 5)))
    assert "No such file or directory" in wrong(export("tree", folder, "-o", "missing/tree.txt"))[0]
