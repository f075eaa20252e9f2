"""One host in whole, the table of all, and the short lists, by the source of a dashboard, of a crawl's folder."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from tests.contract.driven import IDENTITY
from tests.contract.samples import NOW, found, pages, robots
from webcrawl.errors import CrawlError
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.traps.quarantine import Trap
from webcrawl.features.traps.store import TrapStore
from webcrawl.frontier.order import LevelSampler
from webcrawl.politeness.refusals import KINDS
from webcrawl.storage.contract import Batch
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
from webcrawl.web.dashboard import last_requests, listings
from webcrawl.web.dashboard.source import CrawlSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


STATIC = files("webcrawl.web.dashboard") / "static"


def asked(search: str = "", limit: int = 100, **filters: str) -> dict[str, Any]:
    """The values of a request for a list."""
    names = ("status", "kind", "host", "error", "refusal", "withheld")
    return {"search": search, "limit": limit, **dict.fromkeys(names, ""), **filters}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl that has ended: 30 URLs of one host, 3 of another, which was parked."""

    async def begin() -> None:
        backend = SqliteBackend(tmp_path, SqliteOptions(delay_seconds=5.0), IDENTITY)
        await backend.open(NOW)
        await backend.commit(found(*pages("parked.test", 3)))
        [parked] = await backend.activate_keys(1, NOW, LevelSampler(2.0, seed=1))
        parked.record.parked, parked.record.failures, parked.record.last_error = True, 2, "timeout"
        parked.record.asked_until = 4e9
        await backend.commit(Batch(pages("a.test", 30), [], [], [robots("http://a.test")]))
        await backend.release_keys([parked.record])
        await backend.close()

    asyncio.run(begin())
    lines = [
        {"key": key, "url": f"http://{key}/{number}", "end": NOW + number, "kind": "page", "status": 200}
        for number in range(40)
        for key in ("a.test", "b.test")
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (tmp_path / "fetch.jsonl").write_text(f'{text}\n[]\n"a.test"\n{{"key": "a.test", half', encoding="utf-8")
    return tmp_path


@pytest.fixture
def source(folder: Path) -> Iterator[CrawlSource]:
    settings = Settings()
    settings.setmodule("webcrawl.settings", "project")
    settings.set("JOBDIR", str(folder), "cmdline")
    crawl_source = CrawlSource(settings, "broad")
    yield crawl_source
    crawl_source.close()


def test_the_table_has_all_hosts(source: CrawlSource) -> None:
    page = source.hosts({"sort": "host", "order": "asc"})
    assert [(row["key"], row["state"], row["queued"], row["health"]) for row in page["rows"]] == [
        ("a.test", "ready", 30, None),
        ("parked.test", "parked", 3, "timeout"),
    ]


def test_a_host_is_told_in_whole(source: CrawlSource) -> None:
    answer = source.host("a.test")
    assert answer is not None
    assert (answer["state"], answer["queued"], answer["health"], answer["excluded"]) == (
        "ready",
        30,
        None,
        None,
    )
    assert answer["limits"] is None
    assert [page["url"] for page in answer["queue"]] == [page.url for page in pages("a.test", 20)]
    assert [row["origin"] for row in answer["robots"]] == ["http://a.test"]
    assert [row["url"] for row in answer["fetches"]] == [f"http://a.test/{n}" for n in range(39, 19, -1)]
    json.dumps(answer)


def test_a_parked_host_says_why_and_an_unknown_one_is_none(source: CrawlSource) -> None:
    answer = source.host("parked.test")
    assert answer is not None
    assert (answer["state"], answer["health"], answer["fetches"]) == ("parked", "parked: timeout", [])
    assert answer["limits"] == "the host allows no request until then, by Retry-After or RateLimit"
    assert source.host("unknown.test") is None


def test_what_operators_asked_for_a_host_is_there(source: CrawlSource) -> None:
    async def ask(store: SteeringStore, now: float) -> None:
        await store.set_delay("a.test", 30.0, "alice", now)
        await store.exclude("a.test", "alice", now)

    source.crawl.change_store(SteeringStore, ask)
    answer = source.host("a.test")
    assert answer is not None
    assert (answer["delay_override"], answer["excluded"]) == (30.0, "a.test, by alice")
    other = source.host("parked.test")
    assert other is not None
    assert (other["delay_override"], other["excluded"]) == (None, None)


def test_a_crawl_that_is_gone_is_an_error(source: CrawlSource, folder: Path) -> None:
    (folder / "frontier.db").unlink()
    with pytest.raises(CrawlError, match="no crawl"):
        source.host("a.test")
    with pytest.raises(CrawlError, match="no crawl"):
        source.hosts({})


def test_the_last_requests_come_from_the_end_of_the_log(source: CrawlSource) -> None:
    answer = listings.fetches(source, asked("", 3))
    assert [row["url"] for row in answer["rows"]] == [
        "http://b.test/39",
        "http://a.test/39",
        "http://b.test/38",
    ]
    assert (answer["rows"][0]["status"], answer["rows"][0]["seconds"], answer["note"]) == (200, None, None)
    assert [row["url"] for row in listings.fetches(source, asked("a.test/1", 2))["rows"]] == [
        "http://a.test/19",
        "http://a.test/18",
    ]


def test_a_long_log_is_read_from_its_end(
    source: CrawlSource, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = listings.fetches(source, asked("", 1000))["rows"]
    monkeypatch.setattr(last_requests, "TAIL_BYTES", 1000)
    some = listings.fetches(source, asked("", 1000))["rows"]
    assert 5 < len(some) < len(whole)
    assert some == whole[: len(some)]
    (folder / "fetch.jsonl").unlink()
    assert listings.fetches(source, asked("", 1000))["rows"] == []


def test_errors_are_requests_without_a_response_that_were_not_sent_again(
    source: CrawlSource, folder: Path
) -> None:
    with (folder / "fetch.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
        for number, error in enumerate(["timeout", "dns", "timeout", "reset"]):
            line = {
                "key": "a.test",
                "url": f"http://a.test/{number}",
                "end": NOW + 100 + number,
                "error": error,
            }
            file.write(json.dumps(line | ({"resent": True} if error == "reset" else {})) + "\n")
    answer = listings.errors(source, asked("", 2))
    assert [(row["error"], row["url"]) for row in answer["rows"]] == [
        ("timeout", "http://a.test/2"),
        ("dns", "http://a.test/1"),
    ]
    assert (answer["kinds"], answer["total"], answer["since"]) == ({"timeout": 2, "dns": 1}, 3, NOW)
    some = listings.errors(source, asked(error="dns"))
    assert ([row["error"] for row in some["rows"]], some["total"]) == (["dns"], 1)
    assert len(listings.fetches(source, asked(status="none", host="a.test"))["rows"]) == 4
    assert listings.fetches(source, asked(status="5xx"))["rows"] == []


def test_traps_and_parked_hosts_are_listed(source: CrawlSource) -> None:
    traps = [
        Trap("a.test/calendar/*", "the pages say the same", NOW, 20, ("http://a.test/calendar/1",)),
        Trap("b.test/?s=*", "the pages say the same", NOW + 1, 20, ()),
    ]
    source.crawl.change_store(TrapStore, lambda store, now: store.put(traps))
    answer = listings.traps(source, asked("", 9))
    assert [(row["pattern"], row["examined"], row["withheld"]) for row in answer["rows"]] == [
        ("b.test/?s=*", 20, 0),
        ("a.test/calendar/*", 20, 0),
    ]
    assert listings.traps(source, asked("calendar", 9))["total"] == 1
    [row] = listings.parked(source, asked("", 1000))["rows"]
    assert (row["key"], row["queued"], row["failures"], row["reason"]) == ("parked.test", 3, 2, "timeout")


def test_requests_are_chosen_by_what_sites_refused_and_what_was_withheld(
    folder: Path, source: CrawlSource
) -> None:
    facts: dict[str, dict[str, object]] = {
        "/1": {"refusal": "challenge", "status": 403},
        "/2": {"refusal": "blocked", "status": 403},
        "/3": {"withheld": True, "status": 200},
        "/4": {"status": 200},
    }
    lines = [{"url": url, "kind": "page", "end": NOW, **more} for url, more in facts.items()]
    (folder / "fetch.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    expected = [
        ({"refusal": "challenge"}, ["/1"]),
        ({"refusal": "any"}, ["/2", "/1"]),
        ({"withheld": "yes"}, ["/3"]),
        ({"refusal": "legal"}, []),
        ({}, ["/4", "/3", "/2", "/1"]),
    ]
    for filters, urls in expected:
        rows = listings.fetches(source, asked(**filters))["rows"]
        assert [row["url"] for row in rows] == urls, filters


def test_the_page_offers_all_kinds_of_refusals() -> None:
    script = (STATIC / "lists.js").read_text()
    [kinds] = re.findall(r"const REFUSALS = (\[.*?\]);", script, re.DOTALL)
    assert json.loads(re.sub(r",\s*\]", "]", kinds)) == list(KINDS)
