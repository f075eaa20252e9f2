"""The rules of a crawl, asked one after the other; the one that decided is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.scope.candidate import Candidate
from webcrawl.scope.rule import ALLOWED, PageRule, Rule, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webcrawl.scope.links import Links

    Refuses = Callable[[Candidate], str | None]


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
        self._glances = [rule.refuses_none if isinstance(rule, PageRule) else None for rule in self.rules]

    def with_rule(self, rule: Rule) -> Scope:
        """The same rules and one more behind them."""
        return Scope((*self.rules, rule))

    def verdict(self, candidate: Candidate) -> Verdict:
        """Return what the first rule that objects says, or ALLOWED."""
        return _first_objection(self._questions, candidate)

    def words(self, candidate: Candidate) -> list[Word]:
        """Return what every rule says, in their order; the first that objects is the one that decides."""
        return [Word(name, refuses(candidate)) for refuses, name in self._questions]

    def refused(self, links: Links) -> dict[int, Verdict]:
        """Return the verdicts on those of ``links`` that are out of scope, by their places."""
        left = [
            (rule.refuses, rule.name)
            for rule, refuses_none in zip(self.rules, self._glances, strict=True)
            if refuses_none is None or not refuses_none(links)
        ]
        if not left:
            return {}
        verdicts = {}
        for place, candidate in enumerate(links.candidates()):
            verdict = _first_objection(left, candidate)
            if not verdict.allowed:
                verdicts[place] = verdict
        return verdicts


def _first_objection(questions: Iterable[tuple[Refuses, str]], candidate: Candidate) -> Verdict:
    for refuses, name in questions:
        detail = refuses(candidate)
        if detail is not None:
            return Verdict(False, name, detail)
    return ALLOWED
