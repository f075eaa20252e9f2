"""Every row of the table of Scrapy's settings names what shows it.

Settings whose effect lies in Scrapy's own code are shown by a crawl of a project that sets as many of them as one
crawl can have: the code that acts on a setting must read the value that the project gave. If a component is left out
or replaced, nothing reads it. What can be seen from outside as well is looked at besides.
"""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.exceptions import NotConfigured
from scrapy.extensions import feedexport, httpcache
from scrapy.extensions.memusage import MemoryUsage
from scrapy.settings import BaseSettings, Settings, default_settings
from scrapy.shell import Shell
from scrapy.spidermiddlewares.httperror import HttpErrorMiddleware
from scrapy.spidermiddlewares.referer import RefererMiddleware
from scrapy.spiders import CrawlSpider
from scrapy.utils import log

from tests.commands import own_process
from tests.rows import each_row
from webcrawl import settings as ours
from webcrawl.commands import check
from webcrawl.config.scrapy_settings import ATTRIBUTES, ROWS

ROOT = Path(__file__).parents[2]
HERE = "tests/crawl/test_scrapy_settings.py"


def names_of(effect, rows=ROWS):
    """The names of the rows with this effect."""
    return [name for row in rows if row.effect == effect for name in row.names]


class Plain(Spider):
    name = "plain"


READ = {
    "scrapy.spidermiddlewares.depth": "DEPTH_PRIORITY DEPTH_STATS_VERBOSE",
    "webcrawl.fetching.network": "DOWNLOAD_BIND_ADDRESS DNSCACHE_SIZE DNS_TIMEOUT",
    "scrapy.utils.ssl": "DOWNLOAD_TLS_MAX_VERSION DOWNLOAD_TLS_MIN_VERSION DOWNLOAD_VERIFY_CERTIFICATES "
    "DOWNLOADER_CLIENT_TLS_CIPHERS",
    "scrapy.downloadermiddlewares.cookies": "COOKIES_DEBUG COOKIES_ENABLED",
    "scrapy.downloadermiddlewares.httpproxy": "HTTPPROXY_AUTH_ENCODING",
    "scrapy.downloadermiddlewares.defaultheaders": "DEFAULT_REQUEST_HEADERS",
    "scrapy.downloadermiddlewares.httpauth": "HTTPAUTH_DOMAIN HTTPAUTH_PASS HTTPAUTH_USER",
    "scrapy.spidermiddlewares.referer": "REFERRER_POLICIES REFERRER_POLICY",
    "scrapy.downloadermiddlewares.httpcache": "HTTPCACHE_ENABLED HTTPCACHE_POLICY HTTPCACHE_STORAGE",
    "scrapy.extensions.httpcache": "HTTPCACHE_DIR HTTPCACHE_EXPIRATION_SECS HTTPCACHE_GZIP "
    "HTTPCACHE_IGNORE_HTTP_CODES HTTPCACHE_IGNORE_SCHEMES",
    "scrapy.spidermiddlewares.httperror": "HTTPERROR_ALLOWED_CODES",
    "scrapy.core.downloader.handlers.ftp": "FTP_PASSIVE_MODE FTP_PASSWORD FTP_USER",
    "scrapy.core.downloader.middleware": "DOWNLOADER_MIDDLEWARES DOWNLOADER_MIDDLEWARES_BASE",
    "scrapy.core.downloader.handlers": "DOWNLOAD_HANDLERS DOWNLOAD_HANDLERS_BASE",
    "scrapy.extension": "EXTENSIONS EXTENSIONS_BASE",
    "scrapy.core.spidermw": "SPIDER_MIDDLEWARES SPIDER_MIDDLEWARES_BASE",
    "scrapy.pipelines": "ITEM_PIPELINES ITEM_PIPELINES_BASE",
    "scrapy.core.scraper": "ITEM_PROCESSOR CONCURRENT_ITEMS",
    "scrapy.utils.misc": "WARN_ON_GENERATOR_RETURN_VALUE",
    "scrapy.logformatter": "DEFAULT_DROPITEM_LOG_LEVEL",
    "scrapy.spiderloader": "SPIDER_LOADER_CLASS SPIDER_LOADER_WARN_ONLY SPIDER_MODULES",
    "scrapy.cmdline": "COMMANDS_MODULE",
    "scrapy.extensions.feedexport": "FEEDS FEED_EXPORTERS FEED_EXPORTERS_BASE FEED_STORAGES",
    "scrapy.utils.conf": "FEED_EXPORT_BATCH_ITEM_COUNT FEED_EXPORT_ENCODING FEED_EXPORT_FIELDS FEED_EXPORT_INDENT "
    "FEED_URI_PARAMS",
    "scrapy.pipelines.files": "AWS_ACCESS_KEY_ID AWS_ENDPOINT_URL AWS_REGION_NAME AWS_SECRET_ACCESS_KEY "
    "AWS_SESSION_TOKEN AWS_USE_SSL AWS_VERIFY FILES_STORE FILES_STORE_GCS_ACL FILES_STORE_S3_ACL GCS_PROJECT_ID",
    "scrapy.utils.boto": "AWS_MAX_POOL_CONNECTIONS",
    "scrapy.pipelines.images": "IMAGES_STORE IMAGES_STORE_GCS_ACL IMAGES_STORE_S3_ACL",
    "scrapy.extensions.closespider": "CLOSESPIDER_ERRORCOUNT CLOSESPIDER_ITEMCOUNT "
    "CLOSESPIDER_PAGECOUNT_NO_ITEM CLOSESPIDER_TIMEOUT_NO_ITEM",
    "scrapy.extensions.memdebug": "MEMDEBUG_ENABLED",
    "scrapy.extensions.memusage": "MEMUSAGE_CHECK_INTERVAL_SECONDS MEMUSAGE_LIMIT_MB MEMUSAGE_NOTIFY_MAIL "
    "MEMUSAGE_WARNING_MB",
    "scrapy.utils.log": "BOT_NAME LOG_DATEFORMAT LOG_ENCODING LOG_FILE LOG_FILE_APPEND LOG_FORMAT LOG_LEVEL "
    "LOG_INSTALL_ROOT_HANDLER LOG_SHORT_NAMES LOG_STDOUT LOG_VERSIONS",
    "scrapy.statscollectors": "STATS_DUMP",
    "scrapy.mail": "MAIL_FROM MAIL_HOST MAIL_PASS MAIL_PORT MAIL_SSL MAIL_TLS MAIL_USER",
    "scrapy.extensions.periodic_log": "PERIODIC_LOG_DELTA PERIODIC_LOG_STATS PERIODIC_LOG_TIMING_ENABLED",
}
"""The modules that act on a setting, each with the settings that it reads in the crawl of ``read_settings``."""

