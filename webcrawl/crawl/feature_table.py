"""The table of features: when each one is on, and where it is built. A feature that is off is not imported.

A package adds a feature of its own by an entry point of the group ``webcrawl.features``, which names an ``Entry``.

The order of the table is the order in which features are built, opened and given results. They are ended in the
reverse order, so that a feature that queues URLs ends before those that those URLs concern. ``Scheduler`` calls them:

* start: frontier opened, ``open``, spider opened, ``begin``
* end: ``before_close``, frontier drained, ``drained``, frontier and storage closed, ``close``, archive closed
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webcrawl.crawl.feature import Parts


GROUP = "webcrawl.features"
"""The group of entry points of the features of other packages."""


class Entry(NamedTuple):
    """A feature that a crawl can have."""

    name: str
    is_on: Callable[[Parts], bool]
    """Returns True if the crawl has it. Called for each crawl; ``Feature`` and ``build`` are imported if it does."""
    module: str = ""
    """The module whose function ``build`` takes ``Parts`` and returns a ``Feature``. Without one:
    ``webcrawl.features.NAME.feature``."""
    is_shaping: bool = False
    """True if it gives rules, scores or archive sinks to the crawl; see ``SHAPING``."""


@cache
def further_entries() -> tuple[Entry, ...]:
    """Return the features of other packages, by name. A process looks for them once.

    :raises ConfigurationError: an entry point cannot be imported or is no ``Entry``, or has the name of another one
    """
    entries: dict[str, Entry] = {}
    own = {entry.name for entry in (*SHAPING, *FURTHER)}
    problems = []
    for point in sorted(entry_points(group=GROUP)):
        try:
            entry = point.load()
        except Exception as error:  # whatever a package does when it is imported
            problems.append(
                Problem(GROUP, f"{point.value} cannot be imported: {type(error).__name__}: {error}")
            )
            continue
        if not isinstance(entry, Entry):
            problems.append(
                Problem(GROUP, f"{point.value} must be a {__name__}.Entry, not {type(entry).__name__}")
            )
        elif entry.name in own or entry.name in entries:
            problems.append(Problem(GROUP, f"{point.value}: there is another feature named {entry.name}"))
        else:
            entries[entry.name] = entry
    if problems:
        raise ConfigurationError(problems)
    return tuple(entries.values())


SEGMENT_FILE = "segment.jsonl.gz"
"""Name of the segment in the JOBDIR of its crawl; its presence identifies such a crawl."""
LINK_ORDERS = ("in_links", "opic")
"""The values of ``FRONTIER_ORDER`` that depend on the links to a URL."""


def _has_focus(parts: Parts) -> bool:
    argued = getattr(parts.spider, "focus", None)
    has_method = callable(getattr(parts.spider, "relevance", None))
    return bool(isinstance(argued, str) and argued) or has_method or parts.configuration.focus is not None


def _is_segment(parts: Parts) -> bool:
    segment, folder = getattr(parts.spider, "segment", None), parts.folder
    return folder is not None and bool(segment or (folder / SEGMENT_FILE).exists())


SHAPING = (
    Entry("traps", lambda parts: parts.configuration.traps_quarantine),
    Entry("dust", lambda parts: parts.configuration.dust_learn),
    Entry("mirrors", lambda parts: parts.configuration.mirrors_learn),
    Entry("focus", _has_focus),
    Entry("link_scores", lambda parts: parts.configuration.frontier_order in LINK_ORDERS),
    Entry("segments", _is_segment),
)
"""The features that give rules, scores or archive sinks to the crawl, and are built before these parts of it."""
FURTHER = (
    Entry("identity", lambda parts: parts.configuration.signs_requests),
    Entry("usage", lambda parts: parts.configuration.usage_record),
    Entry("content_seen", lambda parts: bool(parts.configuration.content_seen)),
    Entry("near_duplicates", lambda parts: bool(parts.configuration.near_duplicates)),
    Entry("refusals", lambda parts: parts.configuration.refusals_recognise),
    Entry("revisits", lambda parts: parts.configuration.crawl_mode == "continuous"),
    Entry("hints", lambda parts: parts.configuration.hints_follow and "revisits" in parts.features),
    Entry("websub", lambda parts: parts.configuration.websub_callback_url is not None),
    Entry(
        "seed_refill", lambda parts: parts.configuration.asks_for_seeds and "segments" not in parts.features
    ),
    Entry("steering", lambda parts: parts.configuration.storage.is_lasting),
    Entry("pushed_urls", lambda parts: parts.configuration.storage.is_shared),
    Entry(
        "checkpoints", lambda parts: parts.configuration.checkpoint_interval > 0 and parts.folder is not None
    ),
    Entry("notifications", lambda parts: parts.configuration.notifies),
    Entry(
        "timeseries",
        lambda parts: parts.configuration.keeps_time_series or parts.configuration.metrics_port > 0,
    ),
    Entry("metrics", lambda parts: parts.configuration.metrics_port > 0, "webcrawl.web.metrics.feature"),
    Entry(
        "dashboard", lambda parts: parts.configuration.dashboard_port > 0, "webcrawl.web.dashboard.feature"
    ),
)
"""The other features."""


def build_features(entries: Iterable[Entry], parts: Parts) -> None:
    """Build the features that are on and add them to ``parts.features``. Raises as the function ``build`` of each."""
    for entry in entries:
        if entry.is_on(parts):
            module = import_module(entry.module or f"webcrawl.features.{entry.name}.feature")
            parts.features.add(entry.name, module.build(parts))
