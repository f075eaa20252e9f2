"""Delivery: attempts, pauses, and an end that does not wait for receivers that hang."""

from __future__ import annotations

import asyncio
import logging

import pytest

from webcrawl.features.notifications import delivery
from webcrawl.features.notifications.delivery import QUEUED_MAX, Delivery
from webcrawl.features.notifications.messages import CrawlOrigin, Message
from webcrawl.features.notifications.receivers import NotDelivered

CRAWL = CrawlOrigin("first", "broad", "w0", "machine", "/crawls/first")


def message(sentence="ended"):
    return Message("end", 1.0, CRAWL, sentence)


class Taker:
    """Fails as often as it is told to, then takes."""

    def __init__(self, *failures):
        self.name = "taker"
        self.failures = list(failures)
        self.attempts = 0
        self.taken = []

    async def take(self, message):
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)
        self.taken.append(message.sentence)


class Hanging(Taker):
    async def take(self, message):
        self.attempts += 1
        await asyncio.Event().wait()


def finished(*receivers, sentences=("ended",), seconds=30.0, pauses=(0.0, 0.0)):
    async def run():
        made = Delivery(receivers, pauses)
        for sentence in sentences:
            made.post(message(sentence))
        await made.finish(seconds)

    asyncio.run(run())


def test_all_receivers_get_all_messages_in_order():
    one, two = Taker(), Taker()
    finished(one, two, sentences=("stalls", "ended"))
    assert one.taken == two.taken == ["stalls", "ended"]


def test_a_failed_attempt_is_repeated_as_often_as_there_are_pauses(caplog):
    good, bad = Taker(NotDelivered("500"), NotDelivered("500")), Taker(*[NotDelivered("500")] * 9)
    with caplog.at_level(logging.WARNING):
        finished(good, bad)
    assert (good.taken, good.attempts) == (["ended"], 3)
    assert (bad.taken, bad.attempts) == ([], 3)
    assert caplog.messages == ["Not notified: taker: 500. The message was: first ended"]


def test_a_final_failure_is_not_repeated():
    bad = Taker(NotDelivered("404", is_final=True))
    finished(bad, sentences=("stalls", "ended"))
    assert (bad.taken, bad.attempts) == (["ended"], 2)


def test_a_bug_of_a_receiver_costs_its_message_alone(caplog):
    bad, good = Taker(ZeroDivisionError()), Taker()
    with caplog.at_level(logging.ERROR):
        finished(bad, good)
    assert good.taken == ["ended"]
    assert len(caplog.messages) == 1


def test_the_end_does_not_wait_for_a_receiver_that_hangs(caplog):
    hanging, good = Hanging(), Taker()
    with caplog.at_level(logging.WARNING):
        finished(hanging, good, sentences=("stalls", "ended"), seconds=0.01)
    assert good.taken == ["stalls", "ended"]
    assert caplog.messages == [
        f"Not notified: taker: the crawl ends first. The message was: first {what}"
        for what in ("stalls", "ended")
    ]


def test_the_end_cuts_a_long_pause_short(monkeypatch):
    monkeypatch.setattr(delivery, "LAST_PAUSE_SECONDS", 0.0)
    taker = Taker(NotDelivered("500"))

    async def run():
        made = Delivery([taker], [86_400.0])
        made.post(message())
        await asyncio.sleep(0)
        assert taker.attempts == 1
        await made.finish(60.0)

    asyncio.run(run())
    assert taker.taken == ["ended"]


def test_a_receiver_that_is_away_holds_a_bounded_number_of_messages(caplog):
    hanging = Hanging()
    with caplog.at_level(logging.WARNING):
        finished(hanging, sentences=[f"tells {number}" for number in range(QUEUED_MAX + 3)], seconds=0.0)
    lost = [one for one in caplog.messages if "too many" in one]
    assert len(lost) == 3
    assert len(caplog.messages) == QUEUED_MAX + 3


@pytest.mark.parametrize("number", [0, 1])
def test_without_messages_the_end_is_at_once(number):
    taker = Taker()
    finished(*[taker] * number, sentences=())
    assert taker.attempts == 0
