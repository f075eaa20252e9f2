"""The dupefilter for other schedulers, on a real Redis: what it takes for the same, what it costs, who can use it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import redis
from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.http import FormRequest
from scrapy.utils.test import get_crawler
from scrapy_redis.scheduler import Scheduler as RedisScheduler

from webcrawl.dupefilter import RedisDupeFilter
from webcrawl.storage.redis.marks import BUCKET_FULL
from webcrawl.urls.canonical import canonical
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.redis_server import RedisServer

URL = "http://a.example/x"


class Books(Spider):
    name = "books"


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with closing(redis_server.client(decode_responses=True)) as made:
        yield made


@pytest.fixture
def dupefilter(client: redis.Redis) -> RedisDupeFilter:
    return RedisDupeFilter(client, "books:dupefilter")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Request(URL), Request(URL), True),
        (Request(f"{URL}/%7ey"), Request(f"{URL}/~y#part"), True),
        (Request(URL), Request(f"{URL}?"), True),
        (Request(URL, headers={"A": "b"}, meta={"a": 1}), Request(URL), True),
        (Request(f"{URL}?a=1&b=2"), Request(f"{URL}?b=2&a=1"), False),
        (Request(URL), Request(URL, method="HEAD"), False),
        (Request(URL, method="POST", body=b"a"), Request(URL, method="POST", body=b"b"), False),
        (FormRequest(URL, formdata={"a": "1"}), FormRequest(URL, formdata={"a": "1"}), True),
        (Request("data:,a"), Request("data:,b"), False),
        (Request("data:,a"), Request("data:,a"), True),
    ],
)
def test_requests_are_the_same_that_are_so_to_the_frontier(
    dupefilter: RedisDupeFilter, one: Request, other: Request, same: bool
) -> None:
    assert not dupefilter.request_seen(one)
    assert dupefilter.request_seen(other) is same


def test_a_plain_request_has_the_frontier_s_own_fingerprint(
    dupefilter: RedisDupeFilter, client: redis.Redis
) -> None:
    dupefilter.request_seen(Request(URL))
    number = fingerprint(canonical(URL))
    kept = f"{'-' * (number < 0)}{abs(number) // 10}0"
    assert client.smembers("books:dupefilter:0") == {kept}


def test_many_are_kept_in_small_sets_of_integers_and_all_are_known(
    redis_server: RedisServer, dupefilter: RedisDupeFilter, client: redis.Redis
) -> None:
    with closing(redis_server.client()) as its:
        other = RedisDupeFilter(its, "books:dupefilter")
        requests = [Request(f"{URL}/{number}") for number in range(3000)]
        assert [(other, dupefilter)[n % 2].request_seen(request) for n, request in enumerate(requests)].count(
            True
        ) == 0
        assert all((dupefilter, other)[n % 2].request_seen(request) for n, request in enumerate(requests))
        assert len(dupefilter) == len(other) == 3000
    buckets = [name for name in client.keys("books:dupefilter:*") if not name.endswith("totals")]
    assert len(buckets) == 3000 // BUCKET_FULL
    assert {client.object("ENCODING", name) for name in buckets} == {"intset"}
    assert sum(client.scard(name) for name in buckets) == 3000
    used = sum(client.memory_usage(name) for name in client.keys("books:dupefilter:*"))
    assert used / 3000 < 9


def test_nothing_is_forgotten_but_on_request(redis_server: RedisServer, client: redis.Redis) -> None:
    one = RedisDupeFilter(client, "books:dupefilter")
    other = RedisDupeFilter(redis_server.client(), "books:dupefilter")
    for number in range(1500):
        one.request_seen(Request(f"{URL}/{number}"))
    one.close("finished")
    assert other.request_seen(Request(f"{URL}/0"))
    other.clear()

    assert redis_server.call("DBSIZE") == 0
    assert not other.request_seen(Request(f"{URL}/0"))
    other.close()


def opened(scheduler_class: Any, server: RedisServer, name: str = "books", **more: Any) -> Any:
    """A scheduler as a crawl has it, with this dupefilter."""
    settings = {
        "REDIS_URL": server.url,
        "DUPEFILTER_CLASS": "webcrawl.dupefilter.RedisDupeFilter",
        # The other one asks the engine, which is not there.
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
        **more,
    }
    crawler = get_crawler(type("Named", (Books,), {"name": name}), settings)
    crawler.spider = crawler._create_spider()
    scheduler = scheduler_class.from_crawler(crawler)
    scheduler.open(crawler.spider)
    return scheduler


def test_scrapy_s_own_scheduler_filters_by_it(redis_server: RedisServer) -> None:
    one, other = (opened(Scheduler, redis_server) for _ in range(2))

    assert one.enqueue_request(Request(URL))
    assert not other.enqueue_request(Request(f"{URL}#part"))
    assert other.enqueue_request(Request(URL, dont_filter=True))
    one.close("finished")
    assert not other.enqueue_request(Request(URL))
    assert other.stats.get_value("dupefilter/filtered") == 2
    other.close("finished")


@pytest.mark.filterwarnings("ignore:Passing a 'spider' argument")  # scrapy-redis does
@pytest.mark.parametrize("persist", [True, False])
def test_the_scheduler_of_scrapy_redis_filters_by_it(redis_server: RedisServer, persist: bool) -> None:
    one, other = (opened(RedisScheduler, redis_server, SCHEDULER_PERSIST=persist) for _ in range(2))

    assert one.enqueue_request(Request(URL))
    assert not other.enqueue_request(Request(f"{URL}?"))
    assert len(other) == 1
    one.close("finished")
    assert other.enqueue_request(Request(URL)) is not persist


def test_spiders_do_not_know_each_other_s_and_the_key_can_be_given(redis_server: RedisServer) -> None:
    given = {"SCHEDULER_DUPEFILTER_KEY": "{%(spider)s}:seen"}
    for name, more in (("a", {}), ("b", {}), ("c", given)):
        scheduler = opened(Scheduler, redis_server, name, **more)
        assert scheduler.enqueue_request(Request(URL))
        scheduler.close("finished")

    with closing(redis_server.client(decode_responses=True)) as client:
        assert set(client.keys()) == {
            f"{key}:{part}"
            for key in ("a:dupefilter", "b:dupefilter", "{c}:seen")
            for part in ("0", "totals")
        }


def test_it_works_on_a_cluster_with_a_tag_in_its_key(redis_cluster: Any) -> None:
    with closing(redis_cluster.client()) as client:
        dupefilter = RedisDupeFilter(client, "{books}:dupefilter")
        requests = [Request(f"{URL}/{number}") for number in range(700)]
        assert not any(dupefilter.request_seen(request) for request in requests)
        assert all(dupefilter.request_seen(request) for request in requests)
        dupefilter.clear()
        assert client.dbsize(target_nodes="primaries") == 0


def test_what_is_filtered_is_told_once_or_always(
    dupefilter: RedisDupeFilter, caplog: pytest.LogCaptureFixture
) -> None:
    spider = get_crawler(Books)._create_spider()
    chatty = RedisDupeFilter(dupefilter._server, "books:dupefilter", debug=True)
    with caplog.at_level("DEBUG", "webcrawl.dupefilter"):
        for one in (dupefilter, dupefilter, chatty, chatty):
            one.log(Request(URL), spider)

    assert [URL in message for message in caplog.messages] == [True] * 3
