"""Is the URL of a pattern that brings nothing new?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.traps.quarantine import how_to_release

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links
    from webcrawl.traps.quarantine import Quarantine

TRAP = "trap"


class TrapRule:
    """Refuses URLs of patterns that are in quarantine."""

    name = TRAP

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine

    def refuses(self, candidate: Candidate) -> str | None:
        if not self._quarantine.holds(candidate.host):
            return None
        trap = self._quarantine.trap_of(candidate.url, candidate.host)
        if trap is None:
            return None
        return f"{trap.pattern}: {trap.why}; {how_to_release(trap)} lets it go"

    def refuses_none(self, links: Links) -> bool:
        return not any(map(self._quarantine.holds, links.different_hosts))
