"""Who listens to a signal is known at any time, whoever connected to what and however it went away."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydispatch import dispatcher
from scrapy import Request
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.test import get_crawler
from twisted.internet.defer import Deferred

from webcrawl.fetching.meta import KEY, FetchMeta
from webcrawl.fetching.signals import has_listeners, receivers, spare_robots, tell

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


def test_who_is_connected_in_several_ways_is_told_once(signals: SignalManager) -> None:
    listener = Listener()
    for signal in (SIGNAL, dispatcher.Any):
        signals.connect(listener.hear, signal)
        dispatcher.connect(listener.hear, signal, dispatcher.Any)
    assert receivers(signals, SIGNAL) == [listener.hear]
    tell(signals, SIGNAL, what=1)
    assert listener.heard == [1]


def test_receivers_are_those_of_scrapy_in_its_order(signals: SignalManager) -> None:
    listeners = [Listener() for _ in range(4)]
    signals.connect(listeners[2].hear, dispatcher.Any)
    dispatcher.connect(listeners[3].hear, SIGNAL, dispatcher.Any)
    signals.connect(listeners[0].hear, SIGNAL)
    signals.connect(listeners[1].hear, SIGNAL)
    told = [receiver for receiver, _ in signals.send_catch_log(SIGNAL)]
    assert receivers(signals, SIGNAL) == told == [listener.hear for listener in listeners]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ValueError("broken"), "Error caught on signal handler"),
        (Deferred(), "Cannot return deferreds from signal handler"),
        (StopDownload(), ""),
    ],
)
def test_what_goes_wrong_with_one_listener_is_logged_and_the_next_is_told(
    signals: SignalManager, answer: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    listener = Listener()
    signals.connect(wrong, SIGNAL)
    signals.connect(listener.hear, SIGNAL)
    tell(signals, SIGNAL, what=1)
    assert listener.heard == [1]
    assert (said in caplog.text) if said else not caplog.text


@pytest.mark.parametrize(("kind", "heard"), [("robots", []), ("page", [1, 2]), ("sitemap", [1, 2])])
def test_no_receiver_is_told_of_a_robots_txt(kind: str, heard: list[int]) -> None:
    crawler, listener = get_crawler(), Listener()
    crawler.signals.connect(listener.hear, SIGNAL)
    spare_robots(crawler)
    request = Request("http://a.test/robots.txt", meta={KEY: FetchMeta(kind=kind)})

    crawler.signals.send_catch_log(SIGNAL, request=request, what=1)
    asyncio.run(crawler.signals.send_catch_log_async(SIGNAL, request=request, what=2))

    assert listener.heard == heard
