"""The order of a crawl by its settings: the source of levels, and whether they decide between hosts too."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from webcrawl.features.link_scores.scorer import Importance, LinkScoreStore
from webcrawl.features.link_scores.table import Table
from webcrawl.frontier.order import BEST_FIRST, Order

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.config import Configuration
    from webcrawl.frontier.order import Scorer
    from webcrawl.storage.contract import Backend

RANKED = ("in_links", "opic")


@dataclass(frozen=True, slots=True)
class Ranking:
    """The counts of the links to URLs."""

    importance: Importance
    keeping: LinkScoreStore


def ranking_of(configuration: Configuration, backend: Backend, folder: Path | None) -> Ranking | None:
    """Return None if the order does not depend on links. ``folder``: the JOBDIR."""
    order = configuration.frontier_order
    if order not in RANKED:
        return None
    importance = Importance(Table(), cash=order == "opic")
    if configuration.frontier_backend == "redis":
        # A crawl of one process does not wait for an import that it does not need.
        from webcrawl.storage.redis import RedisBackend

        assert isinstance(backend, RedisBackend)
        return Ranking(importance, LinkScoreStore(importance, order, folder, backend.server, backend.spider))
    return Ranking(importance, LinkScoreStore(importance, order, folder))


def order_of(configuration: Configuration, scorer: Scorer | None = None) -> Order:
    """Return the order in which URLs enter their queues from now on."""
    prioritiser = configuration.frontier_prioritiser
    return Order(
        configuration.frontier_order,  # type: ignore[arg-type]
        load_object(prioritiser) if prioritiser else None,
        time.time(),
        scorer=scorer,
        restart=configuration.frontier_restart,
    )


def best_first_of(configuration: Configuration, scorer: Scorer | None) -> float | None:
    """Return ``Policies.best_first``: set with a scorer, and in orders that are best-first by name."""
    is_so = scorer is not None or configuration.frontier_order in BEST_FIRST
    return configuration.frontier_exploration if is_so else None
