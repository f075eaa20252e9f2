"""How much of a politeness key is fetched in a whole crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.hosts.record import HostRecord


def spent(record: HostRecord, requests_max: int, pages_max: int, *, again: bool) -> str | None:
    """The rule by which nothing more is fetched from a key, None while something is; 0 stands for no limit.

    ``pages-per-key``: it was asked so often, whatever for. ``page-budget``: it gave so many pages. ``again``: for a
    page that it gave before, which costs nothing of that budget.
    """
    if 0 < requests_max <= record.fetches:
        return "pages-per-key"
    if 0 < pages_max <= record.pages and not again:
        return "page-budget"
    return None


def counts(status: int | None, *, again: bool) -> bool:
    """Whether an answer to a request for a page is one of the budget: neither a redirect nor an error is."""
    return status is not None and 200 <= status < 300 and not again
