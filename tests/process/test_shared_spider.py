"""A spider of one's own on several workers: every callback runs, whichever of them it is, and none runs twice."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.crawl import expectation
from tests.crawl.ordinary.spiders.shared import PAGES


@pytest.fixture(scope="module")
def shared(serve, start, serve_redis, folder):
    """The web, two workers that have ended, and the items of both."""
    web = serve(hosts=6, pages=6)
    origins = [web.web.origin(host) for host in range(6)]
    redis = serve_redis()
    workers = [
        start(
            spider="shared",
            module="tests.crawl.ordinary.settings",
            arguments={"origins": ",".join(origins)},
            options=["-O", f"{folder}/{name}.jsonl:jsonlines"],
            REDIS_URL=redis.url,
            WORKER_NAME=name,
            POLITENESS_KEY="host",
            POLITENESS_MIN_DELAY=0.25,
        )
        for name in ("a", "b")
    ]
    for worker in workers:
        worker.wait().assert_ended_well()
    texts = [(folder / f"{name}.jsonl").read_text(encoding="utf-8") for name in ("a", "b")]
    items = [json.loads(line) for text in texts for line in text.splitlines()]
    return web, workers, items, origins


def test_every_request_is_made_once_start_urls_too(shared):
    web, workers, _, origins = shared
    paths = ["ok?start", "echo?form", "status?code=404", *(f"ok?page{number}" for number in range(PAGES))]
    expected = Counter(f"{origin}/x/{path}" for origin in origins for path in paths)

    assert Counter(expectation.asked(web)) == expected
    assert Counter(line["url"] for worker in workers for line in worker.lines()) == expected
    assert all(worker.lines() for worker in workers)


def test_every_callback_gets_what_was_given_to_it(shared):
    _, _, items, origins = shared
    told = Counter((item["case"], item["origin"], item.get("number")) for item in items)

    assert told == Counter(
        (case, origin, number)
        for origin in origins
        for case, number in [
            ("start", None),
            ("form", None),
            ("lost", None),
            *(("page", number) for number in range(PAGES)),
        ]
    )
    assert {item["sent"] for item in items if item["case"] == "form"} == {"q=%C3%A9"}


def test_what_no_other_worker_could_make_is_dropped_and_said(shared):
    _, workers, _, _ = shared
    said = [worker.stderr for worker in workers if "is dropped" in worker.stderr]

    assert said
    assert all("callback Shared.parse.<locals>.<lambda>" in text for text in said)
    assert all(text.count("is dropped") == 1 for text in said)


def test_a_spider_of_scrapy_redis_makes_its_own_requests_of_what_is_pushed(
    serve, start, redis_server, folder
):
    web = serve(hosts=2, pages=2)
    urls = [f"{web.web.origin(host)}/x/ok?fed" for host in range(2)]
    path = folder / "fed.jsonl"
    worker = start(
        spider="fed",
        module="tests.crawl.ordinary.settings",
        options=["-O", f"{path}:jsonlines"],
        REDIS_URL=redis_server.url,
    )
    worker.until(lambda: "waiting for URLs to be pushed to fed:jobs" in worker.stderr)
    pushed = [json.dumps([urls[0], 1]), json.dumps([urls[1], 2]), "[1", "[1, 2, 3]", json.dumps([urls[0], 0])]
    redis_server.call("LPUSH", "fed:jobs", *pushed)
    worker.wait().assert_ended_well()

    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {item["url"]: item["number"] for item in items} == {urls[0]: 1, urls[1]: 2}
    kept = [json.loads(one) for one in redis_server.call("LRANGE", "fed:jobs:wrong", 0, -1)]
    assert {one["entry"]: one["reason"].partition(":")[0] for one in kept} == dict.fromkeys(
        pushed[2:4], "make_request_from_data"
    ) | {pushed[4]: "make_request_from_data returned no request"}
    assert expectation.asked(web).count(urls[0]) == expectation.asked(web).count(urls[1]) == 1
