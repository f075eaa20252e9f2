"""A storage that is nearly full is told of once, shown as long as it is so, and what had no place is counted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from webcrawl.frontier.tally import Backlog, Tally
from webcrawl.storage.contract import Committed, Filling, Room

if TYPE_CHECKING:
    from collections.abc import Iterator

SCARCE = Filling(3_480_000_000, 4_000_000_000, Room.SCARCE)
FULL = Filling(3_760_000_000, 4_000_000_000, Room.FULL)
PLENTY = Filling(3_000_000_000, 4_000_000_000, Room.PLENTY)


class Heard:
    """A backlog, with what it says and how often it lets links be forgotten."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.forgotten = 0
        self.tally = Tally()
        self.backlog = Backlog(self.tally, self._forget)
        self._caplog = caplog

    def _forget(self) -> None:
        self.forgotten += 1

    def said(self, *fillings: Filling | None) -> list[str]:
        self._caplog.clear()
        for filling in fillings:
            self.backlog.update(filling)
        return self._caplog.messages


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[Heard]:
    with caplog.at_level(logging.WARNING, "webcrawl.frontier.tally"):
        yield Heard(caplog)


def test_each_thing_is_said_once(heard: Heard) -> None:
    assert heard.said(None, PLENTY) == []
    [scarce] = heard.said(SCARCE, SCARCE)
    assert "nearly full (87 % of 4,000 MB)" in scarce
    [full] = heard.said(FULL, FULL, SCARCE)
    assert "is full (94 % of 4,000 MB)" in full
    [plenty] = heard.said(PLENTY)
    assert "room in the storage again (75 % of 4,000 MB)" in plenty
    assert heard.said(SCARCE, FULL, PLENTY, SCARCE) == []


def test_it_is_shown_as_long_as_it_is_so(heard: Heard) -> None:
    shown = []
    for filling in (None, PLENTY, SCARCE, FULL, SCARCE, PLENTY, None):
        heard.said(filling)
        shown.append(heard.backlog.crowded)
    nearly, full = "87 % of 4,000 MB", "94 % of 4,000 MB"
    assert shown == [None, None, nearly, full, nearly, None, None]


def test_links_met_lately_are_looked_at_again_when_there_is_room_again(heard: Heard) -> None:
    heard.said(PLENTY, SCARCE, FULL, SCARCE)
    assert heard.forgotten == 0
    heard.said(PLENTY, PLENTY)
    assert heard.forgotten == 1


def test_what_was_pruned_may_be_offered_again() -> None:
    told: list[int] = []
    backlog = Backlog(Tally(), lambda: None, told.extend)
    backlog.committed(Committed([], 0, 5, 1))
    backlog.committed(Committed([], 2, 5, 1, may_return=[7, 8]))
    assert told == [7, 8]


def test_what_had_no_place_is_counted_by_the_rule(heard: Heard) -> None:
    heard.backlog.committed(Committed([], 0, 5, 1))
    assert (heard.tally.refusals, heard.tally.refused_by_rule) == (0, {})
    heard.backlog.committed(Committed([], 3, 5, 1, turned_away=20, crowded_out=4))
    assert heard.tally.refusals == 27
    assert heard.tally.refused_by_rule == {"queue-full": 3, "backlog-full": 24}


def test_its_figures_are_told_where_there_is_a_budget(heard: Heard) -> None:
    assert heard.backlog.figures() == {}
    heard.said(SCARCE)
    heard.backlog.committed(Committed([], 0, 5, 1, turned_away=20))
    assert heard.backlog.figures() == {
        "used_bytes": 3_480_000_000,
        "budget_bytes": 4_000_000_000,
        "backlog_full": 20,
    }
