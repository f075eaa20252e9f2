"""Is the port one at which this crawl looks for the web?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links


class PortRule:
    """Refuses URLs with another port than these; a URL without one has its scheme's, 80 or 443."""

    name = "port"

    def __init__(self, ports: Iterable[int]) -> None:
        self._ports = frozenset(ports)
        self._has_usual = self._ports >= {80, 443}

    def refuses(self, candidate: Candidate) -> str | None:
        port = _port(candidate.url)
        return None if port in self._ports else f"port {port}"

    def refuses_none(self, links: Links) -> bool:
        # Each URL has the colon of its scheme.
        return self._has_usual and links.lines.count(":") == len(links)


def _port(url: str) -> int:
    start = 8 if url[4] == "s" else 7
    authority = url[start : url.index("/", start)]
    _, colon, digits = authority.rpartition(":")
    # The colons of an IPv6 address stand in brackets.
    if colon and digits.isdecimal():
        return int(digits)
    return 443 if start == 8 else 80
