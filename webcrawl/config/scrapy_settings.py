"""The table of Scrapy's settings: what each of them does in a crawl of this project.

Nearly all work as in Scrapy. Some are translated into settings of this project, and some have no effect, because the
component that they configure is replaced: a crawl in which one of these was given says so at its start, with what to
write instead (``crawl/given_settings.py``). ``docs/reference/scrapy.md`` has the table for readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scrapy.settings import SETTINGS_PRIORITIES, default_settings
from scrapy.utils.misc import load_object

from webcrawl.config.readers import as_switch, real
from webcrawl.config.setting import DAY
from webcrawl.errors import Problem
from webcrawl.urls.lists import hostname

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

Effect = Literal["as in Scrapy", "own", "translated", "required", "none"]
"""``own``: it is declared in this folder, with other limits or defaults. ``required``: the crawl does not start with
another value. ``none``: no effect."""

_LOGSTATS = "scrapy.extensions.logstats.LogStats"
_META_REFRESH = "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware"
_REMOTE_CONTROL = "scrapy.extensions.remote_control.RemoteControl"
_TELNET = "scrapy.extensions.telnet.TelnetConsole"
OTHER_HANDLER = "another download handler"
"""The word in place of a component if the handler of http or https is not webcrawl's."""


@dataclass(frozen=True, slots=True)
class ScrapySetting:
    """One or several settings of Scrapy with the same effect."""

    names: tuple[str, ...]
    effect: Effect
    here: str
    """The behaviour of webcrawl, as a clause without a full stop."""
    instead: str = ""
    """The setting or component to use instead, as an imperative without a full stop; empty if there is none."""
    same: tuple[object, ...] | None = None
    """Values that ask for nothing but what holds here; None: those of Scrapy's defaults."""
    unless: str = ""
    """The component that reads the settings if a project enables it."""


def _row(names: str, effect: Effect, here: str, instead: str = "", **more: Any) -> ScrapySetting:
    return ScrapySetting(tuple(names.split()), effect, here, instead, **more)


