"""The storage of a crawl's state: the registry of its technologies.

Each technology is one folder, whose module ``technology`` has a ``Technology`` with its abilities. One line in
``BACKENDS`` registers it. The other modules of the folder are imported when a crawl uses it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from webcrawl.storage.technology import Technology

BACKENDS = {
    "sqlite": "webcrawl.storage.sqlite",
    "memory": "webcrawl.storage.memory",
    "redis": "webcrawl.storage.redis",
}
"""The package of each value of ``FRONTIER_BACKEND``."""

DEFAULT = "sqlite"
"""The technology of a crawl whose settings choose none."""
TRANSIENT = "memory"
"""The technology of a process that works on no crawl, for example of ``scrapy shell``."""


@cache
def technology_named(name: str) -> Technology:
    """Return the technology that is registered as ``name``."""
    technology: Technology = import_module(f"{BACKENDS[name]}.technology").TECHNOLOGY
    return technology


def technologies() -> Iterator[Technology]:
    """Yield all technologies."""
    return map(technology_named, BACKENDS)


def implied(value_of: Callable[[str], object]) -> str:
    """Return the name of the technology of a crawl that names none: the one with a setting that has a value, or else
    the default. ``value_of`` returns the value of a setting."""
    return next(
        (
            technology.name
            for technology in technologies()
            if technology.implied_by and value_of(technology.implied_by)
        ),
        DEFAULT,
    )


def technology_names(has: Callable[[Technology], bool]) -> str:
    """Return the names of the technologies that have an ability, for messages."""
    return " or ".join(technology.name for technology in technologies() if has(technology))


def technology_in(folder: Path) -> Technology | None:
    """Return the technology that keeps the state of the crawl in a JOBDIR; None if its state is not there."""
    return next((technology for technology in technologies() if technology.is_begun_in(folder)), None)
