"""What the robots.txt that a crawl knows says to a URL, and by which of its lines."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.hosts import robots
from webcrawl.hosts.record import RobotsRecord
from webcrawl.hosts.robots_lines import Deciding, deciding
from webcrawl.hosts.robots_rules import RobotsRules


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
        return self.record is not None and self.record.state == robots.RobotsState.RULES


def robots_word(record: RobotsRecord | None, origin: str, url: str, agent: str, now: float) -> RobotsWord:
    """``agent`` is the crawler's product token; ``now`` in epoch seconds."""
    has_text = record is not None and bool(record.text)
    rules = RobotsRules("" if record is None else record.text, agent)
    verdict = robots.may_fetch(record, rules, url, now)
    return RobotsWord(
        origin=origin,
        record=record,
        fresh=robots.is_fresh(record, now),
        allowed=verdict.allowed,
        reason=verdict.reason,
        deciding=deciding(record.text, agent, url) if record is not None and has_text else None,
    )