ROWS: tuple[ScrapySetting, ...] = (
    # -- politeness
    _row(
        "DOWNLOAD_DELAY",
        "translated",
        "raises POLITENESS_MIN_DELAY to its value and never lowers it; the attribute download_delay of a spider "
        "does the same",
        "set POLITENESS_MIN_DELAY",
    ),
    _row(
        "DOWNLOAD_DELAY_JITTER RANDOMIZE_DOWNLOAD_DELAY",
        "none",
        "delays follow the download times of a site and are never shortened by chance",
        same=(0, False),
    ),
    _row(
        "DOWNLOAD_SLOTS",
        "translated",
        "the delay of a slot raises the minimum delay of the site of its host, as DOWNLOAD_DELAY raises that of all "
        "sites, and never lowers it; concurrency, jitter and slots whose name is no host have no effect",
    ),
    _row(
        "CONCURRENT_REQUESTS_PER_DOMAIN CONCURRENT_REQUESTS_PER_IP",
        "none",
        "a site gets one request at a time, always",
        "set POLITENESS_MIN_DELAY for a site of your own that may be fetched faster",
        same=(0, 1),
    ),
    _row(
        "AUTOTHROTTLE_ENABLED",
        "translated",
        "the delay of every site follows its download times with or without it; True applies the two settings below",
        "set POLITENESS_MODEL and POLITENESS_FACTOR",
    ),
    _row(
        "AUTOTHROTTLE_START_DELAY",
        "translated",
        "with AUTOTHROTTLE_ENABLED it raises POLITENESS_UNKNOWN_DELAY",
        "set POLITENESS_UNKNOWN_DELAY",
    ),
    _row(
        "AUTOTHROTTLE_MAX_DELAY",
        "translated",
        "with AUTOTHROTTLE_ENABLED it raises POLITENESS_MAX_DELAY",
        "set POLITENESS_MAX_DELAY",
    ),
    _row(
        "AUTOTHROTTLE_TARGET_CONCURRENCY",
        "none",
        "a site gets one request at a time, and a pause after it",
        "set POLITENESS_FACTOR",
    ),
    _row("AUTOTHROTTLE_DEBUG", "none", "the fetch log has the delay of each request", "use scrapy audit"),
    _row(
        "ROBOTSTXT_OBEY",
        "none",
        "the crawl always obeys robots.txt",
        same=(True,),
    ),
    _row("ROBOTSTXT_PARSER", "none", "the parser follows RFC 9309"),
    _row(
        "ROBOTSTXT_USER_AGENT",
        "translated",
        "its product token is a further name of the crawler in robots.txt, beside that of USER_AGENT: only what both "
        "names may fetch is fetched, with the longer Crawl-delay",
    ),
    # -- queue
    _row("SCHEDULER", "required", "must be webcrawl.scheduler.Scheduler or a subclass: the frontier"),
    _row(
        "SCHEDULER_DEBUG SCHEDULER_DISK_QUEUE SCHEDULER_MEMORY_QUEUE SCHEDULER_PRIORITY_QUEUE "
        "SCHEDULER_START_DISK_QUEUE SCHEDULER_START_MEMORY_QUEUE",
        "none",
        "the frontier has queues of its own",
        "set FRONTIER_BACKEND and FRONTIER_ORDER",
    ),
    _row(
        "DUPEFILTER_CLASS DUPEFILTER_DEBUG",
        "none",
        "the frontier has a seen test of its own",
        "set FRONTIER_SEEN, CANONICAL_RULES or HOST_RULES_FILE",
    ),
    _row(
        "REQUEST_FINGERPRINTER_CLASS",
        "none",
        "the seen test compares canonical forms of URLs; only HTTPCACHE_ENABLED uses it",
        "set CANONICAL_RULES",
    ),
    _row(
        "CLOSESPIDER_PAGECOUNT CLOSESPIDER_TIMEOUT CONCURRENT_REQUESTS DEPTH_LIMIT JOBDIR URLLENGTH_LIMIT",
        "own",
        "see settings.md",
    ),
    _row(
        "DEPTH_PRIORITY",
        "as in Scrapy",
        "changes the priority of a spider's own Requests; the links of pages have the order of FRONTIER_ORDER",
    ),
    _row("DEPTH_STATS_VERBOSE", "as in Scrapy", "counts a spider's own Requests"),
    # -- requests and responses
    _row("DOWNLOADER", "required", "must be webcrawl.engine.downloader.DirectDownloader or a subclass"),
    _row("DOWNLOAD_TIMEOUT DOWNLOAD_MAXSIZE REDIRECT_MAX_TIMES RETRY_TIMES", "own", "see settings.md"),
    _row("USER_AGENT", "own", "see settings.md; its product token is the name of the crawler in robots.txt"),
    _row(
        "DOWNLOAD_WARNSIZE",
        "none",
        "a long body is cut at DOWNLOAD_MAXSIZE without a warning",
        same=(0,),
    ),
    _row(
        "DOWNLOAD_FAIL_ON_DATALOSS",
        "as in Scrapy",
        "counts if it is given; by default the part of a body that came is kept",
    ),
    _row(
        "DOWNLOAD_BIND_ADDRESS DOWNLOAD_TLS_MAX_VERSION DOWNLOAD_TLS_MIN_VERSION DOWNLOAD_VERIFY_CERTIFICATES "
        "DOWNLOADER_CLIENT_TLS_CIPHERS DNSCACHE_SIZE DNS_TIMEOUT",
        "as in Scrapy",
        "",
    ),
    _row(
        "DNSCACHE_ENABLED",
        "none",
        "names are always cached, for the time to live of their records",
        "set DNSCACHE_SIZE",
    ),
    _row(
        "DNS_RESOLVER TWISTED_DNS_RESOLVER",
        "none",
        "the crawler has a resolver of its own",
        "set DNS_NAMESERVERS",
        unless=OTHER_HANDLER,
    ),
    _row(
        "DOWNLOADER_CLIENTCONTEXTFACTORY DOWNLOADER_CLIENT_TLS_METHOD DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING",
        "none",
        "the crawler's download handler has no such option",
        "set DOWNLOAD_TLS_MIN_VERSION or DOWNLOAD_TLS_MAX_VERSION",
        unless=OTHER_HANDLER,
    ),
    _row(
        "HTTP2_MAX_FRAME_SIZE HTTPX_HTTP2_ENABLED",
        "none",
        "the crawler's download handler speaks HTTP/2 where it is needed",
        "set DOWNLOAD_HTTP2",
        unless=OTHER_HANDLER,
    ),
    _row("COMPRESSION_ENABLED", "none", "content codings are always removed, within limits of memory"),
    _row("COOKIES_DEBUG COOKIES_ENABLED", "as in Scrapy", "off by default"),
    _row("HTTPPROXY_AUTH_ENCODING HTTPPROXY_ENABLED", "as in Scrapy", "off by default; Request.meta works"),
    _row(
        "DEFAULT_REQUEST_HEADERS HTTPAUTH_DOMAIN HTTPAUTH_PASS HTTPAUTH_USER REFERER_ENABLED REFERRER_POLICIES "
        "REFERRER_POLICY",
        "as in Scrapy",
        "",
    ),
    _row(
        "HTTPCACHE_ALWAYS_STORE HTTPCACHE_DBM_MODULE HTTPCACHE_DIR HTTPCACHE_ENABLED HTTPCACHE_EXPIRATION_SECS "
        "HTTPCACHE_GZIP HTTPCACHE_IGNORE_HTTP_CODES HTTPCACHE_IGNORE_MISSING "
        "HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS HTTPCACHE_IGNORE_SCHEMES HTTPCACHE_POLICY HTTPCACHE_STORAGE",
        "as in Scrapy",
        "",
    ),
    _row("HTTPERROR_ALLOWED_CODES HTTPERROR_ALLOW_ALL", "as in Scrapy", ""),
    _row("FTP_PASSIVE_MODE FTP_PASSWORD FTP_USER", "as in Scrapy", ""),
    _row(
        "REDIRECT_ENABLED",
        "translated",
        "False gives redirects to the spider; those of robots.txt and of sitemaps are followed all the same",
    ),
    _row("REDIRECT_PRIORITY_ADJUST", "none", "the target of a redirect is a link like any other"),
    _row(
        "METAREFRESH_ENABLED METAREFRESH_IGNORE_TAGS METAREFRESH_MAXDELAY",
        "none",
        "a meta refresh is a link of its page",
        "leave refresh out of LINK_TYPES",
        unless=_META_REFRESH,
    ),
    _row(
        "RETRY_ENABLED",
        "translated",
        "False is RETRY_TIMES=0, without the statistics of retries",
        "set RETRY_TIMES=0",
    ),
    _row(
        "RETRY_EXCEPTIONS RETRY_HTTP_CODES",
        "translated",
        "if they are given they decide what is tried again; robots.txt is not affected, and each further try waits "
        "for the clock of its site",
    ),
    _row(
        "RETRY_PRIORITY_ADJUST RETRY_GIVE_UP_LOG_LEVEL",
        "none",
        "a failed URL goes back to the end of its queue, and errors.log has each failure; only get_retry_request() "
        "reads them",
    ),
    # -- parts of the crawl
    _row(
        "DOWNLOADER_MIDDLEWARES DOWNLOADER_MIDDLEWARES_BASE DOWNLOAD_HANDLERS DOWNLOAD_HANDLERS_BASE EXTENSIONS "
        "EXTENSIONS_BASE SPIDER_MIDDLEWARES SPIDER_MIDDLEWARES_BASE",
        "as in Scrapy",
        "adds to the crawl's own components; those that the crawl needs cannot be taken away",
    ),
    _row("ADDONS ITEM_PIPELINES ITEM_PIPELINES_BASE ITEM_PROCESSOR STATS_CLASS", "as in Scrapy", ""),
    _row("CONCURRENT_ITEMS", "as in Scrapy", "2 by default"),
    _row(
        "SCRAPER_SLOT_MAX_ACTIVE_SIZE",
        "none",
        "the memory for all bodies is limited instead",
        "set BODY_MEMORY_BYTES",
    ),
    _row("REACTOR_THREADPOOL_MAXSIZE", "as in Scrapy", ""),
    _row(
        "ASYNCIO_EVENT_LOOP FORCE_CRAWLER_PROCESS WARN_ON_GENERATOR_RETURN_VALUE",
        "as in Scrapy",
        "",
    ),
    _row("TWISTED_REACTOR TWISTED_REACTOR_ENABLED", "required", "must be the asyncio reactor"),
    # -- spiders, items, feeds, files
    _row(
        "CRAWLSPIDER_FOLLOW_LINKS DEFAULT_DROPITEM_LOG_LEVEL DEFAULT_ITEM_CLASS SPIDER_CONTRACTS "
        "SPIDER_CONTRACTS_BASE SPIDER_LOADER_CLASS SPIDER_LOADER_WARN_ONLY",
        "as in Scrapy",
        "",
    ),
    _row(
        "BOT_NAME COMMANDS_MODULE EDITOR NEWSPIDER_MODULE SPIDER_MODULES TEMPLATES_DIR",
        "as in Scrapy",
        "",
    ),
    _row(
        "FEEDS FEED_EXPORTERS FEED_EXPORTERS_BASE FEED_EXPORT_BATCH_ITEM_COUNT FEED_EXPORT_ENCODING "
        "FEED_EXPORT_FIELDS FEED_EXPORT_INDENT FEED_FORMAT FEED_STORAGES FEED_STORAGES_BASE "
        "FEED_STORAGE_FTP_ACTIVE FEED_STORAGE_GCS_ACL FEED_STORAGE_S3_ACL FEED_STORE_EMPTY FEED_TEMPDIR FEED_URI "
        "FEED_URI_PARAMS",
        "as in Scrapy",
        "",
    ),
    _row(
        "AWS_ACCESS_KEY_ID AWS_ENDPOINT_URL AWS_MAX_POOL_CONNECTIONS AWS_REGION_NAME AWS_SECRET_ACCESS_KEY "
        "AWS_SESSION_TOKEN AWS_USE_SSL AWS_VERIFY FILES_STORE FILES_STORE_GCS_ACL FILES_STORE_S3_ACL "
        "GCS_PROJECT_ID IMAGES_STORE IMAGES_STORE_GCS_ACL IMAGES_STORE_S3_ACL",
        "as in Scrapy",
        "",
    ),
    # -- limits, logs, figures
    _row(
        "CLOSESPIDER_ERRORCOUNT CLOSESPIDER_ITEMCOUNT CLOSESPIDER_PAGECOUNT_NO_ITEM CLOSESPIDER_TIMEOUT_NO_ITEM "
        "MEMDEBUG_ENABLED MEMUSAGE_CHECK_INTERVAL_SECONDS "
        "MEMUSAGE_ENABLED MEMUSAGE_LIMIT_MB MEMUSAGE_NOTIFY_MAIL MEMUSAGE_WARNING_MB",
        "as in Scrapy",
        "",
    ),
    _row(
        "LOG_COLOR LOG_DATEFORMAT LOG_ENABLED LOG_ENCODING LOG_FILE LOG_FILE_APPEND LOG_FORMAT LOG_FORMATTER "
        "LOG_INSTALL_ROOT_HANDLER LOG_LEVEL LOG_SHORT_NAMES LOG_STDOUT LOG_VERSIONS",
        "as in Scrapy",
        "",
    ),
    _row(
        "LOGSTATS_INTERVAL",
        "none",
        "a line of figures takes the place of LogStats",
        "set STATISTICS_INTERVAL_SECONDS",
        unless=_LOGSTATS,
    ),
    _row("STATS_DUMP", "as in Scrapy", "off by default"),
    _row("DOWNLOADER_STATS", "as in Scrapy", ""),
    _row(
        "MAIL_FROM MAIL_HOST MAIL_PASS MAIL_PORT MAIL_SSL MAIL_TLS MAIL_USER PERIODIC_LOG_DELTA "
        "PERIODIC_LOG_STATS PERIODIC_LOG_TIMING_ENABLED STATSMAILER_RCPTS",
        "as in Scrapy",
        "",
    ),
    _row(
        "TELNETCONSOLE_ENABLED TELNETCONSOLE_HOST TELNETCONSOLE_PASSWORD TELNETCONSOLE_PORT TELNETCONSOLE_USERNAME",
        "none",
        "the console is off, since it executes code that it receives",
        "use scrapy frontier status, or enable scrapy.extensions.telnet.TelnetConsole in EXTENSIONS",
        same=(False,),
        unless=_TELNET,
    ),
    _row(
        "REMOTE_CONTROL_ENABLED REMOTE_CONTROL_JOBS_DIR REMOTE_CONTROL_OUTPUT_MAX_BYTES "
        "REMOTE_CONTROL_TIMEOUT_DEFAULT REMOTE_CONTROL_TIMEOUT_MAX REMOTE_CONTROL_TRACEBACK_MAX_BYTES",
        "none",
        "remote control is off, since it executes code that it receives",
        "use scrapy frontier, or enable scrapy.extensions.remote_control.RemoteControl in EXTENSIONS",
        same=(False,),
        unless=_REMOTE_CONTROL,
    ),
)
"""Every setting of Scrapy has one row."""

