"""The live display says what a person wants to know, and draws without a terminal in tests."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from tests.unit.reports.figures import snapshot
from webcrawl.extensions.progress import _wanted, rows, table
from webcrawl.reports.pace import Reading


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


def drawn(shown: Reading, width: int = 100) -> str:
    output = io.StringIO()
    Console(file=output, width=width, force_terminal=False).print(table("broad  crawls/x", shown))
    return output.getvalue()


def test_everything_is_on_the_display() -> None:
    text = drawn(reading())
    for expected in (
        "broad  crawls/x", "12,345", "807/s now", "790/s mean", "23.4 MB/s", "1,000,000 URLs", "64 in flight",
        "900 known", "80 active", "3 ready", "7", "1 min 23 s",
    ):  # fmt: skip
        assert expected in text


def test_lines_that_say_nothing_are_left_out() -> None:
    assert {"left", "stalled", "waiting"}.isdisjoint(dict(rows(reading())))
    shown = dict(rows(reading(left_seconds=60.0, next_seconds=5.0, frontier=snapshot(stalled="disk full"))))
    assert (shown["left"], shown["waiting"], shown["stalled"]) == (
        "1 min 00 s",
        "next host in 5.0 s",
        "disk full",
    )


def test_on_a_shared_crawl_what_is_the_whole_crawl_s_has_a_line() -> None:
    of_all = {"queued": 9, "known_hosts": 5, "parked_hosts": 3, "given_up_hosts": 1}
    shown = dict(
        rows(reading(frontier=snapshot(**of_all, active_hosts=2, ready_hosts=1, in_flight=6, workers=4)))
    )
    assert shown["hosts"] == "2 active   1 ready   6 in flight"
    assert shown["whole crawl"] == "4 workers   9 URLs queued   hosts: 5 known   3 parked, 1 given up"
    assert "queued" not in shown


def test_a_backlog_without_room_is_shown() -> None:
    shown = dict(rows(reading(frontier=snapshot(crowded="87 % of 4,000 MB"))))
    assert shown["backlog full"] == "87 % of 4,000 MB"
    assert "backlog full" not in dict(rows(reading()))


def test_a_narrow_terminal_gets_no_wrapped_lines() -> None:
    assert len(drawn(reading(), width=30).splitlines()) == len(drawn(reading()).splitlines())


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
    assert _wanted(choice, Stream(terminal)) is wanted
