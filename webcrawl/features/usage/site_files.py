"""The files of a site that say what it may be used for: which of them are requested, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.features.usage import robots_file, tdmrep
from webcrawl.robots.site_files import SiteFile, parted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.features.usage.robots_file import RobotsUsage
    from webcrawl.robots.rules import RobotsRules

TDMREP, LICENCE = "tdmrep", "licence"
LICENCES_MAX = 3
"""Licence files of an origin that are requested."""


class SiteFiles:
    """The files that a crawl requests."""

    def __init__(self, agents: Sequence[str], *, tdmrep: bool, licences: bool) -> None:
        """``agents``: the crawler's product tokens. ``tdmrep``: request that file of each origin. ``licences``:
        request the files that License lines name, if they are of the same origin."""
        self._agents = tuple(agents)
        self._tdmrep = tdmrep
        self._licences = licences

    def wanted(self, origin: str, text: str, rules: RobotsRules) -> list[SiteFile]:
        """Return the files of an origin, as far as its robots.txt allows them to be requested.

        ``text`` is that of the robots.txt, empty if there is none; ``rules`` are what it says to this crawler.
        """
        if not origin.startswith(("http://", "https://")):
            return []
        files = [SiteFile(TDMREP, f"{origin}{tdmrep.PATH}")] if self._tdmrep else []
        if self._licences and (usage := robots_file.read(text, self._agents)) is not None:
            own = [line.url for line in usage.licenses if line.url.startswith(f"{origin}/")]
            own = list(dict.fromkeys(own))[:LICENCES_MAX]
            files += [SiteFile(_licence_kind(number), url) for number, url in enumerate(own)]
        return [file for file in files if rules.allows(file.url)]


def read(text: str, agents: Iterable[str], tokens: Iterable[str] = ()) -> RobotsUsage | None:
    """Return what a stored text says about use, with the files behind it; see ``robots_file.read``."""
    own, bodies = parted(text)
    reservations = bodies[TDMREP][1].decode("utf-8-sig", "replace") if TDMREP in bodies else ""
    licences = [bodies[kind] for kind in map(_licence_kind, range(LICENCES_MAX)) if kind in bodies]
    return robots_file.read(own, agents, tokens, tdm=reservations, licences=licences)


def _licence_kind(number: int) -> str:
    """Return the kind of a licence file, by its place among those of its robots.txt."""
    return f"{LICENCE}-{number + 1}" if number else LICENCE