ATTRIBUTES: tuple[ScrapySetting, ...] = (
    _row(
        "allowed_domains",
        "as in Scrapy",
        "a rule of scope; it holds for the links of pages and for redirects too",
    ),
    _row(
        "custom_settings handle_httpstatus_list http_auth_domain http_pass http_user name start_urls",
        "as in Scrapy",
        "",
    ),
    _row("download_delay", "translated", "counts as DOWNLOAD_DELAY"),
    _row("max_concurrent_requests", "none", "counts as CONCURRENT_REQUESTS_PER_DOMAIN, which has no effect"),
    _row(
        "download_timeout",
        "none",
        "the crawler's download handler does not look at it",
        "set DOWNLOAD_TIMEOUT in custom_settings, or Request.meta['download_timeout']",
    ),
    _row(
        "download_maxsize",
        "none",
        "the crawler's download handler does not look at it",
        "set DOWNLOAD_MAXSIZE in custom_settings, or Request.meta['download_maxsize']",
    ),
    _row("download_warnsize", "none", "a long body is cut at DOWNLOAD_MAXSIZE without a warning"),
    _row("state", "none", "it is an empty dictionary at each start, also of a resumed crawl"),
    _row(
        "user_agent",
        "translated",
        "counts as USER_AGENT: all requests have this User-Agent, and robots.txt is read for it",
    ),
)
"""The attributes of a spider that Scrapy reads."""
NOT_TOLD = ("max_concurrent_requests", "state")
"""Attributes without effect that are not named at the start: Scrapy makes a setting of the first, and every spider
has the second."""


