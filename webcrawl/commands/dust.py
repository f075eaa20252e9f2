"""``scrapy dust [JOBDIR] [--undo RULE]``: list the DUST rules that a crawl has learned, and undo them.

Exit status: see ``BeliefCommand``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.belief_command import BeliefCommand
from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.features.dust.learner import TrackedRule
    from webcrawl.features.dust.store import DustStore


class Command(BeliefCommand["TrackedRule"]):
    noun = "DUST rule"
    short = "rule"
    plural = "rules"
    applied = " applied"

    def short_desc(self) -> str:
        return "List the parts of URLs that make no difference, as a crawl learned them, or undo a rule"

    def long_desc(self) -> str:
        return (
            "With DUST_LEARN, a crawl learns which parts of the URLs of a site make no difference, and withholds "
            "URLs of pages that it has. The command lists these rules with what proved them. --undo ends one: its "
            "withheld URLs are queued again, and it is never learned again. The crawl may be running or not."
        )

    def store(self) -> type[DustStore]:
        from webcrawl.features.dust.store import DustStore

        return DustStore

    def describe(self, belief: TrackedRule) -> str:
        return str(belief.rule)

    def proof(self, belief: TrackedRule) -> Iterator[tuple[str, str]]:
        pairs, probes = text.things(len(belief.pairs), "pair"), text.things(belief.probes, "probe")
        yield "proof", f"{pairs} of pages, {probes}"
        if all(belief.pair):
            yield "such as", " and ".join(belief.pair)

    def fields(self, belief: TrackedRule) -> dict[str, Any]:
        rule = belief.rule
        return {
            "rule": str(rule),
            "site": rule.site,
            "kind": rule.kind,
            "place": rule.place,
            "name": rule.name,
            "value": rule.value,
            "pairs": len(belief.pairs),
            "pair": list(belief.pair),
        }
