"""Who listens to a signal is known at any time, whoever connected to what and however it went away."""

from __future__ import annotations

from typing import Any

import pytest
from pydispatch import dispatcher
from scrapy.signalmanager import SignalManager

from webcrawl.listening import has_listeners, tell

SIGNAL, OTHER = object(), object()


class Listener:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def hear(self, **facts: Any) -> None:
        self.heard.append(facts.get("what"))


@pytest.fixture
def signals() -> SignalManager:
    return SignalManager(Listener())


def test_nobody_listens_to_what_others_listen_to(signals: SignalManager) -> None:
    listener, stranger = Listener(), SignalManager(Listener())
    signals.connect(listener.hear, OTHER)
    stranger.connect(listener.hear, SIGNAL)
    assert not has_listeners(signals, SIGNAL)
    tell(signals, SIGNAL, what=1)
    assert listener.heard == []


@pytest.mark.parametrize("sender", ["ours", dispatcher.Any])
@pytest.mark.parametrize("signal", [SIGNAL, dispatcher.Any])
def test_who_connects_later_is_told_and_who_leaves_is_not(
    signals: SignalManager, sender: object, signal: object
) -> None:
    listener = Listener()
    tell(signals, SIGNAL, what=1)
    where = {} if sender == "ours" else {"sender": sender}
    signals.connect(listener.hear, signal, **where)
    assert has_listeners(signals, SIGNAL)
    tell(signals, SIGNAL, what=2)
    signals.disconnect(listener.hear, signal, **where)
    assert not has_listeners(signals, SIGNAL)
    tell(signals, SIGNAL, what=3)
    assert listener.heard == [2]


def test_a_listener_that_is_gone_is_none(signals: SignalManager) -> None:
    listener = Listener()
    signals.connect(listener.hear, SIGNAL)
    assert has_listeners(signals, SIGNAL)
    del listener
    assert not has_listeners(signals, SIGNAL)
