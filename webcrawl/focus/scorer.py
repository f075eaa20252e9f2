"""Levels for the frontier: it asks about links when they are found, and again while they are queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.focus.learner import Learner
    from webcrawl.frontier.records import UrlEntry


_PAGE = str(Kind.PAGE)


class LinkScorer:
    """A ``frontier.order.Scorer``. Seeds, robots.txt, sitemaps and ordinary Requests stay where they are."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    @property
    def version(self) -> int:
        return self._learner.version

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        guessed = list(map(is_guessed, entries))
        links = [(entry.url, entry.traits) for entry, one in zip(entries, guessed, strict=True) if one]
        levels = self._learner.levels(links)
        if len(levels) == len(entries):
            return list(levels)
        following = iter(levels)
        return [next(following) if one else None for one in guessed]


def is_guessed(entry: UrlEntry) -> bool:
    """Whether the worth of a URL is guessed."""
    return entry.via is not None and entry.payload is None and entry.kind == _PAGE
