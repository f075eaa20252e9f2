"""Spiders that know nothing of the frontier keep their meaning on it, also over a stop and a restart."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.crawl import expectation
from tests.crawl.ordinary.spiders import signalled

SETTINGS = "tests.crawl.ordinary.settings"


def items_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def kinds(serve, crawl, folder):
    """(web, crawl, items) of the spider that asks for everything."""
    web = serve(hosts=2, pages=2)
    path = folder / "kinds.jsonl"
    crawled = crawl(
        spider="kinds",
        module=SETTINGS,
        arguments={"origin": web.web.origin(0)},
        options=["-O", f"{path}:jsonlines"],
        RETRY_TIMES=0,
    )
    return web, crawled, items_of(path)


def cases(kinds, name):
    return [item for item in kinds[2] if item.get("case") == name]


def told(kinds, path):
    return [item for item in cases(kinds, "told") if item["url"].endswith(path)]


def test_the_crawl_ends_well(kinds):
    assert kinds[1].assert_ended_well().assert_sound().queued == 0


def test_cb_kwargs_and_meta_arrive_as_they_were_given(kinds):
    assert cases(kinds, "start") == [{"case": "start", "word": "é", "kept": True}]


def test_headers_are_sent(kinds):
    (echo,) = cases(kinds, "headers")

    assert "X-Own: one" in echo["sent"]
    assert "X-Own: two" in echo["sent"]
    assert "User-Agent: mine/1" in echo["sent"]


def test_bodies_are_sent_and_tell_requests_apart(kinds):
    (post,), (get,) = cases(kinds, "post"), cases(kinds, "get")
    (form,), (as_json,) = cases(kinds, "form"), cases(kinds, "json")

    assert post["sent"].startswith("POST /x/echo?post ")
    assert post["sent"].endswith("\r\n\r\na=1\x00\xff")
    assert get["sent"].startswith("GET /x/echo?post ")
    assert form["sent"].endswith("q=%C3%A9")
    assert as_json["sent"].endswith("[1]")


def test_the_same_request_is_made_once_and_again_only_with_dont_filter(kinds):
    assert len(told(kinds, "/x/ok?again")) == 2


def test_a_request_with_the_meta_of_its_response_is_a_request_of_its_own(kinds):
    (copied,) = told(kinds, "/x/ok?copied")
    assert copied["kept"]


def test_errbacks_hear_of_statuses_and_of_failures(kinds):
    failed = {item["mark"]: item["why"] for item in cases(kinds, "failed")}

    assert failed == {
        "/x/status?code=404": "HttpError",
        "/x/reset": "DownloadFailedError",
        "/x/silent": "DownloadTimeoutError",
        # The last of 21 redirects.
        "chain": "Refused",
    }


def test_statuses_that_are_asked_for_reach_the_callback(kinds):
    assert [item["status"] for item in told(kinds, "/x/status?code=410")] == [410]


def test_redirects_reach_the_callback_with_their_history(kinds):
    (moved,) = told(kinds, "/x/ok?moved")
    (kept,) = [item for item in cases(kinds, "told") if item["status"] == 302]

    assert len(moved["from"]) == 1
    assert "redirect-chain" in moved["from"][0]
    assert kept["from"] == []


def test_a_request_of_the_spider_follows_twenty_redirects_and_a_link_three(kinds):
    asked = [unquote(url) for url in expectation.asked(kinds[0])]

    # A chain is cut before its last URL, the page behind it.
    assert Counter(url.rpartition("behind-")[2] for url in asked if "behind-" in url) == {
        "own": 21,
        "link": 4,
    }
    assert not [url for url in asked if "/x/ok?behind-" in url.partition("goal=")[0]]


def test_other_schemes_and_callbacks_that_cannot_be_written_down_work(kinds):
    assert [item["text"] for item in cases(kinds, "data")] == ["hello"]
    assert len(cases(kinds, "lambda")) == 1
    assert "cannot be serialized" in kinds[1].stderr


def test_links_of_a_page_item_go_to_parse_and_the_item_to_the_feed(kinds):
    urls = {f"{kinds[0].web.origin(0)}/x/ok?page{number}" for number in range(3)}

    assert {item["url"] for item in cases(kinds, "parse")} == urls
    assert {item["depth"] for item in cases(kinds, "parse")} == {1}
    (page,) = [item for item in kinds[2] if item.get("title") == "of an item"]
    assert page["links_count"] == len(urls) + 1
    assert "links" not in page


def test_a_pipeline_may_drop_items(kinds):
    assert cases(kinds, "dropped") == []


def test_all_who_listen_hear_of_items_and_one_who_fails_is_told(serve, crawl):
    web = serve(hosts=1, pages=1)
    crawled = crawl(spider="heard", module=SETTINGS, arguments={"origin": web.web.origin(0)})

    assert crawled.status == 0
    for number in range(3):
        assert f"plain: {number} of {number} by heard" in crawled.stderr
        assert f"waiting: {number}" in crawled.stderr
    assert "counted: 3" in crawled.stderr
    kept = (crawled.path / "unanticipated.log").read_text()
    assert kept.count("RuntimeError: a handler fails") == 3
    assert kept.count("RuntimeError: another fails later") == 3


NOT_SENT = {"robots_parsed", "memusage_warning_reached", "request_dropped"}
"""The first never, the second when memory runs short, the third not for what the frontier drops later."""


def test_the_signals_that_are_sent_are_those_of_the_table(serve, crawl, folder):
    web = serve(hosts=1, pages=1)
    page = (Path(__file__).parents[2] / "docs/reference/scrapy.md").read_text(encoding="utf-8")
    table = page.partition("## Signals\n")[2].partition("\n## ")[0]
    rows = [
        re.findall(r"`([a-z_]+)`", line.split("|")[1]) for line in table.splitlines() if line[:3] == "| `"
    ]
    heard_by = signalled.NAMES
    crawled = crawl(
        spider="signalled",
        module=SETTINGS,
        arguments={"origin": web.web.origin(0)},
        options=["-O", f"{folder / 'signalled.jsonl'}:jsonlines"],
    )

    assert crawled.status == 0, crawled.stderr
    heard = {*re.findall(r"heard: (\w+)", crawled.stderr)}
    assert sorted(name for names in rows for name in names) == sorted(heard_by)
    assert {*heard_by} - heard == NOT_SENT


def test_every_request_is_in_the_log_with_where_it_was_found(kinds):
    web, crawled, _ = kinds
    start = f"{web.web.origin(0)}/x/ok?start"

    assert crawled.line(start)["via"] is None
    assert crawled.line(f"{web.web.origin(0)}/x/ok?copied")["via"] == start
    assert crawled.line(f"{web.web.origin(0)}/x/ok?copied")["depth"] == 1


def test_priorities_decide_the_order_on_a_host(serve, crawl):
    web = serve(hosts=1, pages=1)
    crawl(spider="ordered", module=SETTINGS, arguments={"origin": web.web.origin(0)}).assert_ended_well()

    asked = [url.partition("?")[2] for url in expectation.asked(web)]
    assert asked == ["start", *[str(number) for number in range(8, -1, -1)]]


def test_a_callback_that_raises_costs_its_page_and_nothing_else(serve, crawl, folder):
    web = serve(hosts=1, pages=1)
    path = folder / "failing.jsonl"
    crawled = crawl(
        spider="ordered",
        module=SETTINGS,
        arguments={"origin": web.web.origin(0), "failing": "2,5"},
        options=["-O", f"{path}:jsonlines"],
    )

    assert crawled.status == 0
    assert {item["number"] for item in items_of(path)} == set(range(9)) - {2, 5}
    kept = (crawled.path / "unanticipated.log").read_text()
    assert kept.count("RuntimeError: the callback of number") == 2
    assert crawled.assert_sound().queued == 0


def test_many_unanticipated_errors_stop_the_crawl_cleanly(serve, crawl):
    web = serve(hosts=1, pages=1)
    how = {"spider": "ordered", "module": SETTINGS}
    numbers = {"origin": web.web.origin(0), "count": "60"}
    every = ",".join(map(str, range(60)))
    broken = crawl(**how, arguments={**numbers, "failing": every}, ERRORS_UNANTICIPATED_MAX=10)
    figures = broken.assert_sound()

    assert broken.status == 1
    assert "unanticipated" in broken.stderr
    assert 10 < figures.totals["done"] < 60
    mended = crawl(**how, of=broken, arguments=numbers)
    assert mended.status == 0
    assert mended.assert_sound().totals["done"] == 61


def test_requests_survive_a_stop_and_a_restart_without_pickle(serve, start, crawl, folder):
    web = serve(hosts=1, pages=1)
    path = folder / "resumed.jsonl"
    how = {
        "spider": "ordered",
        "module": SETTINGS,
        "arguments": {"origin": web.web.origin(0)},
        "options": ["-o", f"{path}:jsonlines"],
        "POLITENESS_MIN_DELAY": 0.3,
    }
    first = start(**how)
    first.until_logged(4)
    first.signal()
    first.wait().assert_ended_well()
    waiting = first.query("SELECT payload FROM queue")
    stopped_with = len(items_of(path))
    second = crawl(of=first, **how).assert_ended_well()

    assert 1 <= len(waiting) <= 8
    assert all(isinstance(json.loads(payload), dict) for (payload,) in waiting)
    assert stopped_with == 9 - len(waiting)
    items = items_of(path)
    assert Counter(item["number"] for item in items) == Counter(range(9))
    for item in items:
        number = item["number"]
        assert item == {"number": number, "mark": ["kept", number], "meta": number, "sent": str(number)}
    assert second.fetched() == dict.fromkeys(set(expectation.asked(web)), 1)


def test_a_request_that_a_callback_asks_for_again_ends_after_retry_times(serve, crawl, folder):
    web = serve(hosts=1, pages=1)
    path = folder / "again.jsonl"
    crawl(
        spider="again",
        module=SETTINGS,
        arguments={"origin": web.web.origin(0)},
        options=["-O", f"{path}"],
        RETRY_TIMES=2,
        CLOSESPIDER_PAGECOUNT=20,
    ).assert_ended_well()

    assert Counter(expectation.asked(web)) == {
        f"{web.web.origin(0)}/x/ok?again": 3,
        f"{web.web.origin(0)}/x/status?code=404": 3,
    }
    assert [item["times"] for item in items_of(path)] == [0, 1, 2]


def test_another_spider_and_an_overwritten_feed_are_refused_on_a_jobdir(serve, crawl, start):
    web = serve(hosts=1, pages=1)
    first = start(
        spider="idiom",
        module=SETTINGS,
        arguments={"origin": web.web.origin(0)},
        options=["-O", "items.jsonl"],
        CLOSESPIDER_PAGECOUNT=1,
    ).wait()
    before = first.figures()
    again = {"of": first, "module": SETTINGS, "arguments": {"origin": web.web.origin(0)}}
    other = crawl(spider="again", **again)
    over = crawl(spider="idiom", options=["-O", "items.jsonl"], **again)

    assert "-o items.jsonl" in first.stderr.partition("to go on:")[2]
    assert (other.status, over.status) == (2, 2)
    assert f"JOBDIR {first.path} is a crawl of the spider idiom" in other.stderr
    assert "must not overwrite items.jsonl" in over.stderr
    assert first.figures() == before
    onward = crawl(spider="idiom", options=["-o", "items.jsonl"], **again).assert_ended_well()
    assert len(items_of(onward.path.parent / "items.jsonl")) == 2


def test_a_kept_connection_holds_no_request(serve, crawl, folder):
    web, path = serve(hosts=40, pages=40), folder / "alive.jsonl"
    origins = ",".join(web.web.origin(number) for number in range(40))
    crawl(
        spider="chained", module=SETTINGS, arguments={"origins": origins}, options=["-O", f"{path}:jsonlines"]
    )

    [item] = items_of(path)
    assert 1 <= item["alive"] <= 20
