"""``scrapy crawls`` lists the crawls of a folder and removes them; ``scrapy status`` shows one."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from webcrawl.control import folders
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.errors import JobdirLocked
from webcrawl.reports import progress_log, run_log
from webcrawl.reports.run_log import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.commands import Command, Done
    from tests.contract.driven import DrivenSqlite
    from tests.contract.sample_crawl import SampleCrawl

T0 = 1_790_000_000.0
DEAD = "{time} dns http://{host}/robots.txt (CannotResolveHostError: {host}: no such name)\n"


@pytest.fixture
def crawls(command: Callable[..., Command]) -> Command:
    return command("crawls")


@pytest.fixture
def status(command: Callable[..., Command]) -> Command:
    return command("status")


def made(root: Path, name: str, begun: float = 0.0, ended: str | None = "finished", *pages: int) -> Path:
    """A folder with one run, and a line of progress ten seconds apart for each number of pages."""
    folder = root / "crawls" / name
    folder.mkdir(parents=True)
    run_log.begin(folder, Run(T0 + begun, "broad", "w1"))
    for number, count in enumerate(pages, 1):
        line = {
            "at": T0 + begun + 10 * number,
            "worker": "w1",
            "run": T0 + begun,
            "pages": count,
            "bytes": 2_000_000,
        }
        stand = {"cpu_seconds": 1.0, "queued": 3, "hosts": 1, "active": 0}
        progress_log.append(folder / progress_log.NAME, line | stand)
    if ended is not None:
        run_log.end(folder, T0 + begun + 30, ended)
    return folder


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A crawl whose folder is held, by this process."""
    folder = made(tmp_path, "running", 200, None)
    jobdir = Jobdir(folder)
    jobdir.hold()
    yield folder
    jobdir.leave()


def refused(done: Done) -> str:
    assert (done.status, done.out) == (2, "")
    [line] = done.err.splitlines()
    return line.partition(": ")[2]


def test_crawls_are_listed_in_the_order_in_which_they_began(
    crawls: Command, tmp_path: Path, running: Path, stopped_crawl: DrivenSqlite
) -> None:
    made(tmp_path, "second", 100, None, 40)
    made(tmp_path, "first", 0, "finished", 1234)
    (tmp_path / "crawls/notes").mkdir()
    stopped_crawl.directory.rename(tmp_path / "crawls/old")
    head, *rows = (line.split() for line in crawls().said.splitlines())
    assert head[:3] == ["name", "spider", "state"]
    assert [row[0] for row in rows] == ["old", "first", "second", "running"]
    assert rows[0][2:5] == ["not", "running", "3"]
    assert rows[0][-1] == "yes"
    assert rows[1][1:6] == ["broad", "finished", "2026-09-21", "14:13:20", "1,234"]
    assert rows[2][2] == "killed"
    assert rows[3][2] == "running"


def test_programs_get_the_list_as_json(crawls: Command, tmp_path: Path) -> None:
    made(tmp_path, "first", 0, "shutdown", 7)
    found = crawls(str(tmp_path / "crawls"), "--json").told
    assert found["folder"] == str(tmp_path / "crawls")
    [one] = found["crawls"]
    assert one.pop("moved") is None
    assert one.pop("size_bytes") > 0
    assert one == {
        "name": "first",
        "path": str(tmp_path / "crawls/first"),
        "spider": "broad",
        "state": "ended",
        "reason": "shutdown",
        "begun_at": T0,
        "ended_at": T0 + 30,
        "crawl": None,
        "queued": None,
        "resumable": None,
        "pages": 7,
    }


def test_a_folder_that_cannot_be_read_does_not_hide_the_others(crawls: Command, tmp_path: Path) -> None:
    made(tmp_path, "first", 0, "finished", 7)
    (tmp_path / "crawls/odd" / run_log.NAME).mkdir(parents=True)
    (tmp_path / "crawls/odd/spider").write_text("broad\n")
    _, odd, first = (line.split() for line in crawls().said.splitlines())
    assert (odd[:3], odd[-1]) == (["odd", "?", "unknown"], "unreadable")
    assert first[:3] == ["first", "broad", "finished"]
    assert [one["pages"] for one in crawls("--json").told["crawls"]] == [None, 7]


def test_a_folder_without_crawls_is_named(crawls: Command) -> None:
    assert crawls().said == "There is no crawl in crawls/.\n"


