"""Does the URL look like what the operator's lists of expressions name: not wanted, useless, or wanted alone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links
    from webcrawl.scope.patterns import Patterns


class ListedRule:
    """Refuses URLs in which one of the expressions is found."""

    def __init__(self, name: str, patterns: Patterns) -> None:
        """``name``: what the rule is called, by what the list is for: ``deny``, ``useless-path``."""
        self.name = name
        self._patterns = patterns

    def refuses(self, candidate: Candidate) -> str | None:
        found = self._patterns.first(candidate.url)
        return None if found is None else str(found)

    def refuses_none(self, links: Links) -> bool:
        return self._patterns.are_in_no_line(links.lines)


class UnlistedRule:
    """Refuses URLs in which none of the expressions is found."""

    name = "allow-file"

    def __init__(self, patterns: Patterns) -> None:
        self._first = patterns.first
        self._detail = f"none of {len(patterns)} expressions is found"

    def refuses(self, candidate: Candidate) -> str | None:
        return self._detail if self._first(candidate.url) is None else None
