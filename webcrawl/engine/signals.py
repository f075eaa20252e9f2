"""Who listens to a signal: asked several times a page, and mostly answered with "nobody".

pydispatch finds a signal's receivers by four look-ups, each of which ends in an exception where there are none; the
same four in its table of connections, without exceptions, take a tenth of the time. Nothing is remembered, so who
connects later is heard from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher

if TYPE_CHECKING:
    from scrapy.signalmanager import SignalManager

_NOBODY: dict[object, list[Any]] = {}


def receivers(signals: SignalManager, signal: object) -> list[Any]:
    """Those who are connected to a signal of this sender, to all signals, or to those of all senders, in the order in
    which they are told."""
    ours = dispatcher.connections.get(id(signals.sender), _NOBODY)
    others = dispatcher.connections.get(id(dispatcher.Any), _NOBODY)
    if dispatcher.Any in ours or signal in others or dispatcher.Any in others:
        # Who is connected in two ways is told once.
        return list(dispatcher.liveReceivers(dispatcher.getAllReceivers(signals.sender, signal)))
    return list(dispatcher.liveReceivers(ours[signal])) if signal in ours else []


def has_listeners(signals: SignalManager, signal: object) -> bool:
    """Whether a signal would be heard."""
    return bool(receivers(signals, signal))


def tell(signals: SignalManager, signal: object, **facts: Any) -> None:
    """``signals.send_catch_log``, where somebody listens."""
    if has_listeners(signals, signal):
        signals.send_catch_log(signal, **facts)
