"""A project that sets as many of Scrapy's settings as one crawl can have, and records who reads each of them."""

import json
import sys
from pathlib import Path

from scrapy.settings import BaseSettings

from webcrawl.settings import *  # noqa: F403

SPIDER_MODULES = ["tests.crawl.ordinary.spiders.setting_reader"]
NEWSPIDER_MODULE = "tests.crawl.ordinary.spiders"
BOT_NAME = "readerbot"

# -- requests and responses
COOKIES_ENABLED = True
COOKIES_DEBUG = True
HTTPPROXY_ENABLED = True
HTTPPROXY_AUTH_ENCODING = "utf-8"
DEFAULT_REQUEST_HEADERS = {"X-Default": "given"}
HTTPAUTH_USER = "me"
HTTPAUTH_PASS = "it"
HTTPAUTH_DOMAIN = "localhost"
REFERER_ENABLED = True
REFERRER_POLICY = "own-policy"
REFERRER_POLICIES = {"own-policy": "scrapy.spidermiddlewares.referer.UnsafeUrlPolicy"}
HTTPERROR_ALLOWED_CODES = [404]
HTTPERROR_ALLOW_ALL = False
DOWNLOAD_FAIL_ON_DATALOSS = False
DOWNLOAD_BIND_ADDRESS = "127.0.0.1"
DOWNLOAD_TLS_MIN_VERSION = "TLSv1.2"
DOWNLOAD_TLS_MAX_VERSION = "TLSv1.3"
DOWNLOAD_VERIFY_CERTIFICATES = True
DOWNLOADER_CLIENT_TLS_CIPHERS = "DEFAULT:!DH"
DNSCACHE_SIZE = 321
DNS_TIMEOUT = 12
DEPTH_PRIORITY = 3
DEPTH_STATS_VERBOSE = True
FTP_PASSIVE_MODE = False
FTP_USER = "ftp-me"
FTP_PASSWORD = "ftp-it"
DOWNLOADER_STATS = True

# -- cache
HTTPCACHE_ENABLED = True
HTTPCACHE_DIR = str(Path("own-cache").absolute())
HTTPCACHE_EXPIRATION_SECS = 7
HTTPCACHE_GZIP = True
HTTPCACHE_ALWAYS_STORE = True
HTTPCACHE_IGNORE_HTTP_CODES = [404]
HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS = ["no-store"]
HTTPCACHE_IGNORE_SCHEMES = ["ftp"]
HTTPCACHE_POLICY = "tests.crawl.ordinary.spiders.setting_reader.OwnPolicy"
HTTPCACHE_STORAGE = "tests.crawl.ordinary.spiders.setting_reader.OwnStorage"

# -- parts
EXTENSIONS = {
    "scrapy.extensions.periodic_log.PeriodicLog": 0,
    "tests.crawl.ordinary.spiders.setting_reader.Marked": 500,
}
SPIDER_MIDDLEWARES = {"tests.crawl.ordinary.spiders.setting_reader.Marked": 500}
DOWNLOADER_MIDDLEWARES = {"tests.crawl.ordinary.spiders.setting_reader.Marked": 500}
ITEM_PIPELINES = {"tests.crawl.ordinary.spiders.setting_reader.Marked": 5}
ITEM_PIPELINES_BASE = {
    "scrapy.pipelines.files.FilesPipeline": 1,
    "scrapy.pipelines.images.ImagesPipeline": 2,
}
ITEM_PROCESSOR = "tests.crawl.ordinary.spiders.setting_reader.Pipelines"
STATS_CLASS = "tests.crawl.ordinary.spiders.setting_reader.Statistics"
DOWNLOAD_HANDLERS = {"own": "tests.crawl.ordinary.spiders.setting_reader.OwnHandler"}
CONCURRENT_ITEMS = 1
REACTOR_THREADPOOL_MAXSIZE = 7
SPIDER_LOADER_WARN_ONLY = True
SPIDER_LOADER_CLASS = "tests.crawl.ordinary.spiders.setting_reader.OwnLoader"
WARN_ON_GENERATOR_RETURN_VALUE = True
ASYNCIO_EVENT_LOOP = "asyncio.SelectorEventLoop"
DEFAULT_DROPITEM_LOG_LEVEL = "ERROR"

