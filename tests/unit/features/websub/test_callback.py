"""What hubs are answered: what we asked for is confirmed and nothing else, and only signed pushes count."""

from __future__ import annotations

import hmac

import pytest

from tests.unit.features.websub.subscribing import DAY, HUB, TOPIC, Stage
from webcrawl.features.websub.callback import CHALLENGE_MAX
from webcrawl.features.websub.subscription import SubscriptionState

CONTENT = b"<p>new</p>"


def signature(stage: Stage, method: str = "sha256", body: bytes = CONTENT) -> str:
    return (
        f"{method}={hmac.new(stage.subscriber.secret(stage.known()[0]).encode(), body, method).hexdigest()}"
    )


def test_what_was_asked_for_is_confirmed_with_the_challenge(stage: Stage) -> None:
    stage.find(HUB)
    answer = stage.intent(challenge="c%&=+ ü", lease_seconds="1000")
    assert (answer.status, answer.body.decode()) == (200, "c%&=+ ü")
    assert stage.one.state is SubscriptionState.ACTIVE
    assert stage.one.lease_ends_at == stage.now + 1000


@pytest.mark.parametrize(
    "said",
    [
        {"mode": "unsubscribe"},
        {"mode": "publish"},
        {"mode": "Subscribe"},
        {"mode": None},
        {"topic": "http://a.test/other"},
        {"topic": "http://a.test/feed/"},
        {"topic": None},
        {"challenge": None},
        {"challenge": ""},
        {"challenge": "x" * (CHALLENGE_MAX + 1)},
        {"challenge": "a\nb"},
        {"challenge": "\x00\x01"},
        {"lease_seconds": "0"},
        {"lease_seconds": "-5"},
        {"lease_seconds": "1e9"},
        {"lease_seconds": "٣"},
        {"lease_seconds": ""},
    ],
)
def test_what_was_not_asked_for_is_not_confirmed(stage: Stage, said: dict) -> None:
    stage.find(HUB)
    before = stage.one
    answer = stage.intent(**said)
    assert (answer.status, answer.body) == (404, b"")
    assert stage.one == before
    assert stage.subscriber.counts.refused == 1


def test_who_does_not_know_the_url_learns_nothing(stage: Stage) -> None:
    stage.subscribe()
    for token in ("x", "0" * 64, stage.token()[:-1]):
        assert stage.intent(token).status == 404
        assert stage.push(CONTENT, signature(stage), token) == 404


def test_a_parameter_that_is_there_twice_is_not_believed(stage: Stage) -> None:
    stage.find(HUB)
    query = f"hub.mode=subscribe&hub.topic={TOPIC}&hub.challenge=a&hub.challenge=b&hub.lease_seconds=9"
    assert stage.runner.run(stage.callback.intent(stage.token(), query, stage.now)).status == 404


def test_a_hub_that_does_not_say_how_long_grants_what_was_asked_for(stage: Stage) -> None:
    stage.find(HUB)
    assert stage.intent(lease_seconds=None).status == 200
    assert stage.one.lease_ends_at == stage.now + 10 * DAY


def test_a_lease_without_end_has_one(stage: Stage) -> None:
    stage.find(HUB)
    assert stage.intent(lease_seconds="999999999999").status == 200
    assert stage.one.lease_ends_at <= stage.now + 366 * DAY


def test_a_hub_may_ask_again_whether_it_is_still_meant(stage: Stage) -> None:
    stage.subscribe()
    stage.now += 5 * DAY
    assert stage.intent(lease_seconds="864000").status == 200
    assert stage.one.lease_ends_at == stage.now + 10 * DAY


def test_nobody_makes_us_leave(stage: Stage) -> None:
    stage.subscribe()
    assert stage.intent(mode="unsubscribe").status == 404
    assert stage.one.state is SubscriptionState.ACTIVE


