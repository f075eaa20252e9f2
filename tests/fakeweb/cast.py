"""Who misbehaves: the placements of a configuration, looked up by page and by host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.behaviours import BEHAVIOURS
from tests.fakeweb.names import chance
from tests.fakeweb.robots import ROBOTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.fakeweb.config import Placement


class Cast:
    """The parts given out. Immutable; the same page always plays the same part."""

    def __init__(self, seed: int, placements: Iterable[Placement]) -> None:
        self._seed = seed
        self._pages: list[Placement] = []
        self._hosts: list[Placement] = []
        for placement in placements:
            if placement.behaviour in ROBOTS:
                self._hosts.append(placement)
            elif placement.behaviour in BEHAVIOURS:
                self._pages.append(placement)
            else:
                raise ValueError(f"no behaviour is called {placement.behaviour!r}")

    def of_page(self, host: str, path: str, *, spare: bool) -> Placement | None:
        """Return the part of a page; ``spare`` says that no other page depends on it."""
        return self._find(self._pages, f"page {host}{path}", host, path, spare)

    def of_host(self, host: str, *, spare: bool) -> Placement | None:
        """Return the part a host's robots.txt plays; ``spare`` says that no other host depends on it."""
        return self._find(self._hosts, f"host {host}", host, "", spare)

    def _find(
        self, placements: list[Placement], text: str, host: str, path: str, spare: bool
    ) -> Placement | None:
        if not placements:
            return None
        draw = chance(f"{self._seed} cast {text}")
        for placement in placements:
            if placement.hosts and host not in placement.hosts:
                continue
            if placement.paths and not path.startswith(placement.paths):
                continue
            if not placement.share and (placement.hosts or placement.paths):
                return placement
            if spare and draw < placement.share:
                return placement
            draw -= placement.share
        return None