def find_row(name: str) -> ScrapySetting | None:
    """Return the row of a setting of Scrapy."""
    return _BY_NAME.get(name)


_BY_NAME = {name: row for row in ROWS for name in row.names}


def is_given(settings: BaseSettings, name: str) -> bool:
    """Return True if a user gave the setting: on the command line, in a spider, in a project or by an add-on.

    The values of ``webcrawl/settings.py``, which a settings module may begin with, are not given.
    """
    if (settings.getpriority(name) or 0) <= SETTINGS_PRIORITIES["command"]:
        return False
    # The settings module imports this package for its defaults.
    from webcrawl import settings as project

    value, ours = settings[name], getattr(project, name, _NOTHING)
    if value is ours:
        return False
    # A number that a project writes is another object, and counts even if it has the same value.
    return isinstance(value, int | float) or plain(value) != plain(ours)


_NOTHING = object()


def plain(value: object) -> object:
    """Return a value with plain dictionaries in place of Scrapy's."""
    return dict(value) if isinstance(value, Mapping) else value


def asks_for_more(settings: BaseSettings, name: str, row: ScrapySetting) -> bool:
    """Return True if the value of a setting asks for something else than what holds here."""
    same = (vars(default_settings).get(name),) if row.same is None else row.same
    return all(_normal(settings[name]) != _normal(value) for value in same)


