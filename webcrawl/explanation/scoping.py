"""What each rule of scope says to a URL, and which one decided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.sequence import Scope


class Stage(StrEnum):
    """How a URL comes to the crawl: fewer rules are asked about what the operator named."""

    SEED = "seed"
    SITEMAP = "sitemap"
    """Named by a robots.txt, and queued or fetched: one of its own site is asked about like a seed."""
    LINK = "link"


@dataclass(frozen=True, slots=True)
class RuleWord:
    """``objection`` is None when the rule has none. ``asked``: whether it is a rule for this stage at all."""

    rule: str
    objection: str | None
    asked: bool


@dataclass(frozen=True, slots=True)
class Scoping:
    """The words of all rules, in the order in which they are asked."""

    stage: Stage
    depth: int
    depth_known: bool
    words: tuple[RuleWord, ...]
    standing_objection: str | None
    """The rule that refuses it even when it is queued already: those for seeds are asked again at its turn."""

    @property
    def decided_by(self) -> RuleWord | None:
        """The first rule that was asked and objects; None when it is in scope."""
        return next((word for word in self.words if word.asked and word.objection is not None), None)


def scoping_of(
    candidate: Candidate, followed: Scope, fixed: Scope, standing: Scope, stage: Stage, *, depth_known: bool
) -> Scoping:
    """``fixed``: the rules that are asked about seeds too; ``followed``: those for links, these among them;
    ``standing``: those that are asked about links again when their turn comes."""
    for_all = {rule.name for rule in fixed.rules}
    words = [
        RuleWord(word.rule, word.objection, stage is Stage.LINK or word.rule in for_all)
        for word in followed.words(candidate)
    ]
    again = fixed if stage is Stage.SEED else standing
    return Scoping(stage, candidate.depth, depth_known, tuple(words), again.verdict(candidate).rule)