SAME = {"COMMANDS_MODULE", "FEED_EXPORTERS_BASE", "LOG_INSTALL_ROOT_HANDLER"}
"""Settings of which the crawl leaves the default, or that every crawl changes: it must be read all the same."""
FEED = "scrapy.extensions.feedexport"


def contracts(crawler):
    return check._contracts(crawler.settings)


def open_blocking(crawler):
    spider = crawler._create_spider("plain")
    with feedexport.FTPFeedStorage("ftp://me:it@127.0.0.1/items").open(spider) as file:
        assert Path(file.name).parent == Path(crawler.settings["FEED_TEMPDIR"])


def storage(kind, uri):
    return lambda crawler: kind.from_crawler(crawler, uri, feed_options=None)


def rfc_policy(crawler):
    return httpcache.RFC2616Policy(crawler.settings)


def exporter(crawler):
    return feedexport.FeedExporter.from_crawler(crawler)


def stats_mailer(crawler):
    # Scrapy warns of its module for mails when it is imported.
    from scrapy.extensions.statsmailer import StatsMailer

    # Its sender of mails needs a reactor.
    with suppress(RuntimeError):
        StatsMailer.from_crawler(crawler)


def part(kind):
    return lambda crawler: kind.from_crawler(crawler)


APART = {
    "CRAWLSPIDER_FOLLOW_LINKS": (False, lambda crawler: CrawlSpider.from_crawler(crawler, name="rules")),
    "DEFAULT_ITEM_CLASS": ("collections.UserDict", Shell),
    "FEED_FORMAT": ("csv", exporter),
    "FEED_STORAGES_BASE": ({"file": f"{FEED}.FileFeedStorage"}, exporter),
    "FEED_STORAGE_FTP_ACTIVE": (True, storage(feedexport.FTPFeedStorage, "ftp://me:it@127.0.0.1/items")),
    "FEED_STORAGE_GCS_ACL": ("own", storage(feedexport.GCSFeedStorage, "gs://bucket/items")),
    "FEED_STORAGE_S3_ACL": ("own", storage(feedexport.S3FeedStorage, "s3://bucket/items")),
    "FEED_STORE_EMPTY": (False, exporter),
    "FEED_TEMPDIR": ("", open_blocking),
    "FEED_URI": ("items.own", exporter),
    "HTTPCACHE_ALWAYS_STORE": (True, rfc_policy),
    "HTTPCACHE_DBM_MODULE": ("dbm.dumb", lambda crawler: httpcache.DbmCacheStorage(crawler.settings)),
    "HTTPCACHE_IGNORE_MISSING": (True, part(HttpCacheMiddleware)),
    "HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS": (["no-store"], rfc_policy),
    "HTTPERROR_ALLOW_ALL": (True, part(HttpErrorMiddleware)),
    "HTTPPROXY_ENABLED": (False, part(HttpProxyMiddleware)),
    "LOG_COLOR": (False, lambda crawler: log._get_handler(crawler.settings)),
    "MEMUSAGE_ENABLED": (False, part(MemoryUsage)),
    "REFERER_ENABLED": (False, part(RefererMiddleware)),
    "SPIDER_CONTRACTS": ({"tests.Own": 1}, contracts),
    "SPIDER_CONTRACTS_BASE": ({"tests.Own": 1}, contracts),
    "STATSMAILER_RCPTS": (["nobody@localhost"], stats_mailer),
}
"""Settings that the crawl cannot show beside the others: a value, and the code that acts on it in this project."""

