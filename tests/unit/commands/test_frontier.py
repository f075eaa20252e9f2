"""``scrapy frontier``: what it says, and with which status it ends."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.commands import own_process
from tests.contract.driven import DrivenSqlite
from tests.contract.sample_crawl import SampleCrawl
from webcrawl.crawl.jobdir import Jobdir

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands import Command, Done


ROOT = Path(__file__).parents[3]


@pytest.fixture
def frontier(command: Callable[..., Command]) -> Command:
    return command("frontier")


@pytest.fixture
def frontier_process(tmp_path: Path) -> Command:
    """Gives the command in an empty folder, in a process of its own."""
    return partial(own_process, tmp_path, "frontier")


def refused(done: Done) -> str:
    """The only line of a command that did nothing."""
    assert (done.status, done.out) == (2, ""), done.err
    [line] = done.err.splitlines()
    return line.removeprefix("scrapy frontier: ")


# -- on Redis ------------------------------------------------------------------------------------------------


def test_a_shared_crawl_is_shown_paused_resumed_and_stopped(sample: SampleCrawl, frontier: Command) -> None:
    where = f"broad on Redis at 127.0.0.1:{sample.driven.url.rpartition(':')[2]}"
    sample.report("w1", sample.server_now() + 30)

    status = frontier("status", REDIS_URL=sample.driven.url)
    assert (status.status, status.err) == (0, "")
    assert status.out.startswith(
        f"{where}: 1 worker running\n\nURLs   329 queued, 2 done, 1 failed, 1 refused\n"
    )
    assert "\nw1 " in status.out

    paused = frontier("pause", REDIS_URL=sample.driven.url)
    assert (paused.status, paused.err) == (0, "")
    assert paused.out.startswith(
        f"{where} is asked to pause: 1 worker running (w1). Open requests are finished"
    )
    assert "paused by its operator" in frontier("status", REDIS_URL=sample.driven.url).out
    assert "was paused already" in frontier("pause", REDIS_URL=sample.driven.url).out

    resumed = frontier("resume", REDIS_URL=sample.driven.url)
    assert resumed.out == f"{where} is asked to go on: 1 worker running (w1)\n"

    stopped = frontier("stop", REDIS_URL=sample.driven.url)
    assert stopped.out.startswith(
        f"{where} is asked to stop: 1 worker running (w1). Open requests are finished;"
    )
    assert "stopped by its operator" in frontier("status", REDIS_URL=sample.driven.url).out


def test_commands_to_nobody_say_so(sample: SampleCrawl, frontier: Command) -> None:
    sample.client.delete("broad:workers")
    paused = frontier("pause", "--wait", REDIS_URL=sample.driven.url)
    assert "is paused: no worker is running, and fetches nothing when it is started" in paused.out
    stopped = frontier("stop", "--wait", REDIS_URL=sample.driven.url)
    assert "is not running: there is nothing to stop" in stopped.out
    assert "paused by its operator" in frontier("status", REDIS_URL=sample.driven.url).out
    assert {paused.status, stopped.status} == {0}


def test_the_books_are_checked_and_mended(sample: SampleCrawl, frontier: Command) -> None:
    url = sample.driven.url
    agreed = frontier("check", REDIS_URL=url)
    assert (agreed.status, agreed.err) == (0, "")
    assert "332 URLs known, 329 queued, 4 hosts\nEverything agrees" in agreed.out

    sample.forget(sample.short[1])
    wrong = frontier("check", "--json", REDIS_URL=url)
    assert wrong.status == 1
    assert json.loads(wrong.out)["left"]["queued-unknown"]["examples"] == [
        {"subject": sample.short[1].url, "detail": "", "where": "shard 0"}
    ]
    repaired = frontier("check", "--repair", REDIS_URL=url)
    assert repaired.status == 0
    assert "2 things did not agree and were repaired:" in repaired.out
    assert "  1  URL is queued, but not known" in repaired.out
    assert "Everything agrees" in repaired.out


def test_nothing_is_mended_while_a_worker_is_at_work(sample: SampleCrawl, frontier: Command) -> None:
    sample.report("w1", sample.server_now() + 30)
    line = refused(frontier("check", "--repair", REDIS_URL=sample.driven.url))
    assert line.startswith("nothing is repaired while a worker is running (w1)")


def test_a_crawl_that_does_not_exist_is_no_crawl(sample: SampleCrawl, frontier: Command) -> None:
    for verb in ("status", "check", "stop"):
        line = refused(frontier(verb, "--spider", "other", REDIS_URL=sample.driven.url))
        assert line.startswith("there is no crawl 'other' on Redis at 127.0.0.1:")


def test_scrapy_redis_own_settings_say_where_it_is(sample: SampleCrawl, frontier: Command) -> None:
    port = sample.driven.url.rpartition(":")[2].partition("/")[0]
    done = frontier("status", "--json", FRONTIER_BACKEND="redis", REDIS_HOST="127.0.0.1", REDIS_PORT=port)
    assert json.loads(done.out)["urls"]["queued"] == 329


def test_a_redis_that_cannot_be_reached_is_told_in_one_line(frontier: Command) -> None:
    line = refused(frontier("status", REDIS_URL="redis://user:secret@127.0.0.1:1/0"))
    assert line.startswith("Redis at 127.0.0.1:1/0 cannot be reached:")
    assert "secret" not in line


# -- in a JOBDIR ---------------------------------------------------------------------------------------------


def test_a_crawl_of_one_process_is_shown_and_checked(stopped_crawl: DrivenSqlite, frontier: Command) -> None:
    status = frontier("status", JOBDIR=stopped_crawl.directory)
    assert (status.status, status.err) == (0, "")
    assert status.out.startswith(
        f"the crawl in {stopped_crawl.directory}: not running\n\nURLs   3 queued, 0 done, 0 failed, 0 refused\n"
    )
    check = frontier("check", JOBDIR=stopped_crawl.directory)
    assert (check.status, check.err) == (0, "")
    assert "3 URLs known, 3 queued, 1 hosts\nEverything agrees" in check.out


def test_its_books_are_mended_when_it_does_not_run(stopped_crawl: DrivenSqlite, frontier: Command) -> None:
    with closing(sqlite3.connect(stopped_crawl.path, isolation_level=None)) as connection:
        connection.execute("UPDATE totals SET queued = 9")
    jobdir = Jobdir(stopped_crawl.directory)
    jobdir.hold()
    running = frontier("status", JOBDIR=stopped_crawl.directory)
    assert f": running (process {os.getpid()}), last heartbeat" in running.out
    assert "is in use by process" in refused(frontier("check", "--repair", JOBDIR=stopped_crawl.directory))
    jobdir.leave()

    assert frontier("check", JOBDIR=stopped_crawl.directory).status == 1
    assert frontier("check", "--repair", JOBDIR=stopped_crawl.directory).status == 0
    assert frontier("check", JOBDIR=stopped_crawl.directory).status == 0


def test_a_crawl_of_one_process_takes_the_same_commands(
    stopped_crawl: DrivenSqlite, frontier: Command
) -> None:
    where = f"the crawl in {stopped_crawl.directory}"
    assert frontier("stop", JOBDIR=stopped_crawl.directory).said == (
        f"{where} is not running: there is nothing to stop\n"
    )
    assert f"{where} is paused: it is not running" in frontier("pause", JOBDIR=stopped_crawl.directory).said
    assert "will go on" in frontier("resume", "--wait", JOBDIR=stopped_crawl.directory).said


@pytest.mark.parametrize("words", [["status"], ["check"], ["check", "--repair"]])
def test_a_folder_without_a_crawl_is_refused_and_nothing_is_made(
    frontier: Command, tmp_path: Path, words: list[str]
) -> None:
    assert "is no crawl with a frontier on disk" in refused(frontier(*words, JOBDIR=tmp_path / "none"))
    assert not (tmp_path / "none").exists()


# -- wrong commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "settings", "line"),
    [
        (["stauts"], {}, "stauts: is no subcommand of frontier; did you mean status?"),
        (
            ["begin"],
            {},
            "begin: is no subcommand of frontier; there are status, pause, resume, stop, check",
        ),
        (["status", "broad"], {}, "broad: is one argument too many after status"),
        (["status", "."], {}, ".: is one argument too many after status; a crawl is given as -s JOBDIR=."),
        (
            ["--force"],
            {},
            "--force: is no option of this command; see scrapy frontier -h",
        ),
        (["status", "--repair"], {}, "--repair: is for check, not for status"),
        (["check", "--wait"], {}, "--wait: is for pause and resume and stop, not for check"),
        (["status"], {"REDIS_ULR": "x"}, "REDIS_ULR: is not a setting; did you mean REDIS_URL?"),
        (["status"], {}, "which crawl? give -s REDIS_URL=... for one on Redis, or -s JOBDIR=DIR"),
        (
            ["status"],
            {"FRONTIER_BACKEND": "memory"},
            "a crawl with FRONTIER_BACKEND=memory cannot be inspected from outside",
        ),
    ],
)
def test_what_is_wrong_with_the_command_is_told_in_one_line(
    frontier: Command, words: list[str], settings: dict[str, str], line: str
) -> None:
    assert refused(frontier(*words, **settings)) == line


def test_without_a_word_it_says_which_there_are(frontier: Command) -> None:
    assert refused(frontier()) == "no command; give status, pause, resume, stop or check"


# -- as a process --------------------------------------------------------------------------------------------


def test_its_status_is_the_process_s(sample: SampleCrawl, frontier_process: Command) -> None:
    url = sample.driven.url
    agreed = frontier_process("check", REDIS_URL=url)
    assert (agreed.status, agreed.err) == (0, "")
    assert "Everything agrees" in agreed.out
    sample.forget(sample.short[1])
    assert frontier_process("check", REDIS_URL=url).status == 1
    assert frontier_process("check", "--repair", REDIS_URL=url).status == 0


@pytest.mark.slow
def test_what_is_wrong_ends_the_process_with_2_and_a_line(frontier_process: Command) -> None:
    assert refused(frontier_process("stauts")).startswith("stauts: is no subcommand")
    assert "cannot be reached" in refused(frontier_process("status", REDIS_URL="redis://127.0.0.1:1"))
