"""The live display says what a person wants to know, and draws without a terminal in tests."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from tests.unit.reports.figures import snapshot
from webcrawl import fetch_errors
from webcrawl.extensions.progress import LastErrors, shows_display, table
from webcrawl.reports.limiting import Bottleneck, Bound, Estimate
from webcrawl.reports.live import RecentError, fitted, rows
from webcrawl.reports.pace import Limit, Reading


def reading(**changed: Any) -> Reading:
    given: dict[str, Any] = {
        "pages": 12_345,
        "pages_rate": 807.0,
        "pages_rate_mean": 790.0,
        "bytes": 10,
        "bytes_rate": 23_400_000.0,
        "errors": 7,
        "elapsed_seconds": 83.0,
        "left_seconds": None,
        "next_seconds": None,
        "frontier": snapshot(queued=1_000_000, known_hosts=900, active_hosts=80, ready_hosts=3, in_flight=64),
    }
    return Reading(**(given | changed))


def drawn(shown: Reading, width: int = 100, *failures: RecentError) -> str:
    output = io.StringIO()
    Console(file=output, width=width, force_terminal=False).print(
        table("broad  crawls/x", shown, failures, 100.0, width=width)
    )
    return output.getvalue()


def shown_of(found: Reading, *failures: RecentError) -> dict[str, str]:
    """The rows as text, by name."""
    return {row.name: row.joint.join(part.text for part in row.parts) for row in rows(found, failures, 100.0)}


def test_everything_is_on_the_display() -> None:
    text = drawn(reading(statuses={2: 12_000, 5: 345}, refused=80, refused_by_rule={"robots": 80}, robots=41))
    for expected in (
        "broad  crawls/x", "12,345", "807/s now", "790/s mean", "23.4 MB/s", "1,000,000 URLs", "64 in flight",
        "900 known", "80 active", "3 ready", "7", "1 min 23 s", "2xx 12,000", "5xx 345", "robots 80", "41 fetched",
    ):  # fmt: skip
        assert expected in text


def test_lines_that_say_nothing_are_left_out() -> None:
    assert {"limit", "stalled", "hint", "status", "last errors"}.isdisjoint(shown_of(reading()))
    shown = shown_of(
        reading(
            left_seconds=60.0,
            limit=Limit(0.5, "50 of 100 pages"),
            next_seconds=5.0,
            frontier=snapshot(stalled="disk full", active_hosts=1),
        )
    )
    assert shown["limit"] == f"{'━' * 15}{'┄' * 15} 50 %   50 of 100 pages   1 min 00 s left"
    assert (shown["now"], shown["stalled"]) == ("waiting   next host in 5.0 s", "disk full")


def test_the_display_says_what_the_crawl_does() -> None:
    for found, words in (
        (snapshot(in_flight=3), "fetching"),
        (snapshot(ready_hosts=3), "starting the next requests"),
        (snapshot(unsettled=3), "waiting for pages to be stored"),
        (snapshot(), "nothing to fetch at this moment"),
    ):
        assert shown_of(reading(frontier=found))["now"] == words
    bound = Bottleneck(Bound.HOSTS, "limited by hosts (3 of 286 hosts have URLs)", "Few hosts have URLs.")
    ends = Estimate(28_560.0, True, "At least 7 h 56 min to go.")
    fetches = shown_of(reading(frontier=snapshot(in_flight=3), verdict=bound, ends=ends))
    assert fetches["now"] == f"fetching   {bound.short}   at least 7 h 56 min to go"
    waits = shown_of(reading(next_seconds=5.0, verdict=bound))
    assert waits["now"] == f"{bound.short}   next host in 5.0 s"
    for found, words in (
        (snapshot(in_flight=1, ready_hosts=3), "stopping: waiting for 1 open request"),
        (snapshot(unsettled=2, ready_hosts=3), "stopping: 2 pages being stored"),
        (snapshot(ready_hosts=3), "stopping"),
    ):
        closing = reading(frontier=found, is_closing=True)
        assert shown_of(closing)["now"] == words
        assert words in closing.line()
    assert shown_of(reading(next_seconds=0.01, frontier=snapshot()))["now"].endswith("next host now")
    assert "ready" not in shown_of(reading(frontier=snapshot(active_hosts=2)))["hosts"]


def test_the_last_errors_name_their_urls_the_latest_first() -> None:
    failures = [
        RecentError(40.0, "dns", "http://a.test/\x1b[31m"),
        RecentError(97.5, "timeout", "http://b.test/x"),
    ]
    lines = drawn(reading(), 100, *failures).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("last errors"))
    assert [line.strip() for line in lines[at : at + 2]] == [
        "last errors  2.5 s ago   timeout http://b.test/x",
        "1 min 00 s ago   dns http://a.test/�[31m",
    ]


def test_on_a_shared_crawl_what_is_the_whole_crawl_s_has_a_line() -> None:
    of_all = {"queued": 9, "known_hosts": 5, "parked_hosts": 3, "given_up_hosts": 1}
    shown = shown_of(
        reading(frontier=snapshot(**of_all, active_hosts=2, ready_hosts=1, in_flight=6, workers=4))
    )
    assert shown["hosts"] == "2 active   1 ready   6 in flight"
    assert shown["whole crawl"] == "4 workers   9 URLs queued   hosts: 5 known   3 parked   1 given up"
    assert "queued" not in shown


def test_a_backlog_without_room_is_shown() -> None:
    shown = shown_of(reading(frontier=snapshot(crowded="87 % of 4,000 MB")))
    assert shown["backlog full"] == "87 % of 4,000 MB"
    assert "backlog full" not in shown_of(reading())


def test_hosts_that_need_a_look_are_named() -> None:
    stands = snapshot(known_hosts=9, parked_hosts=2, given_up_hosts=1, last_parked="a.test")
    shown = shown_of(reading(frontier=stands, slow=("b.test", 43.0)))
    assert shown["hosts"].endswith("2 parked (last: a.test)   1 given up   slow: b.test for 43.0 s")


def test_a_narrow_terminal_gets_figures_whole_on_further_lines() -> None:
    wide, narrow = drawn(reading()), drawn(reading(), width=50)
    assert all(len(line) <= 50 for line in narrow.splitlines())
    assert len(narrow.splitlines()) > len(wide.splitlines())
    assert wide.split() == narrow.split()


@pytest.mark.parametrize("height", [6, 10, 16])
def test_a_low_terminal_keeps_what_matters_most(height: int) -> None:
    failures = [RecentError(0.0, "dns", "http://a.test/")] * 3
    found = rows(reading(statuses={2: 1}, hint="wait", frontier=snapshot(stalled="paused")), failures, 0.0)
    lines = fitted(found, 80, height)
    assert len(lines) <= height
    assert {"pages", "now", "stalled"} <= {name for name, _ in lines}
    assert len(fitted(found, 80, 99)) == len(found)


def test_errors_and_parked_hosts_are_coloured_unless_no_color_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def codes() -> set[str]:
        output = io.StringIO()
        console = Console(file=output, width=100, force_terminal=True, color_system="standard")
        console.print(table("x", reading(frontier=snapshot(parked_hosts=1))))
        return {code for code in ("\x1b[31m", "\x1b[33m") if code in output.getvalue()}

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert codes() == {"\x1b[31m", "\x1b[33m"}
    monkeypatch.setenv("NO_COLOR", "1")
    assert codes() == set()


def test_the_last_errors_are_those_of_the_log_of_errors() -> None:
    handler = LastErrors()
    fetch_errors.LOGGER.addHandler(handler)
    try:
        for number in range(5):
            fetch_errors.note("dns", f"http://a.test/{number}", detail="no such name")
    finally:
        fetch_errors.LOGGER.removeHandler(handler)
    assert [(one.word, one.url) for one in handler.last] == [
        ("dns", f"http://a.test/{number}") for number in (2, 3, 4)
    ]


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("choice", "terminal", "term", "wanted"),
    [
        ("auto", True, "xterm", True),
        ("auto", True, "dumb", False),
        ("auto", False, "xterm", False),
        ("on", False, "xterm", True),
        ("off", True, "xterm", False),
    ],
)
def test_auto_means_where_a_person_looks(
    choice: str, terminal: bool, term: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    assert shows_display(choice, Stream(terminal)) is wanted
