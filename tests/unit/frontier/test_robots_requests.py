from __future__ import annotations

import pytest

from tests.contract.samples import NOW, entry, robots
from tests.rows import each_row
from webcrawl.frontier.policies import RobotsPolicy
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.frontier.robots_requests import (
    LEVEL,
    RobotsReply,
    answer,
    first_request,
    is_stored,
    origin_and_hops,
    read,
)
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.robots.rules import RobotsRules, RulesCache

ORIGIN = "https://a.test:8443"
POLICY = RobotsPolicy(
    ttl_seconds=1000.0, max_redirects=2, agents=("webcrawl",), rules=RulesCache(10, "webcrawl")
)


def asked() -> UrlEntry:
    return first_request(ORIGIN, "a.test", "https://a.test:8443/page")


def answered(
    reply: RobotsReply, one: UrlEntry | None = None, previous: RobotsRecord | None = None
) -> tuple[RobotsRecord, UrlEntry | None]:
    return answer(one or asked(), reply, previous, NOW, POLICY)


def redirect(location: str | None = "http://b.test/r", key: str | None = "b.test") -> RobotsReply:
    return RobotsReply(302, b"", location=location, location_key=key)


def test_the_request_goes_to_the_root_of_the_origin_and_before_every_page() -> None:
    one = asked()
    assert one.url == "https://a.test:8443/robots.txt"
    assert (one.key, one.kind, one.level, one.via) == (
        "a.test",
        Kind.ROBOTS,
        LEVEL,
        "https://a.test:8443/page",
    )
    assert origin_and_hops(one) == (ORIGIN, 0)
    assert max(entry("http://a/", 10_000).level, 0) < LEVEL


def test_a_first_request_has_no_place_in_a_stored_queue_and_a_hop_on_another_key_has() -> None:
    _, hop = answered(redirect())
    assert hop is not None
    assert not is_stored(asked())
    hop.position = 5
    assert is_stored(hop)
    assert is_stored(entry("http://a/"))


def test_a_text_holds_for_its_time_with_its_crawl_delay() -> None:
    record, hop = answered(RobotsReply(200, b"User-agent: webcrawl\nCrawl-delay: 7\nDisallow: /x"))
    assert hop is None
    assert (record.origin, record.state, record.expires_at) == (ORIGIN, RobotsState.RULES, NOW + 1000)
    assert record.crawl_delay_seconds == 7.0


@each_row("status", [400, 401, 403, 404, 410, 451])
def test_none_means_all_is_allowed(status: int) -> None:
    assert answered(RobotsReply(status, b""))[0].state == RobotsState.ALLOWED_ALL


@each_row("status", [429, 500, 503, 599])
def test_a_server_in_trouble_means_no(status: int) -> None:
    assert answered(RobotsReply(status, b""))[0].state == RobotsState.UNREACHABLE


def test_a_failure_means_no_and_longer_the_more_often() -> None:
    failed = RobotsReply(0, b"", error="timeout")
    first, _ = answered(failed)
    second, _ = answered(failed, previous=first)
    assert first.state == second.state == RobotsState.UNREACHABLE
    assert second.expires_at > first.expires_at > NOW


def test_retry_after_is_obeyed() -> None:
    record, _ = answered(RobotsReply(503, b"", retry_after_seconds=5000.0))
    assert record.expires_at >= NOW + 5000


def test_a_redirect_leaves_the_origin_pending_and_gives_the_next_hop() -> None:
    record, hop = answered(redirect())
    assert (record.origin, record.state) == (ORIGIN, RobotsState.PENDING)
    assert hop is not None
    assert (hop.url, hop.key, hop.kind, hop.redirects) == ("http://b.test/r", "b.test", Kind.ROBOTS, 1)
    assert hop.via == "https://a.test:8443/robots.txt"
    assert origin_and_hops(hop) == (ORIGIN, 1)


def test_what_a_hop_brings_is_for_the_origin_that_was_asked() -> None:
    _, hop = answered(redirect())
    record, _ = answered(RobotsReply(404, b""), hop)
    assert (record.origin, record.state) == (ORIGIN, RobotsState.ALLOWED_ALL)


def test_redirects_without_an_end_mean_no() -> None:
    one: UrlEntry | None = None
    for _ in range(POLICY.max_redirects):
        record, one = answered(redirect(), one)
        assert record.state == RobotsState.PENDING
    record, one = answered(redirect(), one)
    assert (record.state, one) == (RobotsState.UNREACHABLE, None)


@pytest.mark.parametrize(
    "reply",
    [
        redirect(None),
        redirect(key=None),
        RobotsReply(301, b"", None, "http://10.0.0.1/", "10.0.0.1", None, "private"),
    ],
    ids=["nowhere", "no-key", "refused"],
)
def test_redirects_that_may_not_be_followed_mean_no(reply: RobotsReply) -> None:
    assert answered(reply)[0].state == RobotsState.UNREACHABLE


def test_the_last_text_stays_in_force_while_the_server_is_in_trouble() -> None:
    previous = robots(ORIGIN, "User-agent: *\nDisallow: /x")
    record, _ = answered(RobotsReply(500, b""), previous=previous)
    assert (record.state, record.text) == (RobotsState.RULES, previous.text)


def test_a_large_text_can_be_read_elsewhere_and_is_the_same() -> None:
    reply = RobotsReply(200, b"User-agent: *\nCrawl-delay: 2\n" + b"Disallow: /x\n" * 1000)
    one = asked()
    elsewhere = read(one, reply, NOW, POLICY)
    assert elsewhere.body == b""
    assert answered(elsewhere, one)[0] == answered(reply, one)[0]


def test_rules_apply_to_the_path_and_to_the_selector_of_a_gopher_url() -> None:
    rules = RobotsRules("User-agent: *\nDisallow: /private\nDisallow: /1/menus\nAllow: /", "webcrawl")
    allowed = {
        path: rules.allows(f"gopher://g.example/{path}")
        for path in ("0/private/x", "0private", "1/menus/a", "0/menus/a", "", "0/robots.txt")
    }
    assert [path for path, is_allowed in allowed.items() if not is_allowed] == [
        "0/private/x",
        "0private",
        "1/menus/a",
    ]
    assert rules.allows("http://g.example/0/private/x")
    decisive = rules.line_for("gopher://g.example/0/private/x")
    assert decisive is not None
    assert (decisive.allow, decisive.line) == (False, 2)