@pytest.mark.parametrize("name", ["first", "crawls/first/"])
def test_a_crawl_is_removed_with_all_that_it_fetched(crawls: Command, tmp_path: Path, name: str) -> None:
    folder, other = made(tmp_path, "first"), made(tmp_path, "other")
    (folder / "warc").mkdir()
    (folder / "warc/1.warc.gz").write_bytes(b"x")
    assert crawls("--remove", name, "--yes").said.startswith("crawls/first is removed, ")
    assert not folder.exists()
    assert other.exists()


def test_a_running_crawl_is_not_removed_and_nothing_else_either(
    crawls: Command, tmp_path: Path, running: Path
) -> None:
    first = made(tmp_path, "first")
    done = crawls("--remove", "first", "--remove", "running", "--yes")
    assert refused(done) == "--remove: crawls/running is running; stop it first"
    assert first.exists()
    assert running.exists()


def test_a_crawl_that_is_started_again_runs_before_that_is_on_record(
    crawls: Command, status: Command, tmp_path: Path
) -> None:
    jobdir = Jobdir(made(tmp_path, "again", 0, "shutdown", 10))
    jobdir.hold()
    try:
        for held_at, state, reason in ((T0 + 20, "ended", "shutdown"), (T0 + 40, "running", None)):
            os.utime(jobdir.path / "lock", (held_at, held_at))
            shown = json.loads(status(str(jobdir.path), "--json").out)
            assert (shown["state"], shown["reason"], shown["ended_at"] is None) == (
                state,
                reason,
                reason is None,
            )
        assert status(str(jobdir.path)).out.startswith(f"{jobdir.path}: running (process {os.getpid()})\n")
        assert refused(crawls("--remove", "again", "--yes")).endswith("is running; stop it first")
    finally:
        jobdir.leave()


def test_one_that_begins_meanwhile_is_not_removed(tmp_path: Path, running: Path) -> None:
    with pytest.raises(JobdirLocked):
        folders.remove(running)
    assert (running / run_log.NAME).exists()


def test_a_link_is_not_followed(crawls: Command, tmp_path: Path) -> None:
    elsewhere = made(tmp_path / "elsewhere", "first")
    (tmp_path / "crawls").mkdir()
    (tmp_path / "crawls/link").symlink_to(elsewhere)
    assert "is a link" in refused(crawls("--remove", "link", "--yes"))
    assert (elsewhere / run_log.NAME).exists()


@pytest.mark.parametrize(("answer", "removed"), [("y\n", True), ("yes\n", True), ("\n", False), ("", False)])
def test_on_a_terminal_it_asks_first(
    crawls: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, removed: bool
) -> None:
    folder = made(tmp_path, "first")
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    done = crawls("--remove", "first")
    assert "Remove crawls/first (" in done.err
    assert (done.status, folder.exists()) == (0 if removed else 1, not removed)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--remove", "frist", "--yes"], "--remove: frist is no crawl in crawls/; did you mean first?"),
        (["--remove", "../first", "--yes"], "--remove: ../first is no crawl in crawls/; did you mean first?"),
        (["--remove", "first"], "--remove: needs --yes: there is no terminal on which to ask"),
        (["--yes"], "--yes: is for --remove NAME"),
        (["nowhere"], "nowhere: is no folder"),
        (["first"], "first: is no folder; scrapy status crawls/first shows a crawl"),
        (["remove", "first"], "remove: is no folder; a crawl is removed with --remove first"),
        ([""], "'': is an empty argument; see scrapy crawls -h"),
        (["crawls", "more"], "more: is one argument too many; give one folder of crawls"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    crawls: Command, tmp_path: Path, words: list[str], line: str
) -> None:
    folder = made(tmp_path, "first")
    assert refused(crawls(*words)) == line
    assert folder.exists()


# -- one crawl -----------------------------------------------------------------------------------------------