# -- feeds and files
FEEDS = {
    "items-%(batch_id)d.json": {"format": "own"},
    "empty-%(batch_id)d.json": {
        "format": "jsonlines",
        "item_filter": "tests.crawl.ordinary.spiders.setting_reader.NoItems",
    },
}
FEED_EXPORTERS = {"own": "tests.crawl.ordinary.spiders.setting_reader.OwnExporter"}
FEED_STORAGES = {"own": "scrapy.extensions.feedexport.FileFeedStorage"}
FEED_EXPORT_BATCH_ITEM_COUNT = 2
FEED_EXPORT_ENCODING = "latin-1"
FEED_EXPORT_FIELDS = ["url"]
FEED_EXPORT_INDENT = 3
FEED_STORE_EMPTY = True
FEED_TEMPDIR = "."
FEED_URI_PARAMS = "tests.crawl.ordinary.spiders.setting_reader.uri_params"
FILES_STORE = "own-files"
IMAGES_STORE = "own-images"
FILES_STORE_S3_ACL = "files-acl"
FILES_STORE_GCS_ACL = "files-acl"
IMAGES_STORE_S3_ACL = "images-acl"
IMAGES_STORE_GCS_ACL = "images-acl"
GCS_PROJECT_ID = "project"
AWS_ACCESS_KEY_ID = AWS_SECRET_ACCESS_KEY = AWS_SESSION_TOKEN = "secret"
AWS_ENDPOINT_URL = AWS_REGION_NAME = "there"
AWS_USE_SSL = AWS_VERIFY = False
AWS_MAX_POOL_CONNECTIONS = 3

# -- limits, logs, figures
CLOSESPIDER_ERRORCOUNT = 90
CLOSESPIDER_ITEMCOUNT = 91
CLOSESPIDER_PAGECOUNT_NO_ITEM = 92
CLOSESPIDER_TIMEOUT_NO_ITEM = 93
MEMDEBUG_ENABLED = True
MEMUSAGE_ENABLED = True
MEMUSAGE_CHECK_INTERVAL_SECONDS = 60
MEMUSAGE_LIMIT_MB = 50_000
MEMUSAGE_WARNING_MB = 40_000
MEMUSAGE_NOTIFY_MAIL = ["nobody@localhost"]
MAIL_FROM = "crawler@localhost"
MAIL_HOST = "mail.invalid"
MAIL_PORT = 1
MAIL_USER = MAIL_PASS = "mailer"
MAIL_TLS = MAIL_SSL = True
PERIODIC_LOG_STATS = {"include": ["item_"]}
PERIODIC_LOG_DELTA = True
PERIODIC_LOG_TIMING_ENABLED = True
STATS_DUMP = True
LOG_LEVEL = 20
LOG_FILE = "own.log"
LOG_FILE_APPEND = False
LOG_ENCODING = "latin-1"
LOG_FORMAT = "own-format %(levelname)s %(asctime)s %(name)s: %(message)s"
LOG_DATEFORMAT = "own-date"
LOG_SHORT_NAMES = True
LOG_STDOUT = True
LOG_VERSIONS = ["Python"]
LOG_COLOR = "never"
LOG_FORMATTER = "tests.crawl.ordinary.spiders.setting_reader.OwnLogFormatter"

_read = BaseSettings.__getitem__
_seen = set()


def _recording(self, name):
    """Read a setting, and record the module that reads it."""
    value = _read(self, name)
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(
        ("scrapy.settings", "collections", __name__, "_collections")
    ):
        frame = frame.f_back
    reader = "" if frame is None else frame.f_globals.get("__name__", "")
    if isinstance(name, str) and name.isupper() and (name, reader) not in _seen:
        _seen.add((name, reader))
        with Path("reads.jsonl").open("a", encoding="utf-8") as reads:
            reads.write(json.dumps([name, reader, repr(value)]) + "\n")
    return value


BaseSettings.__getitem__ = _recording