SHOWN = {
    "tests/install/test_robots_names.py": {
        "test_what_robots_txt_forbids_to_any_name_of_the_crawl_is_not_requested": "ROBOTSTXT_USER_AGENT",
    },
    HERE: {
        "test_parts_are_those_that_the_project_names": "STATS_CLASS LOG_FORMATTER",
        "test_the_event_loop_and_its_threads": "ASYNCIO_EVENT_LOOP REACTOR_THREADPOOL_MAXSIZE",
        "test_commands_read_what_is_theirs": "EDITOR TEMPLATES_DIR NEWSPIDER_MODULE",
    },
    "tests/crawl/test_given_settings.py": {
        "test_the_given_statuses_and_exceptions_decide_what_is_tried_again": "RETRY_EXCEPTIONS RETRY_HTTP_CODES",
        "test_redirects_are_not_followed": "REDIRECT_ENABLED",
        "test_the_larger_delay_is_kept": "DOWNLOAD_DELAY DOWNLOAD_SLOTS",
    },
    "tests/crawl/test_stats.py": {"test_broad_counts_the_same_pages_alike": "RETRY_ENABLED"},
    "tests/install/test_addon.py": {"test_the_items_are_the_same": "ADDONS"},
    "tests/process/test_refused_start.py": {
        "test_a_crawl_of_deferreds_says_a_line_and_does_not_end_well": "FORCE_CRAWLER_PROCESS"
    },
    "tests/unit/config/test_configuration.py": {
        "test_a_right_value_is_read_as_its_type": " ".join(names_of("own"))
    },
    "tests/unit/config/test_scrapy_settings.py": {
        "test_a_setting_without_effect_is_told_with_what_holds": " ".join(names_of("none")),
        "test_autothrottle_raises_two_delays_if_it_is_enabled": "AUTOTHROTTLE_ENABLED AUTOTHROTTLE_START_DELAY "
        "AUTOTHROTTLE_MAX_DELAY",
        "test_a_value_that_cannot_be_applied_is_refused": "TWISTED_REACTOR TWISTED_REACTOR_ENABLED",
    },
    "tests/crawl/test_essential_parts.py": {
        "test_a_crawl_that_lacks_an_essential_part_does_not_start": "SCHEDULER DOWNLOADER"
    },
    "tests/unit/downloadermiddlewares/test_stats.py": {"test_it_can_be_switched_off": "DOWNLOADER_STATS"},
    "tests/unit/fetching/test_cut_bodies.py": {
        "test_whoever_asks_for_an_exception_on_lost_data_gets_it": "DOWNLOAD_FAIL_ON_DATALOSS"
    },
    "tests/unit/test_logs.py": {"test_the_level_is_read_from_the_settings": "LOG_ENABLED"},
}
"""The tests that show the other settings, by file and function."""


ATTRIBUTED = {
    "allowed_domains",
    "custom_settings",
    "download_delay",
    "handle_httpstatus_list",
    "http_auth_domain",
}
ATTRIBUTED |= {"http_pass", "http_user", "name", "start_urls", "user_agent"}
"""The attributes of spiders that the crawl shows. Those without effect are shown with the settings without one."""


@pytest.fixture(scope="module")
def crawled(serve, crawl):
    web = serve(hosts=1, pages=1)
    return crawl(
        spider="setting_reader",
        module="tests.crawl.ordinary.read_settings",
        arguments={"origin": web.web.origin(0)},
        HTTPAUTH_DOMAIN=web.web.origin(0).partition("//")[2],
        RETRY_TIMES=0,
    ).assert_ended_well()