@pytest.mark.parametrize("active", [False, True])
def test_a_hub_may_deny_at_any_time(stage: Stage, active: bool) -> None:
    stage.subscribe() if active else stage.find(HUB)
    assert stage.intent(mode="denied", reason="too\nmany \x1b[1m", challenge=None).status == 200
    assert (stage.one.state, stage.one.reason) == (SubscriptionState.DENIED, "too many \x1b[1m")
    assert stage.push(CONTENT, signature(stage)) == 410
    stage.step(DAY)
    stage.find(HUB)
    assert len(stage.requests) == 1


def test_a_denial_of_another_topic_is_none(stage: Stage) -> None:
    stage.subscribe()
    assert stage.intent(mode="denied", topic="http://a.test/other").status == 404
    assert stage.one.state is SubscriptionState.ACTIVE


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_a_signed_push_makes_the_crawl_look(stage: Stage, method: str) -> None:
    stage.subscribe()
    assert stage.push(CONTENT, signature(stage, method)) == 202
    stage.step()
    assert stage.revisited == [TOPIC]
    assert stage.one.pushes == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda stage: None,
        lambda stage: "",
        lambda stage: "sha256=",
        lambda stage: "sha256",
        lambda stage: signature(stage, body=CONTENT + b" "),
        lambda stage: signature(stage).partition("=")[2],
        lambda stage: signature(stage).replace("sha256", "sha512"),
        lambda stage: signature(stage).replace("sha256", "md5"),
        lambda stage: signature(stage, "md5"),
        lambda stage: signature(stage)[:-1],
        lambda stage: f"sha256={hmac.new(b'', CONTENT, 'sha256').hexdigest()}",
        lambda stage: f"sha256={hmac.new(stage.token().encode(), CONTENT, 'sha256').hexdigest()}",
        lambda stage: "sha256=ü\ud800",
        lambda stage: f"sha256={'0' * 64}, {signature(stage)}",
    ],
)
def test_a_push_with_a_bad_signature_is_acknowledged_and_ignored(stage: Stage, make) -> None:
    stage.subscribe()
    assert stage.push(CONTENT, make(stage)) == 202
    stage.step(DAY)
    assert stage.revisited == []
    assert (stage.one.pushes, stage.one.ignored, stage.subscriber.counts.ignored) == (0, 1, 1)


def test_a_push_before_the_hub_has_asked_back_is_none(stage: Stage) -> None:
    stage.find(HUB)
    assert stage.push(CONTENT, signature(stage)) == 404
    stage.step(60)
    assert stage.revisited == []


def test_pushes_that_come_fast_are_told_together_and_the_last_is_not_lost(stage: Stage) -> None:
    stage.subscribe()
    for _ in range(10):
        stage.push(CONTENT, signature(stage))
    stage.step()
    for _ in range(10):
        stage.push(CONTENT, signature(stage))
        stage.step(1)
    assert stage.revisited == [TOPIC]
    stage.step(50)
    assert stage.revisited == [TOPIC] * 2
    stage.step(DAY)
    assert stage.revisited == [TOPIC] * 2
    assert stage.one.pushes == 20


def test_a_push_that_comes_while_the_crawl_is_told_of_one_is_told_too(stage: Stage) -> None:
    stage.subscribe()
    stage.push(CONTENT, signature(stage))
    revisit = stage.revisit

    async def told_meanwhile(one) -> None:
        await revisit(one)
        stage.revisit = revisit
        push = await stage.callback.begin(stage.token(), signed)
        push.signature.feed(CONTENT)
        await stage.callback.end(push, stage.now)

    signed = signature(stage)
    stage.revisit = told_meanwhile
    stage.step()
    stage.step(3600)
    assert stage.revisited == [TOPIC] * 2


def test_a_push_that_came_before_the_end_is_told_all_the_same(stage: Stage) -> None:
    stage.subscribe()
    stage.push(CONTENT, signature(stage))
    stage.intent(mode="denied")
    stage.step()
    assert stage.revisited == [TOPIC]
