"""What each rule of scope says to a URL, and which one decided.

What the robots.txt that a crawl knows says to a URL, and by which of its lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots import answer
from webcrawl.robots.rules import Deciding, RobotsRules, deciding

if TYPE_CHECKING:
    from webcrawl.scope.scope import Candidate, Scope


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


@dataclass(frozen=True, slots=True)
class RobotsWord:
    """``record`` is None where the crawl knows nothing of the origin's robots.txt."""

    origin: str
    record: RobotsRecord | None
    fresh: bool
    """Whether it holds still. If not, it is asked for before anything else of its origin."""
    allowed: bool
    """Whether the URL may be fetched at this moment as far as robots.txt goes; doubt means no."""
    reason: str
    deciding: Deciding | None
    """The last text's word, whether or not it holds still; None where there is no text."""

    @property
    def forbids(self) -> bool:
        """Whether rules that hold refuse it: it is not merely a matter of waiting."""
        return self.fresh and self.deciding is not None and not self.deciding.allowed and self._rules_hold

    @property
    def _rules_hold(self) -> bool:
        return self.record is not None and self.record.state == answer.RobotsState.RULES


def robots_word(record: RobotsRecord | None, origin: str, url: str, agent: str, now: float) -> RobotsWord:
    """``agent`` is the crawler's product token; ``now`` in epoch seconds."""
    has_text = record is not None and bool(record.text)
    rules = RobotsRules("" if record is None else record.text, agent)
    verdict = answer.may_fetch(record, rules, url, now)
    return RobotsWord(
        origin=origin,
        record=record,
        fresh=answer.is_fresh(record, now),
        allowed=verdict.allowed,
        reason=verdict.reason,
        deciding=deciding(record.text, agent, url) if record is not None and has_text else None,
    )
