"""How Redis is reached is told as to scrapy-redis, and what processes must agree on is told apart."""

from __future__ import annotations

from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from tests.rows import each_row
from webcrawl.config import Configuration
from webcrawl.crawl.rules import CrawlRules
from webcrawl.crawl.schemes import supported_schemes
from webcrawl.crawl.storage import agreed
from webcrawl.spiders.broad import BroadSpider
from webcrawl.storage.redis.connection import connection_parameters


@each_row(
    ("given", "parameters"),
    [
        ({"REDIS_URL": "redis://10.0.0.5:7000/3"}, {"url": "redis://10.0.0.5:7000/3"}),
        (
            {"REDIS_HOST": "10.0.0.5", "REDIS_PORT": 7000, "REDIS_DB": 3},
            {"host": "10.0.0.5", "port": 7000, "db": 3},
        ),
        (
            {"REDIS_PARAMS": {"password": "word", "socket_timeout": 7}},
            {"password": "word", "socket_timeout": 7},
        ),
        (
            {"REDIS_PARAMS": '{"username": "u"}', "REDIS_URL": "redis://h"},
            {"username": "u", "url": "redis://h"},
        ),
        ({"REDIS_DECODE_RESPONSES": True}, {"socket_timeout": 30}),
    ],
)
def test_settings_of_scrapy_redis_mean_what_they_mean_there(given, parameters):
    found = connection_parameters(Settings(given))
    assert parameters.items() <= found.items()
    assert "decode_responses" not in found
    assert "redis_cls" not in found


def test_the_connection_of_a_crawl_that_is_being_made_is_found_too():
    frozen = Settings({"REDIS_URL": "redis://h:1/2", "REDIS_PARAMS": {"socket_timeout": 3}})
    frozen.freeze()
    assert connection_parameters(frozen)["url"] == "redis://h:1/2"
    assert frozen.getdict("REDIS_PARAMS") == {"socket_timeout": 3}


def told(settings, **arguments):
    crawler = get_crawler(BroadSpider, settings)
    crawler.spider = BroadSpider(**arguments)
    configuration = Configuration.from_settings(Settings(settings))
    return agreed(
        configuration, CrawlRules(configuration), crawler.spider, supported_schemes(crawler.settings)
    )


@each_row(
    ("settings", "arguments", "name"),
    [
        ({"POLITENESS_KEY": "host"}, {}, "POLITENESS_KEY"),
        ({"DEPTH_LIMIT": 3}, {}, "scope:DEPTH_LIMIT"),
        ({"EXTENSIONS_REFUSED": "exe"}, {}, "scope:EXTENSIONS_REFUSED"),
        ({"FETCH_PRIVATE_ADDRESSES": "10.0.0.0/8"}, {}, "scope:FETCH_PRIVATE_ADDRESSES"),
        ({}, {"allow": "/news/"}, "scope:allow"),
        (
            {"DOWNLOAD_HANDLERS": {"ftp": "webcrawl.fetching.ftp.FtpDownloadHandler"}},
            {},
            "scope:DOWNLOAD_HANDLERS",
        ),
        ({}, {"domains": "example.org,example.com"}, "scope:domains"),
    ],
)
def test_each_setting_of_the_scope_is_told(settings, arguments, name):
    plain, changed = told({}), told(settings, **arguments)
    assert {key for key in plain if plain[key] != changed[key]} == {name}


def test_the_order_of_names_is_no_difference():
    one, other = told({}, domains="a.example,b.example"), told({}, domains="b.example,a.example")
    assert one == other
