"""The totals of a crawl from the counters that its processes have stored, and numbers of pages by class of status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.frontier.figures import by_class

if TYPE_CHECKING:
    from collections.abc import Mapping


def stored_figures(counted: Mapping[str, int]) -> dict[str, int]:
    """Return the figures of counters that a crawl has stored: ``pages``, ``bytes``, ``errors``, and those of
    ``by_class``."""
    statuses = {
        int(name.partition(" ")[2]): number for name, number in counted.items() if _is(name, "status")
    }
    figures = {name: counted.get(name, 0) for name in ("pages", "bytes")}
    return figures | {"errors": sum(stored_errors(counted).values())} | by_class(statuses)


def stored_errors(counted: Mapping[str, int]) -> dict[str, int]:
    """Return the errors among counters that a crawl has stored, by their words."""
    return {name.partition(" ")[2]: number for name, number in counted.items() if _is(name, "error")}


def _is(name: str, kind: str) -> bool:
    return name.partition(" ")[0] == kind
