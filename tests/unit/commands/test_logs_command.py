"""``scrapy logs``: all logs of a crawl in the order of time, and what they say of one host, by whole names."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.rows import each_row
from tests.unit.reports.log_lines import T0, line, robots
from webcrawl.reports.logs import LINE_MAX, Event, HostFilter, Logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.commands import Command


def stamped(at: float, message: str) -> str:
    moment = datetime.fromtimestamp(T0 + at, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}+0000 {message}\n"


def said(at: float, message: str, level: str = "INFO") -> str:
    return stamped(at, f"[webcrawl.part] {level}: {message}")


def failed(at: float, message: str) -> str:
    return stamped(at, message).replace(".000+", "+")


def fetched(*lines: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in lines)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A crawl of a day, with rotated logs of all kinds."""
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "crawl-20260901000000000.log.gz").write_bytes(
        gzip.compress(said(0, "The crawl begins with a.test").encode())
    )
    (folder / "crawl-20260902000000000.log").write_text(said(2, "Slow: http://www.a.test/x?from=a.test"))
    (folder / "crawl.log").write_text(
        said(20, "Excluded a.test and its subdomains, by alice@host", "WARNING")
        + said(30, "Error processing http://a.test/broken", "ERROR")
        + "    Traceback (most recent call last):\n    ValueError: \x1b[2J\n"
        + said(31, "Error processing http://nota.test/, a.test.org and mail@a.test")
    )
    (folder / "errors.log").write_text(
        failed(4, "timeout http://a.test/slow via http://b.test/")
        + failed(5, "dns http://b.test/ via http://a.test/")
    )
    (folder / "unanticipated.log").write_text(failed(30, "Error processing http://a.test/broken\nTraceback"))
    compressed = fetched(
        robots(1, crawl_delay=2.0), line(3, "/page", location="http://a.test/other", status=301)
    )
    (folder / "fetch-20260901000000000.jsonl.gz").write_bytes(gzip.compress(compressed.encode()))
    (folder / "fetch.jsonl").write_text(
        fetched(
            line(9, "/late", status=None, error="timeout", parks=2),
            line(8, "/", "www.a.test"),
            line(7, "/early"),
            line(10, "/?a.test", "b.test"),
            line(11, "/last", given_up=True, parks=3),
        )
    )
    return folder


def messages(done: Any) -> list[str]:
    assert (done.status, done.err) == (0, "")
    return [text.split("  ", 2)[2].strip() for text in done.out.splitlines() if not text.startswith("    ")]


def test_the_story_of_a_host_is_told_in_the_order_of_time(command: Callable[..., Command], job: Path) -> None:
    done = command("logs")(str(job), "--host", "A.test", POLITENESS_KEY="host")
    assert messages(done) == [
        "INFO The crawl begins with a.test",
        "robots 200  100 B in 0.500 s  http://a.test/robots.txt  rules, Crawl-delay 2 s, then 5.0 s of delay",
        "page 301  100 B in 0.500 s  http://a.test/page  to http://a.test/other, then 5.0 s of delay",
        "timeout http://a.test/slow via http://b.test/",
        "page 200  100 B in 0.500 s  http://a.test/early  then 5.0 s of delay",
        "page timeout  100 B in 0.500 s  http://a.test/late  then 5.0 s of delay, the host is parked",
        "page 200  100 B in 0.500 s  http://a.test/last  then 5.0 s of delay, the host is given up",
        "WARNING Excluded a.test and its subdomains, by alice@host",
        "ERROR Error processing http://a.test/broken",
    ]
    assert "    ValueError: \ufffd[2J\n" in done.out
    assert done.out.startswith("2026-09-21 14:13:20.000  crawl  ")


def test_a_host_is_named_by_a_url_too_and_by_its_key(command: Callable[..., Command], job: Path) -> None:
    done = command("logs")(str(job), "--host", "http://www.a.test/page", POLITENESS_KEY="domain")
    assert messages(done) == [
        "INFO The crawl begins with a.test",
        "INFO Slow: http://www.a.test/x?from=a.test",
        "page 200  100 B in 0.500 s  http://www.a.test/  then 5.0 s of delay",
        "WARNING Excluded a.test and its subdomains, by alice@host",
    ]


def test_without_a_host_everything_is_shown_and_times_select(
    command: Callable[..., Command], job: Path
) -> None:
    logs = command("logs")
    assert len(messages(logs(str(job)))) == 14
    begin = datetime.fromtimestamp(T0 + 20, UTC).isoformat()
    assert len(messages(logs(str(job), "--from", begin))) == 3
    assert len(messages(logs(JOBDIR=str(job)))) == 14
    done = logs(str(job), "--json", "--to", begin)
    found = [json.loads(text) for text in done.out.splitlines()]
    assert len(found) == 12
    assert found[0] == {
        "at": T0,
        "log": "crawl",
        "message": "The crawl begins with a.test",
        "level": "INFO",
        "logger": "webcrawl.part",
    }
    assert found[1]["request"]["crawl_delay"] == 2.0


