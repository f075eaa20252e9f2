"""What is subscribed to and until when, by a clock of the test's own; the hub's part is played by hand."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.unit.features.websub.subscribing import DAY, HUB, KEY, TERMS, TOPIC, Stage
from webcrawl.errors import StorageFull
from webcrawl.features.websub.discovery import Advertised
from webcrawl.features.websub.store import SPEC, SubscriptionStore
from webcrawl.features.websub.subscriber import first_request_url
from webcrawl.features.websub.subscription import ANSWER_SECONDS, FORGET_SECONDS, TRIES, SubscriptionState
from webcrawl.frontier.records import UrlEntry

if TYPE_CHECKING:
    from tests.contract.conftest import OpenTables


def test_a_hub_is_asked_with_a_callback_nobody_can_guess_and_a_secret(stage: Stage) -> None:
    stage.find(HUB)
    [(hub, form)] = stage.requests
    assert hub == HUB
    token, secret = stage.token(), form["hub.secret"]
    assert form == {
        "hub.mode": "subscribe",
        "hub.topic": TOPIC,
        "hub.callback": f"https://us.test/websub/{token}",
        "hub.lease_seconds": "864000",
        "hub.secret": secret,
    }
    assert len(token) == len(secret) == 64
    assert token != secret


def test_each_subscription_has_its_own_callback_and_secret(stage: Stage) -> None:
    for topic in ("http://a.test/1", "http://a.test/2", "http://a.test/3"):
        stage.find(HUB, topic=topic)
    forms = [form for _, form in stage.requests]
    assert len({form["hub.callback"] for form in forms}) == len({form["hub.secret"] for form in forms}) == 3


def test_what_was_asked_for_is_not_asked_for_again_when_it_is_met_again(stage: Stage) -> None:
    for _ in range(3):
        stage.find(HUB)
    stage.intent()
    stage.find(HUB, again=True)
    assert len(stage.requests) == 1
    assert stage.one.state is SubscriptionState.ACTIVE


@pytest.mark.parametrize(
    ("choice", "hub", "request_url", "signed"),
    [
        ("https", "https://hub.test/", "https://hub.test/", True),
        ("https", "http://hub.test/", "https://hub.test/", True),
        ("https", "http://hub.test:8080/", "http://hub.test:8080/", False),
        ("always", "http://hub.test:8080/", "http://hub.test:8080/", True),
        ("never", "https://hub.test/", "https://hub.test/", False),
    ],
)
def test_who_is_given_a_secret(
    runner: asyncio.Runner, choice: str, hub: str, request_url: str, signed: bool
) -> None:
    stage = Stage(runner, terms=replace(TERMS, secret=choice))
    stage.find(hub)
    [(url, form)] = stage.requests
    assert (url, "hub.secret" in form) == (request_url, signed)


def test_a_hub_that_has_no_https_is_asked_as_its_url_says_and_without_a_secret(stage: Stage) -> None:
    stage.find("http://hub.test/")
    stage.runner.run(stage.subscriber.responded(stage.token(), None, None, stage.now))
    stage.step()
    assert [hub for hub, _ in stage.requests] == ["https://hub.test/", "http://hub.test/"]
    assert "hub.secret" not in stage.requests[1][1]
    assert stage.intent().status == 200
    assert stage.push(b"new", None) == 202
    assert stage.subscriber.counts.pushes == 1


def test_a_port_of_its_own_is_left_as_it_is() -> None:
    assert first_request_url("http://hub.test/a?b") == "https://hub.test/a?b"
    assert first_request_url("http://hub.test:80/") == "http://hub.test:80/"
    assert first_request_url("https://hub.test/") == "https://hub.test/"


def test_of_several_hubs_one_is_asked_and_https_goes_first(stage: Stage) -> None:
    stage.find("http://one.test:1/", HUB, "https://three.test/")
    assert [hub for hub, _ in stage.requests] == [HUB]


def test_where_one_hub_denies_the_next_is_asked(stage: Stage) -> None:
    stage.find(HUB, "https://two.test/")
    stage.intent(mode="denied", reason="no")
    stage.find(HUB, "https://two.test/", again=True)
    assert [hub for hub, _ in stage.requests] == [HUB, "https://two.test/"]
    stage.find(HUB, "https://two.test/", again=True)
    assert len(stage.requests) == 2


def test_a_hub_that_does_not_ask_back_is_asked_again_ever_later_and_then_left_alone(stage: Stage) -> None:
    stage.find(HUB)
    waits = [ANSWER_SECONDS * 2**n for n in range(TRIES)]
    for number, seconds in enumerate(waits, 1):
        stage.step(seconds - 1)
        assert len(stage.requests) == number
        stage.step(1)
    assert len(stage.requests) == TRIES
    assert (stage.one.state, stage.one.reason) == (SubscriptionState.DENIED, "the hub never asked back")
    assert len({form["hub.callback"] for _, form in stage.requests}) == 1
    stage.step(FORGET_SECONDS)
    assert stage.known() == []
    stage.find(HUB)
    assert len(stage.requests) == TRIES + 1


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (202, SubscriptionState.ASKED),
        (204, SubscriptionState.ASKED),
        (400, SubscriptionState.DENIED),
        (404, SubscriptionState.DENIED),
    ],
)
def test_what_a_hub_answers_at_once(stage: Stage, status: int, state: SubscriptionState) -> None:
    stage.find(HUB)
    stage.runner.run(stage.subscriber.responded(stage.token(), status, None, stage.now))
    assert stage.one.state is state


@pytest.mark.parametrize("status", [None, 500, 503, 429, 408, 301])
def test_a_hub_that_cannot_be_had_is_asked_again_later(stage: Stage, status: int | None) -> None:
    stage.find(HUB)
    stage.runner.run(stage.subscriber.responded(stage.token(), status, None, stage.now))
    stage.step(599)
    assert len(stage.requests) == 1
    stage.step(1)
    assert len(stage.requests) == 2
    assert stage.intent().status == 200


def test_a_hub_that_redirects_is_asked_where_it_says_and_not_for_ever(stage: Stage) -> None:
    stage.find(HUB)
    for number in range(2 * TRIES):
        stage.runner.run(
            stage.subscriber.responded(stage.token(), 307, f"http://two.test:{number + 1}/", stage.now)
        )
        stage.step()
    hubs = [hub for hub, _ in stage.requests]
    assert hubs[:3] == [HUB, "http://two.test:1/", "http://two.test:2/"]
    assert "hub.secret" not in stage.requests[1][1]
    assert len(hubs) <= TRIES


def test_what_scope_does_not_let_be_asked_is_denied(stage: Stage) -> None:
    stage.refusal = "exclusion"
    stage.find(HUB)
    assert (stage.one.state, stage.one.reason) == (SubscriptionState.DENIED, "may not be asked: exclusion")


def test_a_lease_is_renewed_before_it_ends_by_a_new_callback(stage: Stage) -> None:
    stage.subscribe(lease=10 * DAY)
    first = stage.token()
    stage.step(7.4 * DAY)
    assert len(stage.requests) == 1
    stage.step(0.2 * DAY)
    stage.step()
    assert len(stage.requests) == 2
    assert stage.token() != first
    assert stage.revisited == [TOPIC]
    # Until the new one is verified the old one counts.
    assert [subscription.state for subscription in stage.known()] == [
        SubscriptionState.ENDING,
        SubscriptionState.ASKED,
    ]
    signature = _signed(stage, b"x", first)
    assert stage.push(b"x", signature, first) == 202
    assert stage.intent().status == 200
    assert [subscription.state for subscription in stage.known()] == [
        SubscriptionState.REPLACED,
        SubscriptionState.ACTIVE,
    ]
    assert stage.push(b"x", signature, first) == 410
    stage.step(3 * DAY)
    stage.step()
    assert [subscription.state for subscription in stage.known()] == [SubscriptionState.ACTIVE]
    assert stage.push(b"x", signature, first) == 404


def test_a_subscription_that_nobody_renews_is_over_with_its_lease_and_made_anew_when_it_is_met(
    stage: Stage,
) -> None:
    stage.subscribe(lease=10 * DAY)
    first = stage.token()
    stage.step(8 * DAY)
    stage.step()
    stage.intent(mode="denied")
    stage.step(2 * DAY)
    assert [subscription.state for subscription in stage.known()] == [SubscriptionState.DENIED]
    assert stage.push(b"x", None, first) == 404
    stage.step(FORGET_SECONDS)
    stage.find(HUB)
    assert stage.intent().status == 200


@pytest.mark.parametrize("lease", [1, 60, 599])
def test_a_hub_does_not_set_our_pace_by_short_leases(stage: Stage, lease: int) -> None:
    stage.subscribe(lease=lease)
    for _ in range(59):
        stage.step(10)
    assert len(stage.requests) == 1


def test_when_a_page_names_another_hub_the_old_one_is_left_and_the_new_one_asked(stage: Stage) -> None:
    stage.subscribe()
    first = stage.token()
    stage.find("https://two.test/", again=True)
    stage.step()
    modes = sorted((hub, form["hub.mode"]) for hub, form in stage.requests[1:])
    assert modes == [(HUB, "unsubscribe"), ("https://two.test/", "subscribe")]
    assert stage.intent(first, mode="unsubscribe").status == 200
    assert [subscription.hub for subscription in stage.known()] == ["https://two.test/"]


def test_when_a_page_names_no_hub_any_more_the_subscription_ends(stage: Stage) -> None:
    stage.subscribe()
    stage.find(again=True)
    stage.step()
    assert stage.requests[-1][1]["hub.mode"] == "unsubscribe"
    assert "hub.secret" not in stage.requests[-1][1]
    assert stage.intent(mode="unsubscribe").status == 200
    assert stage.known() == []


def test_a_page_that_is_met_for_the_first_time_ends_nothing(stage: Stage) -> None:
    stage.subscribe()
    stage.find()
    assert stage.one.state is SubscriptionState.ACTIVE


def test_all_hubs_are_left_when_that_is_wanted_and_forgotten_when_they_do_not_answer(stage: Stage) -> None:
    for number in range(5):
        stage.find(HUB, topic=f"http://a.test/{number}")
    stage.subscribe()
    stage.subscriber.end()
    assert stage.runner.run(stage.subscriber.is_leaving())
    for _ in range(8):
        stage.step(ANSWER_SECONDS * 8)
    assert [form["hub.mode"] for _, form in stage.requests].count("unsubscribe") == 18
    assert not stage.runner.run(stage.subscriber.is_leaving())
    assert stage.runner.run(stage.store.count()) == 0


def test_so_many_subscriptions_are_made_in_all_and_of_one_site(runner: asyncio.Runner) -> None:
    stage = Stage(runner, terms=replace(TERMS, subscriptions_max=7, per_key_max=3))
    for number in range(5):
        stage.find(HUB, topic=f"http://a.test/{number}")
    for number in range(9):
        stage.find(HUB, topic=f"http://{number}.test/", key=f"{number}.test")
    assert len(stage.requests) == 7
    assert runner.run(stage.store.count(KEY)) == 3


def test_two_processes_ask_once_and_either_may_be_asked_back(stage: Stage, open_tables: OpenTables) -> None:
    other = Stage(stage.runner, SubscriptionStore(open_tables(SPEC)))
    for crawl_stage in (stage, other):
        crawl_stage.subscriber.note(UrlEntry(TOPIC, KEY, 0), Advertised(TOPIC, (HUB,)))

    async def both() -> None:
        await asyncio.gather(
            *(crawl_stage.subscriber.step(crawl_stage, crawl_stage.now) for crawl_stage in (stage, other))
        )

    stage.runner.run(both())
    assert len(stage.requests + other.requests) == 1
    sender, receiver = (stage, other) if stage.requests else (other, stage)
    assert receiver.intent(sender.token()).status == 200
    stage.now = other.now = stage.now + 8 * DAY
    stage.runner.run(both())
    stage.runner.run(both())
    assert len(stage.requests + other.requests) == 2


def test_after_a_kill_all_is_as_it_was_and_what_is_owed_is_done(
    runner: asyncio.Runner, open_tables: OpenTables
) -> None:
    """The process that is killed closes nothing."""
    killed = Stage(runner, SubscriptionStore(open_tables(SPEC)))
    killed.subscribe()
    killed.find(HUB, topic="http://a.test/2")
    body = b"new"
    first = killed.token(0)
    assert killed.push(body, _signed(killed, body, first), first) == 202
    again = Stage(runner, SubscriptionStore(open_tables(SPEC)), now=killed.now)
    again.step()
    assert again.revisited == [TOPIC]
    assert again.requests == []
    assert again.push(body, _signed(again, body, first), first) == 202
    assert again.intent(killed.token(), topic="http://a.test/2").status == 200
    again.step(8 * DAY)
    for _ in range(2):
        again.step()
    assert len(again.requests) == 2


def _signed(stage: Stage, body: bytes, token: str) -> str:
    [subscription] = [subscription for subscription in stage.known() if subscription.token == token]
    return f"sha256={hmac.new(stage.subscriber.secret(subscription).encode(), body, 'sha256').hexdigest()}"


def test_a_push_that_the_crawl_could_not_keep_is_told_again(stage: Stage) -> None:
    stage.subscribe()
    drain = stage.drain

    async def lost() -> None:
        raise StorageFull("no room")

    stage.drain = lost
    assert stage.push(b"x", _signed(stage, b"x", stage.token())) == 202
    with pytest.raises(StorageFull):
        stage.step()
    stage.drain = drain
    stage.step(3600)
    assert stage.revisited == [TOPIC] * 2
    stage.step(3600)
    assert len(stage.revisited) == 2


def test_many_topics_are_asked_for_in_few_steps_and_a_push_waits_for_none_of_them(stage: Stage) -> None:
    stage.subscribe()
    for number in range(250):
        document = UrlEntry(f"http://{number}.test/", f"{number}.test", 0)
        stage.subscriber.note(document, Advertised(document.url, (HUB,)))
    stage.push(b"x", _signed(stage, b"x", stage.token()))
    steps = 1
    while stage.runner.run(stage.subscriber.step(stage, stage.now)):
        steps += 1
    assert steps <= 3
    assert len(stage.requests) == 251
    assert stage.revisited == [TOPIC]
