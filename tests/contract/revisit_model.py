"""A model of the store of pages to revisit, in plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webcrawl.features.revisits.store import DOUBLINGS, Hint, RevisitStatus, VisitStore
from webcrawl.storage.tables import DuePartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.revisits.page import PageId, RevisitedPage


@dataclass(slots=True)
class _Key:
    pages: dict[int, RevisitedPage] = field(default_factory=dict)
    out: set[int] = field(default_factory=set)
    """Pages that were taken; ``next_visit_at`` is when they are due again."""
    at: float = 0.0
    unacknowledged: int = 0
    """Number of times that pages were taken since the result of one was last stored."""

    def reckon(self) -> None:
        self.at = min((page.next_visit_at for page in self.pages.values()), default=0.0)


class VisitModel(VisitStore):
    """Does what the store has to do with pages."""

    def __init__(self) -> None:
        self._keys: dict[str, _Key] = {}

    async def find(self, ids: Sequence[PageId]) -> list[RevisitedPage | None]:
        return [self._find(key, fingerprint) for key, fingerprint in ids]

    def _find(self, key: str, fingerprint: int) -> RevisitedPage | None:
        held = self._keys.get(key)
        return None if held is None else held.pages.get(fingerprint)

    async def keep(self, pages: Sequence[RevisitedPage], dropped: Sequence[PageId] = ()) -> None:
        for page in pages:
            self._keys.setdefault(page.key, _Key()).pages[page.fingerprint] = page
        for key, fingerprint in dropped:
            if key in self._keys:
                self._keys[key].pages.pop(fingerprint, None)
        for key, fingerprint in [*(page.id for page in pages), *dropped]:
            if (held := self._keys.get(key)) is not None:
                if fingerprint in held.out:
                    held.out.remove(fingerprint)
                    held.unacknowledged = 0
                held.reckon()
                if not held.pages:
                    del self._keys[key]

    async def due_keys(self, now: float, most: int, after: DuePartition | None = None) -> list[DuePartition]:
        due = sorted(DuePartition(held.at, key) for key, held in self._keys.items() if held.at <= now)
        return [one for one in due if after is None or one > after][:most]

    async def take(self, keys: Sequence[str], now: float, seconds: float, most: int) -> list[RevisitedPage]:
        known = (self._keys[key] for key in keys if key in self._keys)
        return [page for held in known for page in _take(held, now, seconds, most)]

    async def hint(self, hints: Sequence[Hint]) -> list[bool]:
        return [self._hint(*hint) for hint in hints]

    def _hint(self, key: str, fingerprint: int, at: float) -> bool:
        page = self._find(key, fingerprint)
        if page is None:
            return False
        held = self._keys[key]
        if fingerprint not in held.out and at < page.next_visit_at:
            held.pages[fingerprint] = replace(page, next_visit_at=at)
            held.reckon()
        return True

    async def status(self, now: float) -> RevisitStatus:
        held = self._keys.values()
        pages = (page for one in held for page in one.pages.values())
        due = sum(page.next_visit_at <= now for page in pages)
        next_at = min((one.at for one in held), default=None)
        return RevisitStatus(sum(len(one.pages) for one in held), due, next_at)


def _take(held: _Key, now: float, seconds: float, most: int) -> list[RevisitedPage]:
    held.out = {mark for mark in held.out if held.pages[mark].next_visit_at > now}
    due = sorted((page.next_visit_at, mark) for mark, page in held.pages.items() if page.next_visit_at <= now)
    taken = [held.pages[mark] for _, mark in due[: max(most - len(held.out), 0)]]
    until = now + seconds * 2.0 ** min(held.unacknowledged, DOUBLINGS)
    held.unacknowledged += bool(taken)
    for page in taken:
        held.pages[page.fingerprint] = replace(page, next_visit_at=until)
        held.out.add(page.fingerprint)
    held.reckon()
    if len(held.out) >= most:
        held.at = min(held.pages[mark].next_visit_at for mark in held.out)
    return taken