@pytest.fixture(scope="module")
def reads(crawled):
    """The values that were read, by name and module."""
    lines = (crawled.path.parent / "reads.jsonl").read_text(encoding="utf-8").splitlines()
    return {(name, module): value for name, module, value in map(json.loads, lines)}


@pytest.fixture(scope="module")
def logged(crawled):
    return (crawled.path.parent / "own.log").read_text(encoding="latin-1")


@each_row(("module", "name"), [(module, name) for module, names in READ.items() for name in names.split()])
def test_the_code_that_acts_on_a_setting_reads_the_value_that_is_given(module, name, reads):
    usual = vars(ours).get(name, vars(default_settings).get(name))
    value = reads[name, module]
    assert name in SAME or value != repr(usual)


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
@pytest.mark.parametrize("name", APART)
def test_code_that_the_crawl_does_not_reach_reads_it_too(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value, act = APART[name]
    if name == "FEED_TEMPDIR":
        value = str(tmp_path)
    settings = Settings()
    settings.setmodule("webcrawl.settings")
    settings.update({"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path), "FEED_URI": "items.json"})
    settings.update({name: value}, priority="cmdline")
    crawler = Crawler(Plain, settings)
    crawler.stats = crawler.request_fingerprinter = MagicMock()
    read, found = BaseSettings.__getitem__, []

    def recording(this, key):
        got = read(this, key)
        found.append((key, got))
        return got

    monkeypatch.setattr(BaseSettings, "__getitem__", recording)
    with suppress(NotConfigured):
        act(crawler)
    monkeypatch.undo()
    assert any(key == name and _plain(got) == value for key, got in found)


def _plain(value):
    return dict(value) if isinstance(value, BaseSettings) else value


def test_parts_are_those_that_the_project_names(logged):
    for name in ("statistics", "processor", "handler", "uri_params"):
        assert f"'own/{name}': True" in logged
    assert "'own/parts': 4" in logged
    assert "own-format ERROR own-date scrapy: own word for a dropped item" in logged


def test_what_is_sent(logged):
    (sent,) = re.findall(r"sent (.*)", logged)
    assert "X-Default: given" in sent
    assert "Authorization: Basic bWU6YXR0cmlidXRlZA==" in sent
    assert re.search(r"Referer: http://[^|]*/x/ok\?start", sent)
    assert "'request_depth_count/1': 5" in logged
    assert "'httperror/response_ignored_status_count/410': 1" in logged


def test_attributes_of_the_spider(logged, reads):
    """They have precedence over the settings: 451 comes to its callback, 404 does not."""
    assert "came with 451" in logged
    assert "'httperror/response_ignored_status_count/404': 1" in logged
    assert "User-Agent: attributed/1" in logged
    assert "'offsite/filtered': 1" in logged
    assert "DOWNLOAD_DELAY=0.01: POLITENESS_MIN_DELAY is 0.01 s" in logged
    assert "own/custom" in reads["PERIODIC_LOG_DELTA", "scrapy.extensions.periodic_log"]


def test_what_is_written(crawled):
    home = crawled.path.parent
    first, second = (json.loads((home / f"items-{number}.json").read_text("latin-1")) for number in (1, 2))
    assert [sorted(item) for item in first + second] == [["url"]] * 3
    assert len(first) == 2
    assert '\n   "url"' in (home / "items-1.json").read_text("latin-1")
    assert not (home / "empty-1.json").read_bytes()
    assert list((home / "own-cache").iterdir())


def test_the_event_loop_and_its_threads(logged):
    assert "threads 7" in logged
    assert "loop asyncio." in logged


def test_commands_read_what_is_theirs(tmp_path):
    (tmp_path / "spiders").mkdir()
    (tmp_path / "spiders" / "own.tmpl").write_text("")
    assert "edited " in own_process(tmp_path, "edit", "broad", EDITOR="echo edited").out
    assert "own" in own_process(tmp_path, "genspider", "--list", TEMPLATES_DIR=tmp_path).out
    assert "no_such" in own_process(tmp_path, "genspider", "new", "a.test", NEWSPIDER_MODULE="no_such").err


def test_every_attribute_names_its_test():
    apart = set(names_of("none", ATTRIBUTES))
    assert {name for row in ATTRIBUTES for name in row.names} == apart | ATTRIBUTED


def test_every_row_names_its_test():
    shown = [*APART, *(name for names in READ.values() for name in names.split())]
    for file, tests in SHOWN.items():
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert tests.keys() <= there, file
        shown += [name for names in tests.values() for name in names.split()]
    assert sorted(set(shown)) == sorted(name for row in ROWS for name in row.names)
