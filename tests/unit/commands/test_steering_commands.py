"""``scrapy set``, ``add``, ``delay`` and ``exclude`` without a file, on a crawl that does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenSqlite, make
from tests.contract.samples import entry
from webcrawl.control.selection import select_crawl_in
from webcrawl.features.steering.failures import FailedUrl, FailureStore
from webcrawl.features.steering.store import Place, SteeringStore
from webcrawl.storage import technology_in

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands import Command

MIN = "POLITENESS_MIN_DELAY"
LATER = "is not running: in force when it runs again"


@pytest.fixture
def job(stopped_crawl: DrivenSqlite) -> str:
    return str(stopped_crawl.directory)


def told(command: Command, *words: str) -> dict:
    done = command(*words, "--json")
    assert (done.status, done.err) == (0, ""), done
    return done.told


def test_a_setting_is_changed_listed_and_taken_back(job: str, command: Callable[..., Command]) -> None:
    give = command("set")
    assert give(f"{MIN}=7", "DEPTH_LIMIT=3", job).said.splitlines() == [
        f"{MIN} is 7; it was 5",
        "DEPTH_LIMIT is 3; it was 0",
        f"the crawl in {job} {LATER}",
    ]
    listed = give(job).said
    assert f"  {MIN:<28} 7 seconds\n    set by " in listed
    rows = {row["name"]: row for row in told(give, job)["settings"]}
    row = rows[MIN]
    assert (row["value"], row["default"], row["started_with"], row["override"]["value"]) == (
        "7",
        "5",
        "5",
        "7",
    )
    assert rows["CONCURRENT_REQUESTS"]["override"] is None
    assert "DEPTH_LIMIT is 0; it was 3" in give("--reset", "DEPTH_LIMIT", job).said
    assert f"{MIN} is 5; it was 7" in give(f"{MIN}=", job).said
    assert "set by" not in give(job).said


@pytest.mark.parametrize(
    ("name", "key"),
    [("127.0.0.1:8080", "127.0.0.1"), ("[::1]:80", "[::1]"), ("http://www.a.test:8080/x", "www.a.test")],
)
def test_the_delay_of_a_port_is_that_of_its_host(
    job: str, command: Callable[..., Command], name: str, key: str
) -> None:
    assert told(command("delay"), name, "30", job)["key"] == key


def test_of_several_changes_with_a_wrong_one_none_is_made(job: str, command: Callable[..., Command]) -> None:
    done = command("set")("DEPTH_LIMIT=3", f"{MIN}=fast", "POLITENES_MAX_DELAY=5", job)
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines() == [
        f"scrapy set: {MIN}: must be a number from 0 to 86400, not 'fast'",
        "scrapy set: POLITENES_MAX_DELAY: is not a setting; did you mean POLITENESS_MAX_DELAY?",
    ]
    assert "set by" not in command("set")(job).said


def test_a_delay_is_set_for_the_key_of_the_host(job: str, command: Callable[..., Command]) -> None:
    give = command("delay")
    said = give("WWW.example.org", "30", job).said
    assert said == f"the crawl in {job}: www.example.org has a delay of at least 30 s\n"
    assert "www.example.org  30 s, set by " in give(job).said
    assert told(give, "b.test", "1", job) | {"storage": "", "place": ""} == {
        "storage": "",
        "place": "",
        "key": "b.test",
        "seconds": 1.0,
        "least": 5.0,
    }
    assert "b.test keeps the minimum of all, 5 s" in give("b.test", "2", job).said
    assert "www.example.org has no delay of its own any more" in give("www.example.org", "none", job).said
    assert [one["key"] for one in told(give, job)["delays"]] == ["b.test"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("a.test", "fast"), "the delay must be a number from 0 to 86400, not 'fast' seconds"),
        (("a.test", "-1"), "is no option"),
        (("a b", "3"), "must be a host such as www.example.org"),
        (("a.test",), "give a host and a number of seconds, or none"),
    ],
)
def test_a_wrong_delay_is_refused(
    words: tuple[str, ...], sentence: str, job: str, command: Callable[..., Command]
) -> None:
    done = command("delay")(*words, job)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err


def test_added_urls_are_judged_one_by_one(job: str, command: Callable[..., Command]) -> None:
    give = command("add")
    done = give("http://a.test/new", "http://10.0.0.1/x", "mailto:a@b", "http://a.test/0", job)
    assert done.status == 1
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["queued", "refused", "invalid", "known"]
    assert "the rule private-address refuses it" in lines[1]
    assert lines[4].endswith("no process works on it; the URLs are queued when it runs again")
    row = told(give, "http://a.test/new2", job)["rows"][0]
    assert (row["verdict"], row["robots"]) == ("queued", "unknown")


def test_urls_that_are_to_come_first_wait_with_their_places(
    job: str, stopped_crawl: DrivenSqlite, command: Callable[..., Command]
) -> None:
    done = command("add")("--next", "http://a.test/new", "http://a.test/0", job)
    assert (done.status, done.err) == (0, "")
    assert "queued   http://a.test/new: it is queued as the next of its host" in done.out
    assert "queued   http://a.test/0: it was queued, and is the next of its host now" in done.out
    crawl = select_crawl_in(stopped_crawl.directory, technology_in(stopped_crawl.directory))
    new, known = crawl.read_store(SteeringStore, lambda store: store.injected(9))
    assert (new.url, new.is_first, new.place) == ("http://a.test/new", True, None)
    [entry] = [one for one in crawl.queue("a.test", 100) if one.url == known.url]
    assert Place(**known.place) == Place(entry.key, entry.fingerprint, entry.level, entry.position)


def test_an_entry_is_excluded_and_taken_back_without_a_file(
    job: str, command: Callable[..., Command]
) -> None:
    give = command("exclude")
    assert LATER in give("a.test", JOBDIR=job).said
    assert "a.test is excluded already" in give("a.test", JOBDIR=job).said
    added = command("add")("http://www.a.test/new", job)
    assert "the rule exclusion refuses it: a.test" in added.out
    assert "a.test is no longer excluded by operators" in give("a.test", "--take-back", JOBDIR=job).said
    assert "a.test is not excluded by operators" in give("a.test", "--take-back", JOBDIR=job).said
    assert "queued" in command("add")("http://www.a.test/new", job).out


def test_explain_and_add_follow_the_changed_rules(job: str, command: Callable[..., Command]) -> None:
    assert "in force" in command("set")("URLLENGTH_LIMIT=30", job).said
    long = "http://a.test/" + "long" * 10
    assert "the rule length refuses it" in command("add")(long, job).out
    assert "length" in command("explain")(long, JOBDIR=job).said


@pytest.mark.parametrize("seen", ["exact", "bloom"])
def test_a_retry_says_if_the_numbers_of_urls_stay_as_they_were(
    runner: asyncio.Runner, tmp_path: Path, seen: str, command: Callable[..., Command]
) -> None:
    crawl = make("sqlite" if seen == "exact" else "sqlite-bloom", runner, tmp_path / "crawl")
    assert isinstance(crawl, DrivenSqlite)
    crawl.open()
    crawl.close()
    job = str(crawl.directory)
    local = select_crawl_in(crawl.directory, technology_in(crawl.directory))
    one = FailedUrl(entry("http://a.test/1"), "timeout", 1.0)
    local.change_store(FailureStore, lambda store, now: store.add([one]))
    done = command("retry")(job)
    assert done.status == 0
    assert "will fetch failed URLs again when it runs again" in done.out
    assert ("still count as failed" in done.out) == (seen == "bloom")
    crawl.dispose()