def _normal(value: object) -> object:
    """Return a value in the form in which values from the command line and from modules can be compared."""
    if isinstance(value, bool):
        return float(value)
    text = str(plain(value)).strip().lower()
    try:
        return float({"true": "1", "false": "0"}.get(text, text))
    except ValueError:
        return text


_RAISED = (
    ("DOWNLOAD_DELAY", "POLITENESS_MIN_DELAY"),
    ("AUTOTHROTTLE_START_DELAY", "POLITENESS_UNKNOWN_DELAY"),
    ("AUTOTHROTTLE_MAX_DELAY", "POLITENESS_MAX_DELAY"),
)
"""Settings of Scrapy that raise one of ours, and never lower it."""
_SECONDS = real(0, DAY)
_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def raised(settings: BaseSettings) -> Iterator[tuple[str, str, float]]:
    """Yield the delays of Scrapy's settings that count: their names, the setting of ours that each raises, and its
    value in seconds."""
    throttles = is_given(settings, "AUTOTHROTTLE_ENABLED") and as_switch(settings["AUTOTHROTTLE_ENABLED"])
    for name, ours in _RAISED:
        if is_given(settings, name) and (throttles or name == "DOWNLOAD_DELAY"):
            yield name, ours, float(settings[name])


def slots(settings: BaseSettings) -> dict[str, Mapping[str, Any]]:
    """Return DOWNLOAD_SLOTS: a dictionary of options by the name of the slot, usually a host; empty if it is not
    given.

    :raises ValueError: it is no such dictionary, or a delay is no number of seconds
    """
    if not is_given(settings, "DOWNLOAD_SLOTS"):
        return {}
    slots_by_name = {str(name): options for name, options in settings.getdict("DOWNLOAD_SLOTS").items()}
    for options in slots_by_name.values():
        if not isinstance(options, Mapping) or ("delay" in options and _SECONDS.problem(options["delay"])):
            raise ValueError
    return slots_by_name


