"""What a continuous crawl remembers of a page, and why it is visited again when it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.reports import units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.visits.page import Page

    Moment = Callable[[float], str]
    """A time in words."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """``why``: what the policy says to the time of the next visit."""

    page: Page
    why: str


def rows(remembered: Remembered, moment: Moment) -> Iterator[tuple[str, str]]:
    """For people: names and what there is to be said."""
    page, history = remembered.page, remembered.page.history
    changes = units.things(history.changes, "change")
    yield "visits", f"{units.count(history.visits)} since {moment(history.first_at)}; {changes} found"
    yield "last visit", moment(history.last_at)
    if history.changed_at is not None:
        yield "last change", f"found {moment(history.changed_at)}"
    if page.etag:
        yield "ETag", page.etag
    if page.last_modified:
        yield "Last-Modified", page.last_modified
    if page.gone:
        yield "gone", f"{units.things(page.gone, 'visit')} in a row"
    if page.failed:
        yield "failed", f"{units.things(page.failed, 'visit')} in a row"
    yield "next visit", moment(page.next_visit_at)
    yield "because", remembered.why


def as_object(remembered: Remembered | None) -> dict[str, Any] | None:
    """For programs: plain values."""
    if remembered is None:
        return None
    page, history = remembered.page, remembered.page.history
    return {
        "visits": history.visits,
        "changes": history.changes,
        "first_at": history.first_at,
        "last_at": history.last_at,
        "changed_at": history.changed_at,
        "etag": page.etag,
        "last_modified": page.last_modified,
        "digest": page.digest.hex(),
        "gone": page.gone,
        "failed": page.failed,
        "next_visit_at": page.next_visit_at,
        "why": remembered.why,
    }
