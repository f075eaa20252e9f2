"""``scrapy exclude``: what it says before it writes, what it writes, whom it tells, and with which status it ends."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenSqlite
from tests.contract.sample_crawl import HELD, SampleCrawl
from tests.contract.samples import entry, found, pages
from tests.unit.commands.conftest import local_crawl
from webcrawl.commands import exclude as consequences
from webcrawl.crawl import exclusion_state
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.scope.exclusion import ExclusionList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.commands import Command, Done


FILE = "list.txt"


@pytest.fixture
def exclude(command: Callable[..., Command], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Nobody is waited for."""
    monkeypatch.setattr(consequences, "LOOKS", 1)
    monkeypatch.setattr(consequences, "POLL_SECONDS", 0)
    return command("exclude")


@pytest.fixture
def local(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """A crawl of one process, with two hosts active and two idle, and a log."""
    with local_crawl(runner, tmp_path) as crawl:
        crawl.commit(found(*pages("a.test", 3), *pages("www.a.test", 4)))
        crawl.activate_keys(2)
        crawl.commit(found(*pages("b.a.test", 2), *pages("other.test", 5), entry("https://a.test/private/1")))
        lines = [
            {"url": "http://a.test/0", "status": 200},
            {"url": "http://a.test/0", "status": 304},
            {"url": "http://www.a.test/1", "status": 404},
            {"url": "http://a.test/2", "error": "timeout"},
            {"url": "http://other.test/", "status": 200},
        ]
        log = "".join(f"{json.dumps(line)}\n" for line in lines)
        (crawl.directory / "fetch.jsonl").write_text(f"{log}no line\n")
        yield crawl


def refused(done: Done) -> list[str]:
    """The lines of a command that did nothing."""
    assert (done.status, done.out) == (2, ""), done.err
    assert not Path(FILE).exists()
    return [line.removeprefix("scrapy exclude: ") for line in done.err.splitlines()]


def told(done: Done, status: int = 0) -> list[str]:
    assert (done.status, done.err) == (status, ""), done
    return done.out.splitlines()


# -- in a JOBDIR ---------------------------------------------------------------------------------------------


def test_it_says_what_it_hits_before_it_writes_also_while_the_crawl_runs(
    local: DrivenSqlite, exclude: Command
) -> None:
    lines = told(exclude("a.test", "--reason", "by mail", "--file", FILE, JOBDIR=local.directory))
    assert lines[:4] == [
        f"the crawl in {local.directory}: a.test hits",
        "  queued  10 URLs on 3 hosts",
        "  leased  8 of them, on 2 hosts that a worker holds; at most 2 requests in flight",
        f"  stored  2 URLs with 3 responses in the log of {local.directory}; 1 line of it cannot be read",
    ]
    assert lines[4].startswith("list.txt now has: a.test  # 20")
    assert Path(FILE).read_text().endswith(" by mail\n")
    assert lines[5:] == [f"the crawl in {local.directory}: no worker is running, so none reads the list"]


def test_a_prefix_hits_what_begins_so(local: DrivenSqlite, exclude: Command) -> None:
    lines = told(exclude("http://a.test/private/", "--jobdir", str(local.directory), EXCLUSION_FILE=FILE))
    assert lines[1] == "  queued  1 URL on 1 host"
    assert "  leased  1 of them, on 1 host" in lines[2]


def test_a_dry_run_changes_nothing(local: DrivenSqlite, exclude: Command) -> None:
    lines = told(exclude("a.test", "--dry-run", EXCLUSION_FILE=FILE, JOBDIR=local.directory))
    assert lines[1] == "  queued  10 URLs on 3 hosts"
    assert lines[-1].startswith("Nothing was written; the line would be: a.test  # 20")
    assert not Path(FILE).exists()
    assert not (local.directory / "exclusions.look").exists()


def test_what_is_covered_is_said_and_not_written_again(exclude: Command) -> None:
    Path(FILE).write_text("a.test # mail\n")
    lines = told(exclude("www.a.test", EXCLUSION_FILE=FILE))
    assert "list.txt already covers it: a.test (mail)" in lines
    assert Path(FILE).read_text() == "a.test # mail\n"


def test_the_process_at_work_is_told_and_heard(
    local: DrivenSqlite, exclude: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobdir = Jobdir(local.directory)
    jobdir.hold()
    name = f"process {os.getpid()}"

    def obey(seconds: float) -> None:
        exclusions = ExclusionList.load(FILE)
        assert exclusion_state.request_number(local.directory)
        exclusion_state.write(
            local.directory, exclusion_state.InForce(exclusions.version, 1, 1.0, os.getpid())
        )

    try:
        silent = told(exclude("a.test", EXCLUSION_FILE=FILE, JOBDIR=local.directory), status=1)
        assert silent[-1].startswith(f"Not in force: {name} has reported no exclusion list.")
        monkeypatch.setattr("webcrawl.commands.exclude.time.sleep", obey)
        exclusion_state.write(local.directory, exclusion_state.InForce("other", 1, 1.0, os.getpid()))
        heard = told(exclude("--now", EXCLUSION_FILE=FILE, JOBDIR=local.directory))
        assert len(heard) == 1
        assert heard[0].startswith("In force since 20")
        assert heard[0].endswith(f"version {ExclusionList.load(FILE).version}: {name}")
    finally:
        jobdir.leave()


def test_without_a_crawl_the_line_is_written_all_the_same(exclude: Command) -> None:
    lines = told(exclude("a.test", EXCLUSION_FILE=FILE))
    assert lines[0] == "The crawl is not known: give -s REDIS_URL=... or -s JOBDIR=DIR"
    assert Path(FILE).read_text().startswith("a.test  # ")
    assert lines[-1].startswith("No crawl was named, so none was notified")


# -- on Redis ------------------------------------------------------------------------------------------------


def test_a_shared_crawl_is_counted_and_told(sample: SampleCrawl, exclude: Command) -> None:
    url, names = sample.driven.url, sample.names
    sample.report("w1", sample.server_now() + 30)
    lines = told(exclude("test", REDIS_URL=url, EXCLUSION_FILE=FILE), status=1)
    where = f"broad on Redis at 127.0.0.1:{url.rpartition(':')[2]}"
    assert lines[:4] == [
        f"{where}: test hits",
        "  queued  329 URLs on 4 hosts",
        "  leased  0 of them, on 0 hosts that a worker holds; at most 0 requests in flight",
        "  stored  not counted: give --jobdir DIR of each worker",
    ]
    assert lines[-1].startswith("Not in force: w1 has reported no exclusion list.")
    asked = sample.client.hget("broad:meta", "look")
    told(exclude("--now", REDIS_URL=url, EXCLUSION_FILE=FILE), status=1)
    assert sample.client.hget("broad:meta", "look") != asked

    [member] = sample.client.zrange(names.members, 0, -1)
    sample.client.zadd(names.members, {member: sample.server_now() + 30})
    held = told(exclude(HELD, "--dry-run", REDIS_URL=url, EXCLUSION_FILE=FILE))
    assert held[1:3] == [
        "  queued  2 URLs on 1 host",
        "  leased  2 of them, on 1 host that a worker holds; at most 1 request in flight",
    ]
    assert sample.check().agrees


def test_a_queue_that_cannot_be_read_is_an_answer(sample: SampleCrawl, exclude: Command) -> None:
    sample.set_tail("short.test", b"\x00" * 40)
    [line] = refused(exclude("short.test", REDIS_URL=sample.driven.url, EXCLUSION_FILE=FILE))
    assert line == "the queue of short.test in Redis cannot be read; see scrapy frontier check"


def test_workers_tell_which_list_they_go_by(sample: SampleCrawl, exclude: Command) -> None:
    facts = {"name": "w2", "seen_at": sample.server_now(), "exclusions": "0123456789abcdef"}
    sample.client.hset("broad:workers", "w2-1", json.dumps(facts))
    lines = told(exclude("a.test", REDIS_URL=sample.driven.url, EXCLUSION_FILE=FILE), status=1)
    assert lines[-1].startswith("Not in force: w2 applies another list, version 0123456789abcdef.")
    facts["exclusions"] = ExclusionList.load(FILE).version
    sample.client.hset("broad:workers", "w2-1", json.dumps(facts))
    assert told(exclude("--now", REDIS_URL=sample.driven.url, EXCLUSION_FILE=FILE))[0].endswith(": w2")


# -- what is wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "settings", "line"),
    [
        (
            ["example.com/x"],
            {"EXCLUSION_FILE": FILE},
            "must be a domain such as example.org, or a URL prefix",
        ),
        (["a.test"], {}, "EXCLUSION_FILE: no exclusion file: give --file FILE"),
        (["a.test", "b.test"], {"EXCLUSION_FILE": FILE}, "b.test: is one argument too many"),
        (["--now", "--dry-run"], {"EXCLUSION_FILE": FILE}, "--dry-run: is for a domain or URL prefix"),
        (["--now"], {"EXCLUSION_FILE": FILE}, "list.txt: there is no such file"),
        (["a.test"], {"EXCLUSION_FILE": "no/such/list"}, "no/such/list: No such file or directory"),
        (["a.test"], {"EXCLUSION_FILE": "."}, ".: Is a directory"),
        (["a.test"], {"EXCLUSION_FILE": FILE, "JOBDR": "x"}, "JOBDR: is not a setting; did you mean JOBDIR?"),
        (
            ["a.test", "--jobdir", "x"],
            {"EXCLUSION_FILE": FILE},
            "--jobdir: must be the folder of a crawl, not 'x'",
        ),
        (["a.test"], {"EXCLUSION_FILE": FILE, "JOBDIR": "x"}, "x is no crawl with a frontier on disk"),
        (
            ["a.test"],
            {"EXCLUSION_FILE": FILE, "REDIS_URL": "redis://:secret@127.0.0.1:1/0"},
            "Redis at 127.0.0.1:1/0 cannot be reached",
        ),
        (
            ["a.test"],
            {"EXCLUSION_FILE": FILE, "FRONTIER_BACKEND": "memory", "JOBDIR": "."},
            "a crawl with FRONTIER_BACKEND=memory cannot be inspected from outside",
        ),
    ],
)
def test_what_is_wrong_is_named_in_a_line(
    exclude: Command, words: list[str], settings: dict[str, str], line: str
) -> None:
    done = exclude(*words, **settings)
    lines = [line.removeprefix("scrapy exclude: ") for line in done.err.splitlines()]
    assert (done.status, len(lines)) == (2, 1), done
    assert lines[0].startswith(line)
    assert "secret" not in lines[0]
    assert not Path(FILE).exists()


def test_every_wrong_line_of_the_file_is_named_and_nothing_is_added(exclude: Command) -> None:
    Path(FILE).write_text("a b\nok.test\n!!\n")
    done = exclude("a.test", EXCLUSION_FILE=FILE)
    assert done.status == 2
    assert done.err.splitlines() == [
        "scrapy exclude: list.txt: line 1: not a domain name: a b",
        "scrapy exclude: list.txt: line 3: not a domain name: !!",
    ]
    assert Path(FILE).read_text() == "a b\nok.test\n!!\n"


def test_a_log_that_cannot_be_read_is_an_answer(local: DrivenSqlite, exclude: Command) -> None:
    (local.directory / "fetch-20260101000000000.jsonl.gz").write_bytes(b"no gzip")
    done = exclude("a.test", EXCLUSION_FILE=FILE, JOBDIR=local.directory)
    assert done.status == 2
    assert "its compressed form is damaged" in done.err
    assert "Traceback" not in done.err
    assert not Path(FILE).exists()
