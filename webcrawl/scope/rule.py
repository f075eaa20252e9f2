"""What a rule of scope is, and what comes of asking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links


class Rule(Protocol):
    """One reason why a URL may not belong to the crawl."""

    @property
    def name(self) -> str:
        """One word, lower case with hyphens: what logs and reports call the rule."""

    def refuses(self, candidate: Candidate) -> str | None:
        """Return None when the rule has no objection, else what it objects to, in a few words.

        It is asked for every link of every page: it must not block, and never raises.
        """


@runtime_checkable
class PageRule(Rule, Protocol):
    """A rule that can look at all links of a page at once."""

    def refuses_none(self, links: Links) -> bool:
        """Whether it is plain to see that ``refuses`` would object to none of ``links``. In doubt False."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What scope says to a URL. ``rule`` and ``detail``: which rule refused it and why; None when allowed."""

    allowed: bool
    rule: str | None = None
    detail: str | None = None


ALLOWED = Verdict(allowed=True)
