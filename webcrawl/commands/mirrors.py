"""``scrapy mirrors [JOBDIR] [--undo PAIR]``: list the mirrors that a crawl has found, and undo them.

Exit status: see ``BeliefCommand``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.belief_command import BeliefCommand
from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.features.mirrors.pair import MirrorPair
    from webcrawl.features.mirrors.store import MirrorStore


class Command(BeliefCommand["MirrorPair"]):
    noun = "mirror"
    short = "pair"
    plural = "mirrors"

    def short_desc(self) -> str:
        return "List the hosts that serve the pages of another one, as a crawl found them, or undo one"

    def long_desc(self) -> str:
        return (
            "With MIRRORS_LEARN, a crawl learns which hosts serve the same pages under another name, and withholds "
            "URLs of such a mirror whose path the other host has. The command lists these pairs of hosts with what "
            "proved them. --undo ends one: its withheld URLs are queued again, and it is never learned again. The "
            "crawl may be running or not."
        )

    def store(self) -> type[MirrorStore]:
        from webcrawl.features.mirrors.store import MirrorStore

        return MirrorStore

    def describe(self, belief: MirrorPair) -> str:
        return str(belief)

    def proof(self, belief: MirrorPair) -> Iterator[tuple[str, str]]:
        yield "signs", ", ".join(belief.signs)
        pages, probes = text.things(len(belief.equal), "equal page"), text.things(belief.probes, "probe")
        yield "proof", f"{pages}, {probes}; {text.things(belief.samples, 'sample')} after it"
        if belief.equal:
            yield "such as", next(iter(belief.equal.values()))

    def fields(self, belief: MirrorPair) -> dict[str, Any]:
        return {
            "first": belief.first,
            "mirror": belief.mirror,
            "signs": list(belief.signs),
            "equal": sorted(belief.equal.values()),
        }