def slot_delays(settings: BaseSettings) -> dict[str, float]:
    """Return the delays of DOWNLOAD_SLOTS in seconds, by host. :raises ValueError: see ``slots``"""
    items = slots(settings).items()
    delays = [(hostname(name), options["delay"]) for name, options in items if "delay" in options]
    return {host: float(seconds) for host, seconds in delays if host is not None}


def retried_statuses(settings: BaseSettings) -> frozenset[int] | None:
    """Return RETRY_HTTP_CODES; None if they are not given. :raises ValueError: they are no numbers"""
    if not is_given(settings, "RETRY_HTTP_CODES"):
        return None
    return frozenset(int(code) for code in settings.getlist("RETRY_HTTP_CODES"))


def allowed_statuses(settings: BaseSettings) -> list[int]:
    """Return HTTPERROR_ALLOWED_CODES. :raises ValueError: they are no numbers"""
    return [int(code) for code in settings.getlist("HTTPERROR_ALLOWED_CODES")]


def retried_exceptions(settings: BaseSettings) -> tuple[type[BaseException], ...] | None:
    """Return RETRY_EXCEPTIONS; None if they are not given.

    :raises ValueError: :raises ImportError: :raises NameError: :raises TypeError: one is no exception
    """
    if not is_given(settings, "RETRY_EXCEPTIONS"):
        return None
    exceptions = tuple(load_object(kind) for kind in settings.getlist("RETRY_EXCEPTIONS"))
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in exceptions):
        raise TypeError
    return exceptions


_READ = (
    (
        "DOWNLOAD_SLOTS",
        slots,
        f"hosts with their options, each delay {_SECONDS.allowed}: {{'shop.example': {{'delay': 10}}}}",
    ),
    ("RETRY_HTTP_CODES", retried_statuses, "a list of HTTP statuses"),
    ("HTTPERROR_ALLOWED_CODES", allowed_statuses, "a list of HTTP statuses"),
    ("RETRY_EXCEPTIONS", retried_exceptions, "a list of exceptions or of their import paths"),
)


def wrong_values(settings: BaseSettings) -> Iterator[Problem]:
    """Yield a problem for each value that cannot be translated."""
    for name, _ in _RAISED:
        if is_given(settings, name) and (why := _SECONDS.problem(settings[name])):
            yield Problem(name, why)
    for name in ("AUTOTHROTTLE_ENABLED", "RETRY_ENABLED", "REDIRECT_ENABLED"):
        try:
            as_switch(settings[name])
        except ValueError:
            yield Problem(name, f"must be True or False, not {settings[name]!r}")
    for name, read, allowed in _READ:
        try:
            read(settings)
        except (ImportError, NameError, TypeError, ValueError):
            yield Problem(name, f"must be {allowed}, not {plain(settings[name])!r}")
    for name, needed in (("TWISTED_REACTOR", _ASYNCIO), ("TWISTED_REACTOR_ENABLED", True)):
        if _normal(settings[name]) != _normal(needed):
            yield Problem(name, f"must be {needed}, not {settings[name]!r}: the crawler runs on asyncio")


def translate(settings: BaseSettings, values: dict[str, Any]) -> None:
    """Apply Scrapy's settings to the values of ours, by field name."""
    for _, ours, seconds in raised(settings):
        values[ours.lower()] = max(values[ours.lower()], seconds)
    values["politeness_slot_delays"] = slot_delays(settings)
    values["politeness_max_delay"] = max(values["politeness_max_delay"], values["politeness_min_delay"])
    values["robots_user_agent"] = str(settings["ROBOTSTXT_USER_AGENT"] or "")
    if not as_switch(settings["RETRY_ENABLED"]):
        values["retry_times"] = 0
