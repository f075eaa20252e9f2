"""The order of a crawl by its settings: the source of levels, and whether they decide between hosts too."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from webcrawl.frontier.order import BEST_FIRST, Order

if TYPE_CHECKING:
    from webcrawl.config import Configuration
    from webcrawl.frontier.order import Scorer


def build_order(configuration: Configuration, scorer: Scorer | None = None) -> Order:
    """Return the order in which URLs enter their queues from now on."""
    prioritiser = configuration.frontier_prioritiser
    return Order(
        configuration.frontier_order,  # type: ignore[arg-type]
        load_object(prioritiser) if prioritiser else None,
        time.time(),
        scorer=scorer,
        restart=configuration.frontier_restart,
    )


def best_first_exploration(configuration: Configuration, scorer: Scorer | None) -> float | None:
    """Return ``Policies.best_first``: set with a scorer, and in orders that are best-first by name."""
    is_so = scorer is not None or configuration.frontier_order in BEST_FIRST
    return configuration.frontier_exploration if is_so else None
