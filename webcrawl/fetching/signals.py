"""The receivers of a signal: looked up several times per page, mostly none, and none at all for robots.txt.

pydispatch finds a signal's receivers by four look-ups, each of which raises an exception internally if there are
none; the same four in its table of connections, without exceptions, take a tenth of the time. Nothing is cached, so a
receiver that is connected later is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher
from scrapy import Request
from scrapy.signalmanager import SignalManager

from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_NOBODY: dict[object, list[Any]] = {}


def receivers(signals: SignalManager, signal: object) -> list[Any]:
    """Return the receivers that are connected to a signal of this sender, to all signals, or to those of all senders,
    in the order in which they are called.
    """
    ours = dispatcher.connections.get(id(signals.sender), _NOBODY)
    others = dispatcher.connections.get(id(dispatcher.Any), _NOBODY)
    if dispatcher.Any in ours or signal in others or dispatcher.Any in others:
        # A receiver that is connected in two ways is called once.
        return list(dispatcher.liveReceivers(dispatcher.getAllReceivers(signals.sender, signal)))
    return list(dispatcher.liveReceivers(ours[signal])) if signal in ours else []


def has_listeners(signals: SignalManager, signal: object) -> bool:
    """Return True if a signal has receivers."""
    return bool(receivers(signals, signal))


def tell(signals: SignalManager, signal: object, **facts: Any) -> None:
    """Call ``signals.send_catch_log`` if there are receivers."""
    if has_listeners(signals, signal):
        signals.send_catch_log(signal, **facts)


class SignalsOfPages(SignalManager):
    """Scrapy's signal manager, which sends nothing about a robots.txt.

    Receivers expect pages: one that stops each download at its first bytes would take the host from the crawl.
    Download handlers of others send signals, too.
    """

    def send_catch_log(self, signal: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        return [] if _is_about_robots(kwargs.get("request")) else super().send_catch_log(signal, **kwargs)

    async def send_catch_log_async(self, signal: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        if _is_about_robots(kwargs.get("request")):
            return []
        return await super().send_catch_log_async(signal, **kwargs)


def _is_about_robots(request: object) -> bool:
    return isinstance(request, Request) and fetch_meta(request).kind == Kind.ROBOTS


def spare_robots(crawler: Crawler) -> None:
    """Have a crawler send no signals about robots.txt. Receivers that are connected already remain so."""
    if type(crawler.signals) is SignalManager:
        crawler.signals = SignalsOfPages(crawler.signals.sender)
