"""The rules of a crawl, asked one after the other; the one that decided is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.scope.rule import ALLOWED, Candidate, Rule, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Word:
    """What one rule says to a URL: ``objection`` is None when it has none."""

    rule: str
    objection: str | None


class Scope:
    """All rules of a crawl in their order. A URL is in scope when none of them objects."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: tuple[Rule, ...] = tuple(rules)
        self._questions = [(rule.refuses, rule.name) for rule in self.rules]

    def with_rule(self, rule: Rule) -> Scope:
        """The same rules and one more behind them."""
        return Scope((*self.rules, rule))

    def verdict(self, candidate: Candidate) -> Verdict:
        """Return what the first rule that objects says, or ALLOWED."""
        for refuses, name in self._questions:
            detail = refuses(candidate)
            if detail is not None:
                return Verdict(False, name, detail)
        return ALLOWED

    def words(self, candidate: Candidate) -> list[Word]:
        """Return what every rule says, in their order; the first that objects is the one that decides."""
        return [Word(name, refuses(candidate)) for refuses, name in self._questions]

    def admit(self, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Return the verdicts on the links of a page, in their order."""
        return [self.verdict(candidate) for candidate in candidates]
