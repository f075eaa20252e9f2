"""The answers of the rules of scope and of the known robots.txt to a URL, and the rule or line that decided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from webcrawl.features.usage import site_files
from webcrawl.features.usage.statements import as_record, is_withheld
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots import answer
from webcrawl.robots.rules import Deciding, RobotsRules, deciding
from webcrawl.scope.url_rules import NOT_FOR_EMBEDS

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from webcrawl.scope.scope import Candidate, Scope


class RuleStage(StrEnum):
    """The way in which a URL comes to the crawl: fewer rules apply to URLs that the operator named."""

    SEED = "seed"
    SITEMAP = "sitemap"
    """Listed in a sitemap of robots.txt, and queued or fetched: one of its own site is treated like a seed."""
    LINK = "link"
    EMBED = "embed"
    """Embedded by a page: the rules that say which pages belong to the crawl do not apply."""


@dataclass(frozen=True, slots=True)
class RuleWord:
    """The answer of a rule. ``objection`` is None if it does not object. ``applies``: whether the rule applies to
    this stage.
    """

    rule: str
    objection: str | None
    applies: bool


@dataclass(frozen=True, slots=True)
class Scoping:
    """The answers of all rules, in the order in which they are evaluated."""

    stage: RuleStage
    depth: int
    depth_known: bool
    words: tuple[RuleWord, ...]
    recheck_objection: str | None
    """The rule that refuses it even when it is queued already: those for seeds are evaluated again at its turn."""
    embed_hops: int = 0
    """The number of embeds in sequence that led to it from a page; 0 if it is no embed."""

    @property
    def decided_by(self) -> RuleWord | None:
        """The first rule that applies and objects; None if the URL is in scope."""
        return next((word for word in self.words if word.applies and word.objection is not None), None)


def explain_scope(
    candidate: Candidate,
    followed: Scope,
    fixed: Scope,
    recheck: Scope,
    stage: RuleStage,
    *,
    depth_known: bool,
    embed_hops: int = 0,
) -> Scoping:
    """``fixed``: the rules that apply to seeds too; ``followed``: those for links, these among them; ``recheck``:
    those that are evaluated again for links when their turn comes.
    """
    for_all = {rule.name for rule in fixed.rules}
    words = [
        RuleWord(word.rule, word.objection, _applies(word.rule, stage, for_all))
        for word in followed.words(candidate)
    ]
    again = fixed if stage is RuleStage.SEED else recheck
    recheck_objection = again.verdict(candidate).rule
    return Scoping(stage, candidate.depth, depth_known, tuple(words), recheck_objection, embed_hops)


def _applies(rule: str, stage: RuleStage, for_all: Container[str]) -> bool:
    if stage is RuleStage.EMBED:
        return rule not in NOT_FOR_EMBEDS
    return stage is RuleStage.LINK or rule in for_all


@dataclass(frozen=True, slots=True)
class RobotsWord:
    """The answer of robots.txt. ``record`` is None if the crawl does not know the origin's robots.txt."""

    origin: str
    record: RobotsRecord | None
    fresh: bool
    """True if it has not expired. If it has, it is requested before anything else of its origin."""
    allowed: bool
    """True if robots.txt allows the URL to be fetched at this moment; False in doubt."""
    reason: str
    deciding: Deciding | None
    """The line of the last text that decides, expired or not; None if there is no text."""

    @property
    def forbids(self) -> bool:
        """True if valid rules refuse it, so that waiting does not help."""
        return self.fresh and self.deciding is not None and not self.deciding.allowed and self._rules_hold

    @property
    def _rules_hold(self) -> bool:
        return self.record is not None and self.record.state == answer.RobotsState.RULES


@dataclass(frozen=True, slots=True)
class UsageWord:
    """What a URL may be used for. ``known``: the record (``as_record``) by the robots.txt that the crawl has now;
    None if it has none. ``fetched``: the record of the last page in the log, and whether it was withheld; None if
    there is none.
    """

    known: Mapping[str, Any] | None
    fetched: Mapping[str, Any] | None
    withheld: bool
    refused: bool
    """True if it is not requested because of ``known``."""

    @property
    def is_silent(self) -> bool:
        """True if there is nothing to tell."""
        return not self.known and self.fetched is None


def usage_word(
    record: RobotsRecord | None,
    url: str,
    agents: Sequence[str],
    tokens: Sequence[str],
    refused: Sequence[str],
    lines: Sequence[Mapping[str, Any]],
) -> UsageWord:
    """``refused``: the purposes for which a page must be usable to be requested. ``lines``: those of the URL in the
    fetch logs, oldest first."""
    usage = None if record is None else site_files.read(record.text, agents, tokens)
    known = None if usage is None else as_record(usage.statements(url))
    line = next((line for line in reversed(lines) if isinstance(line.get("usage"), dict)), None)
    return UsageWord(
        known=known,
        fetched=None if line is None else line["usage"],
        withheld=line is not None and line.get("withheld") is True,
        refused=bool(known) and is_withheld(known or {}, refused),
    )


def robots_word(
    record: RobotsRecord | None, origin: str, url: str, agents: Sequence[str], now: float
) -> RobotsWord:
    """``agents`` are the crawler's product tokens; ``now`` in epoch seconds."""
    has_text = record is not None and bool(record.text)
    rules = RobotsRules("" if record is None else record.text, *agents)
    verdict = answer.may_fetch(record, rules, url, now)
    return RobotsWord(
        origin=origin,
        record=record,
        fresh=answer.is_fresh(record, now),
        allowed=verdict.allowed,
        reason=verdict.reason,
        deciding=deciding(record.text, url, *agents) if record is not None and has_text else None,
    )
