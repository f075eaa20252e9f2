"""What a person is told when a crawl begins: what is taken up or joined, and which parts are not ours."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from webcrawl import essentials
from webcrawl.frontier.backend import SharedBackend
from webcrawl.reports import units

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from webcrawl.frontier.backend import Counts
    from webcrawl.machine import Machine

logger = logging.getLogger(__name__)


def tell_of_beginning(machine: Machine, counts: Counts, settings: BaseSettings) -> None:
    """Log it."""
    if welcome := _welcome(machine, counts):
        logger.info("%s", welcome)
    for scheme, handler in essentials.foreign_handlers(settings):
        logger.warning(
            "%s is fetched by %s: what it fetches is not kept in WARC files, and names that lead to private "
            "addresses are not refused",
            scheme,
            handler,
        )


def _welcome(machine: Machine, counts: Counts) -> str | None:
    """What a person wants to know of a crawl that is taken up or joined; None for one of our own that is new."""
    backend, begun = machine.backend, bool(counts.done or counts.queued)
    figures = (
        f": {units.things(counts.done, 'URL')} done, {units.count(counts.queued)} queued on "
        f"{units.things(counts.hosts, 'host')}"
    )
    folder = machine.jobdir.path if machine.jobdir else "memory"
    if not isinstance(backend, SharedBackend):
        return f"Going on with the crawl in {folder}{figures}" if begun else None
    others = backend.workers - 1
    verb = "Joining the" if others else "Going on with the" if begun else "Beginning a"
    beside = f" beside {units.things(others, 'other')}" if others else ""
    said = f"{verb} crawl on {backend.place} as worker {machine.configuration.worker_name}{beside}"
    kept = "" if machine.jobdir is None else f". What this worker fetches is kept in {folder}"
    return f"{said}{figures if others or begun else ''}{kept}"