def test_what_is_wrong_is_a_line(command: Callable[..., Command], tmp_path: Path, job: Path) -> None:
    logs = command("logs")
    (tmp_path / "empty").mkdir()
    for words, complaint in (
        ([], "which crawl?"),
        (["nowhere"], "nowhere: is no folder"),
        (["empty"], "empty: holds no logs (crawl.log"),
        (["job", "--host", "a b"], "a b: is no host such as"),
        (["job", "--from", "2026-02-01", "--to", "2026-01-01"], "--to: must be later than --from"),
    ):
        done = logs(*words)
        assert (done.status, done.out) == (2, "")
        assert complaint in done.err
        assert done.err.count("\n") == 1


def told(folders: Iterable[Path], host: HostFilter | None = None) -> tuple[list[str], list[str]]:
    """The messages of logs, and what was damaged."""
    damaged: list[str] = []
    logs = Logs(list(folders), damaged.append, host=host)
    return [event.message for event in logs.events()], damaged


def test_damaged_files_cost_no_more_than_what_is_damaged(tmp_path: Path) -> None:
    whole = gzip.compress(said(1, "one").encode() + said(2, "two " + "x" * 20_000).encode())
    (tmp_path / "crawl-20260101000000000.log.gz").write_bytes(whole[:-30])
    (tmp_path / "crawl-20260102000000000.log.gz").write_bytes(b"no gzip at all")
    (tmp_path / "crawl.log").write_bytes(
        b"\x00\xff binary\n"
        + said(3, "three \udcff").encode("utf-8", "surrogateescape")
        + b"{" * 100_000
        + b"\n"
        + said(4, "y" * (2 * LINE_MAX)).encode()
        + said(5, "five").encode()
        + said(6, "half of").encode()[:-4]
    )
    (tmp_path / "fetch.jsonl").write_text('{"start": 1}\nnull\n' + "[" * 100_000 + "\n" + fetched(line(7)))
    found, damaged = told([tmp_path])
    assert [text[:9] for text in found] == ["one", "three \ufffd", "y" * 9, "five", "page 200 "]
    assert max(map(len, found)) < LINE_MAX
    assert len(damaged) == 5


def test_lines_of_json_are_read_like_text(tmp_path: Path) -> None:
    lines = [
        {"at": T0 + 1, "level": "INFO", "logger": "x", "worker": "w", "message": "first\nmore"},
        {
            "at": T0,
            "level": "ERROR",
            "logger": "x",
            "message": "earlier",
            "exception": "Traceback\nValueError",
        },
        {"at": "never", "message": "no time"},
    ]
    (tmp_path / "crawl.log").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    logs = Logs([tmp_path], print)
    assert list(logs.events()) == [
        Event(T0, "crawl", "earlier", ["Traceback", "ValueError"], {"level": "ERROR", "logger": "x"}),
        Event(T0 + 1, "crawl", "first", ["more"], {"level": "INFO", "logger": "x", "worker": "w"}),
    ]


def test_what_is_logged_later_is_followed_over_rotations(tmp_path: Path) -> None:
    log, requests = tmp_path / "crawl.log", tmp_path / "fetch.jsonl"
    log.write_text(said(1, "one") + said(2, "tw")[:-1])
    logs = Logs([tmp_path], print)
    assert [event.message for event in logs.events(follow=True)] == ["one"]
    with log.open("a") as file:
        file.write("o\n" + said(3, "three"))
    requests.write_text(fetched(line(2.2)))
    assert [event.message[:5] for event in logs.later()] == ["two", "page ", "three"]
    assert logs.later() == []
    with log.open("a") as file:
        file.write(said(4, "four"))
    log.rename(tmp_path / "crawl-20260101000000000.log")
    assert [event.message for event in logs.later()] == ["four"]
    log.write_text(said(5, "five"))
    assert [event.message for event in logs.later()] == ["five"]
    logs.close()


@each_row(
    ("text", "names"),
    [
        ("http://a.test/x", True),
        ("fetching <GET http://a.test:8080/x>.", True),
        ("ftp://user@a.test/", True),
        ("host a.test.", True),
        ("A.TEST is parked", True),
        ("a.test:8080", True),
        ("http://b.test/?u=http://a.test/", False),
        ("www.a.test", False),
        ("a.test.org", False),
        ("nota.test", False),
        ("me@a.test", False),
        ("/var/a.test", False),
        ("http://a.test.b.test/", False),
        ("http://[::1", False),
        ("a_test", False),
    ],
)
def test_a_host_is_matched_as_a_whole_name(text: str, names: bool) -> None:
    assert HostFilter("a.test", "a.test").names(text) is names


def test_an_address_is_a_host(tmp_path: Path) -> None:
    assert HostFilter("[::1]", "[::1]").names("http://[::1]:8080/")
    assert HostFilter("127.0.0.1", "127.0.0.1").names("127.0.0.1 is away")
    assert not HostFilter("27.0.0.1", "27.0.0.1").names("127.0.0.1 is away")