def test_the_status_of_a_folder_has_state_rates_and_last_errors(status: Command, tmp_path: Path) -> None:
    folder = made(tmp_path, "first", 0, None, 100, 150)
    (folder / folders.ERRORS).write_text(
        "".join(
            DEAD.format(time=f"2026-09-21T14:13:2{number}+0000", host=f"h{number}.test")
            for number in range(9)
        )
    )
    lines = status("crawls/first").said.splitlines()
    assert lines[0] == "crawls/first: killed: its last run has no end on record"
    assert "pages    150, 2.0 MB received, 7.5/s mean of the last run" in lines
    assert lines[-5:] == [
        f"  2026-09-21 14:13:2{number} UTC  dns  http://h{number}.test/robots.txt" for number in range(4, 9)
    ]
    found = status("crawls/first", "--json").told
    assert (found["state"], found["pages"], found["pages_per_second"]) == ("killed", 150, 5.0)
    assert found["last_errors"][-1] == {
        "at": "2026-09-21T14:13:28+0000",
        "error": "dns",
        "url": "http://h8.test/robots.txt",
        "detail": "(CannotResolveHostError: h8.test: no such name)",
    }


def test_the_status_of_a_stopped_and_of_a_running_crawl(
    status: Command, stopped_crawl: DrivenSqlite, running: Path
) -> None:
    folder = str(stopped_crawl.directory)
    for done in (status(folder), status(JOBDIR=folder)):
        assert done.said.startswith(f"{folder}: not running\n")
        assert "\nURLs     3 queued, 0 done, 0 failed, 0 refused\n" in done.said
        assert "\nresume   the command that began it resumes it\n" in done.said
    assert status(folder, "--json").told["urls"] == {"queued": 3, "done": 0, "failed": 0, "refused": 0}
    assert status(str(running)).said.startswith(f"{running}: running (process ")


def test_the_status_of_a_running_crawl_has_the_memory_of_each_of_its_processes(
    status: Command, running: Path
) -> None:
    used = {"crawl": 200_000_000, "parsing.reader": 50_000_000}
    line = {"at": T0 + 210, "worker": "w1", "run": T0 + 200, "pages": 1, "bytes": 1, "cpu_seconds": 1.0}
    stand = {"queued": 3, "hosts": 1, "active": 0, "memory": used}
    progress_log.append(running / progress_log.NAME, line | stand)
    assert "memory   250 MB resident: crawl 200 MB, parsing.reader 50.0 MB" in status(str(running)).said
    assert status(str(running), "--json").told["memory"] == used


@pytest.mark.parametrize(
    ("reason", "state", "more"),
    [
        ("finished", "finished", ""),
        ("shutdown", "stopped", ""),
        ("stopped", "stopped", " with the whole crawl"),
        ("forced", "stopped", " by force"),
        ("closespider_pagecount", "limit reached", " (CLOSESPIDER_PAGECOUNT)"),
        ("storage_lost", "errors", ": it could no longer store its state and ended"),
        ("of_its_spider", "ended", " (of_its_spider)"),
    ],
)
def test_how_a_crawl_ended_is_said_in_the_same_words(
    status: Command, crawls: Command, tmp_path: Path, reason: str, state: str, more: str
) -> None:
    made(tmp_path, "first", 0, reason)
    assert status("crawls/first").said.startswith(f"crawls/first: {state}{more}, 2026-09-21 14:13:50 UTC\n")
    assert f"  {state}  2026-09-21 " in crawls().said


def test_a_shared_crawl_is_named_by_its_url(sample: SampleCrawl, status: Command) -> None:
    sample.report("w1", sample.server_now() + 30)
    url = sample.driven.url
    for done in (status(url), status(REDIS_URL=url)):
        assert ": 1 worker running\n\nURLs   329 queued, 2 done, 1 failed, 1 refused\n" in done.said
    assert json.loads(status(url, "--json").said)["urls"]["queued"] == 329


def test_the_folder_of_a_worker_names_its_crawl(status: Command, tmp_path: Path) -> None:
    folder = tmp_path / "w1"
    folder.mkdir()
    run_log.begin(folder, Run(T0, "broad", "w1", crawl="broad on Redis at h:1"))
    assert "of broad on Redis at h:1: scrapy status REDIS_URL shows the whole crawl" in status("w1").said


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere"], "nowhere is no folder"),
        (["."], ". is no folder of a crawl"),
        (["a", "b"], "b: is one argument too many; give one JOBDIR or REDIS_URL"),
        ([], "which crawl? give -s REDIS_URL=... for one on Redis, or -s JOBDIR=DIR"),
        (["redis://127.0.0.1:1"], "cannot be reached"),
    ],
)
def test_what_is_no_crawl_is_said_in_a_line(status: Command, words: list[str], line: str) -> None:
    assert line in refused(status(*words))
