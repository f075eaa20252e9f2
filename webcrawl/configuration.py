"""All settings of the crawler: one table, from which they are checked, read and documented.

Scrapy's ``Settings`` hold whatever text was typed. ``check`` finds everything that is wrong with it at once;
``Configuration.from_settings`` turns it into typed values, and the wiring reads nothing but those. A setting
is called like its field, in capitals.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl import contact
from webcrawl.contact import contact_problem
from webcrawl.contradictions import contradictions, likely_backend
from webcrawl.documents.links import NOFOLLOW
from webcrawl.documents.sitemap import MAX_BYTES, URLS_MAX
from webcrawl.errors import ConfigurationError, Problem
from webcrawl.hosts.robots_text import product_token
from webcrawl.readers import (
    Nameserver,
    Network,
    Reader,
    addresses,
    canonical_rules,
    choice,
    domains,
    encoding,
    extensions,
    folder,
    import_path,
    label,
    mime_patterns,
    nameservers,
    networks_or_switch,
    optional,
    ports,
    readable_file,
    real,
    redis_url,
    some_of,
    switch,
    text,
    whole,
)
from webcrawl.scope.useless_extensions import USELESS_EXTENSIONS
from webcrawl.vocabulary import unknown_names, wrong_types

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.settings import BaseSettings

__all__ = ["SETTINGS", "Configuration", "Setting", "check", "contact_problem"]

_MIB = 1 << 20
_DAY = 86_400
_YEAR = 366 * _DAY
_ANY = 1 << 62


def _of(reader: Reader, default: object, unit: str, meaning: str) -> Any:
    """A field of Configuration that is a setting."""
    about = {"reader": reader, "default": default, "unit": unit, "meaning": meaning}
    return field(default=reader.read(default), metadata=about)


def _worker_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The settings of a crawl as typed values. Without arguments: the defaults."""

    # The frontier
    frontier_backend: str = field(
        default="sqlite",
        metadata={
            "reader": optional(choice("sqlite", "memory", "redis")),
            "default": None,
            "unit": "",
            "meaning": "where queues, seen URLs and hosts are kept; if unset redis with a REDIS_URL, else sqlite",
        },
    )
    redis_url: str | None = _of(
        redis_url(), None, "", "the Redis, Valkey or Redis Cluster that several processes share"
    )
    redis_budget_bytes: int = _of(
        whole(0, 1 << 50, zero="nine tenths of its maxmemory, if it has one"),
        0,
        "bytes",
        "memory that a Redis server may use; near it unimportant URLs are turned away",
    )
    lease_seconds: float = _of(
        real(1, _DAY), 60.0, "seconds", "after so long without a sign of life a process has lost its hosts"
    )
    redis_start_urls_key: str = _of(
        text("a text", empty=False), "%(name)s:start_urls", "", "the list in Redis to which URLs are pushed"
    )
    redis_start_urls_batch_size: int = _of(
        whole(0, 10_000, zero="as many as CONCURRENT_REQUESTS"), 0, "entries", "taken from that list at once"
    )
    redis_encoding: str = _of(encoding(), "utf-8", "", "the encoding of what is pushed")
    max_idle_time_before_close: float | None = _of(
        optional(real(0, _YEAR, zero="for ever")),
        None,
        "",
        "for so many seconds a crawl with nothing left waits for URLs to be pushed; if unset not at all",
    )
    frontier_order: str = _of(
        choice("breadth_first", "priority", "random"), "breadth_first", "", "what a queue gives first"
    )
    frontier_prioritiser: str | None = _of(
        import_path("the import path of a prioritiser"), None, "", "function from a URL to its level"
    )
    frontier_bias: float = _of(
        real(1, 1000),
        2.0,
        "",
        "how much rather a host of one level becomes active than one of the next lower",
    )
    frontier_active_max: int = _of(whole(1, 1_000_000), 20_000, "hosts", "most hosts active at a time")
    frontier_patience_seconds: float = _of(
        real(0, _YEAR), 120.0, "seconds", "how long a crawl with nothing else left waits for a parked host"
    )
    frontier_queue_max: int = _of(
        whole(0, _ANY, zero="no limit"),
        0,
        "URLs",
        "longest queue of a host; the lowest level is pruned first",
    )
    frontier_seen: str = _of(choice("exact", "bloom"), "exact", "", "how URLs seen before are remembered")
    frontier_seen_capacity: int = _of(
        whole(1000, 10**11), 10_000_000, "URLs", "URLs for which the first Bloom filter is made"
    )
    frontier_seen_error_rate: float = _of(
        real(0, 0.1, above=True), 1e-4, "", "share of new URLs that a Bloom filter may take for seen"
    )
    frontier_cache_bytes: int = _of(whole(_MIB, 1 << 40), 64 * _MIB, "bytes", "SQLite's page cache")

    # Politeness
    politeness_key: str = _of(
        choice("domain", "host"), "domain", "", "what shares one clock: a registrable domain or a host name"
    )
    politeness_model: str = _of(
        choice("mean", "last", "fixed"),
        "mean",
        "",
        "factor times the mean, the last download time, or neither",
    )
    politeness_min_delay: float = _of(real(0, _DAY), 5.0, "seconds", "shortest pause between two requests")
    politeness_max_delay: float = _of(
        real(0, _DAY), 60.0, "seconds", "longest pause that we choose ourselves"
    )
    politeness_factor: float = _of(
        real(0, 10_000, zero="the shortest pause always"), 10.0, "download times", "pause after a request"
    )
    politeness_crawl_delay_max: float = _of(real(0, _DAY), 300.0, "seconds", "longest Crawl-delay obeyed")
    robots_ttl_seconds: float = _of(real(1, _YEAR), 86_400.0, "seconds", "how long a robots.txt is good for")
    robots_max_bytes: int = _of(whole(1024, 1 << 30), 512_000, "bytes", "how much of a robots.txt is read")
    robots_cache_size: int = _of(whole(1, 1 << 30), 262_144, "origins", "robots.txt answers kept")
    robots_max_redirects: int = _of(whole(0, 20), 5, "", "redirects followed to a robots.txt")
    health_failures_to_park: int = _of(whole(1, 1000), 5, "", "failures in a row that park a host")
    health_park_seconds: float = _of(real(0, _YEAR), 60.0, "seconds", "how long at first; doubled each time")
    health_park_max_seconds: float = _of(real(0, _YEAR), 86_400.0, "seconds", "how long at most")
    health_parks_to_give_up: int = _of(
        whole(0, 1000, zero="never"), 5, "", "parks in a row after which a host is left alone in this run"
    )

    # What may be fetched
    exclusion_file: Path | None = _of(  # noqa: RUF009
        readable_file("a readable file of domains"), None, "", "domains never contacted, one a line"
    )
    exclusion_check_seconds: float = _of(real(1, 900), 300.0, "seconds", "how often that file is looked at")
    fetch_private_addresses: bool | tuple[Network, ...] = _of(
        networks_or_switch(), False, "", "whether, or which, addresses off the public internet are contacted"
    )
    redirect_max_times: int = _of(whole(0, 20), 3, "", "redirects followed from one link")
    retry_times: int = _of(whole(0, 20), 2, "", "further tries of a URL whose fetch failed")
    canonical_rules: tuple[str, ...] = _of(
        canonical_rules(), ["escapes", "empty_query"], "", "differences between URLs that do not count"
    )
    host_rules_file: Path | None = _of(  # noqa: RUF009
        readable_file("a readable file of host rules"),
        None,
        "",
        "hosts that are one site under several names: startsWith, endsWith, synonym, one rule a line",
    )
    pages_per_key_max: int = _of(
        whole(0, _ANY, zero="no limit"),
        0,
        "requests",
        "to one politeness key in the whole crawl, robots.txt and redirects included; the rest is refused",
    )
    links_per_page_max: int = _of(whole(1, _ANY), 5000, "links", "links taken from one page")
    urllength_limit: int = _of(whole(0, 1 << 20, zero="no limit"), 2083, "characters", "longest URL followed")
    depth_limit: int = _of(whole(0, 1 << 30, zero="no limit"), 0, "links", "how far from a seed")
    extensions_refused: tuple[str, ...] = _of(
        extensions(), sorted(USELESS_EXTENSIONS), "", "file name extensions that are not worth a request"
    )
    allow_file: Path | None = _of(  # noqa: RUF009
        readable_file("a readable file of expressions"),
        None,
        "",
        "only URLs in which one of these expressions is found are followed, one a line (RE2 syntax)",
    )
    deny_file: Path | None = _of(  # noqa: RUF009
        readable_file("a readable file of expressions"),
        None,
        "",
        "URLs in which one of these expressions is found are not followed, one a line (RE2 syntax)",
    )
    useless_paths_file: Path | None = _of(  # noqa: RUF009
        readable_file("a readable file of expressions"),
        None,
        "",
        "the same for addresses that bring nothing; if unset, `webcrawl/scope/useless_paths.txt`",
    )
    top_level_domains: tuple[str, ...] = _of(
        domains(), [], "", "only hosts under these are followed to; empty for all"
    )
    ports_allowed: tuple[int, ...] = _of(ports(), [], "", "ports that are followed to; empty for all")
    path_segments_max: int = _of(
        whole(0, 10_000, zero="no limit"), 0, "segments", "deepest path that is followed"
    )
    path_repeats_max: int = _of(
        whole(0, 1000, zero="no limit"), 7, "", "how often a path may say one to four segments in a row"
    )
    mime_types_wanted: tuple[str, ...] = _of(
        mime_patterns(), ["text/*", "application/xhtml+xml"], "", "a body of another type is not read"
    )
    robots_meta_obey: bool = _of(switch(), True, "", "whether meta robots elements of a page are obeyed")
    robots_header_obey: bool = _of(switch(), True, "", "whether the header field X-Robots-Tag is obeyed")
    sitemaps_follow: bool = _of(switch(), True, "", "whether sitemaps named in robots.txt are read")
    sitemap_urls_max: int = _of(whole(1, 10_000_000), URLS_MAX, "URLs", "taken from one sitemap")
    sitemap_max_bytes: int = _of(whole(1024, 1 << 32), MAX_BYTES, "bytes", "of a sitemap that are read")
    nofollow_rels: tuple[str, ...] = _of(
        some_of(*NOFOLLOW), list(NOFOLLOW), "", "words of rel with which a link is not followed"
    )

    # Fetching
    user_agent: str = _of(text(), "", "", "who asks; empty for webcrawl/VERSION (+CRAWLER_CONTACT)")
    crawler_contact: str = _of(
        text("a web or e-mail address"), "", "", "where a site owner learns about the crawl or complains"
    )
    botpage_contact: str = _of(
        text("a web or e-mail address"), "", "", "whom `scrapy botpage` names; if unset CRAWLER_CONTACT"
    )
    botpage_addresses: tuple[str, ...] = _of(
        addresses(), [], "", "where the crawler comes from, for that page"
    )
    botpage_purpose: str = _of(text(), "", "", "what the crawler does and why, for that page")
    botpage_answer: str = _of(text(), "", "", "how site owners are answered, for that page")
    concurrent_requests: int = _of(whole(1, 100_000), 256, "requests", "most requests open at a time")
    dns_nameservers: tuple[Nameserver, ...] = _of(nameservers(), [], "", "empty for the system's own")
    download_timeout: float = _of(real(0.1, _DAY), 60.0, "seconds", "longest time for one request")
    download_connect_timeout: float = _of(
        real(0.1, _DAY), 30.0, "seconds", "longest time until a request can be sent: name, connection, TLS"
    )
    download_idle_connections: int = _of(
        whole(0, 1_000_000), 512, "connections", "most kept open for a next request"
    )
    download_maxsize: int = _of(whole(1024, 1 << 40), _MIB, "bytes", "where a body is cut")
    download_announced_maxsize: int = _of(
        whole(0, 1 << 50, zero="no limit"),
        32 * _MIB,
        "bytes",
        "a body announced as longer is not read at all",
    )

    # What is kept
    jobdir: Path | None = _of(  # noqa: RUF009
        folder("a folder or the name of a new one"),
        None,
        "",
        "where the crawl lives; a fresh folder if unset",
    )
    warc_enabled: bool = _of(switch(), True, "", "whether requests and responses are kept")
    warc_roll_bytes: int = _of(
        whole(1024, 1 << 50), 1_000_000_000, "bytes", "a WARC file is closed at this size"
    )
    warc_compression_level: int = _of(whole(0, 3), 2, "", "effort of gzip, from quick to small")
    fetch_log_roll_bytes: int = _of(
        whole(1024, 1 << 50), 1_000_000_000, "bytes", "fetch.jsonl is set aside and compressed at this size"
    )
    commit_interval_seconds: float = _of(
        real(0, 60), 0.1, "seconds", "how long finished requests wait for others to be stored with them"
    )

    # What a person sees
    worker_name: str = field(
        default_factory=_worker_name,
        metadata={
            "reader": label("letters, digits, dots, hyphens and underscores"),
            "default": None,
            "unit": "",
            "meaning": "this process in logs and records; HOST-PID if unset",
        },
    )
    statistics_interval_seconds: float = _of(
        real(0, _DAY, zero="never"), 10.0, "seconds", "how often a line of figures is logged"
    )
    progress_display: str = _of(
        choice("auto", "on", "off"), "auto", "", "the live display; auto shows it in a terminal"
    )
    errors_unanticipated_max: int = _of(
        whole(0, 1_000_000),
        20,
        "errors",
        "more unanticipated errors than this within the window stop the crawl",
    )
    errors_window_seconds: float = _of(real(1, _DAY), 60.0, "seconds", "the window for these errors")
    closespider_pagecount: int = _of(whole(0, _ANY, zero="no limit"), 0, "pages", "stop after so many pages")
    closespider_timeout: float = _of(real(0, 1e10, zero="no limit"), 0.0, "seconds", "stop after so long")

    @property
    def product_token(self) -> str:
        """The name under which robots.txt may speak to this crawl."""
        return product_token(self.user_agent)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Configuration:
        """The typed values.

        :raises ConfigurationError: naming every setting that is wrong.
        """
        if problems := check(settings):
            raise ConfigurationError(problems)
        values = {item.field_name: item.read(settings) for item in SETTINGS}
        values["user_agent"] = contact.user_agent(str(values["user_agent"]), str(values["crawler_contact"]))
        values["worker_name"] = values["worker_name"] or _worker_name()
        values["frontier_backend"] = values["frontier_backend"] or likely_backend(values["redis_url"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table: what a setting is called, what it may be, its default and what it means."""

    name: str
    reader: Reader
    default: object
    """As it would stand in a settings module."""
    unit: str
    meaning: str

    @property
    def field_name(self) -> str:
        return self.name.lower()

    def value(self, settings: BaseSettings) -> object:
        """The value as given; the default when none is, or when Scrapy's own default is all there is."""
        if (settings.getpriority(self.name) or 0) <= 0:
            return self.default
        return settings[self.name]

    def read(self, settings: BaseSettings) -> Any:
        return self.reader.read(self.value(settings))


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(item.name.upper(), **item.metadata) for item in fields(Configuration)
)
"""Every setting of ours, in the order of Configuration."""


def check(settings: BaseSettings, given: Iterable[str] = (), known: Iterable[str] = ()) -> list[Problem]:
    """Everything that is wrong with the settings, all at once; empty when they are right.

    ``given`` are the names set on the command line: each must be the name of a setting of ours, of Scrapy, of
    scrapy-redis or one of ``known`` (those of the project and the spider).
    """
    given = list(given)
    ours = [item.name for item in SETTINGS]
    problems = list(unknown_names(given, [*ours, *known]))
    wrong = [
        Problem(item.name, why) for item in SETTINGS if (why := item.reader.problem(item.value(settings)))
    ]
    problems += wrong
    problems += wrong_types(settings, [name for name in given if name not in ours])
    broken = {problem.name for problem in wrong}
    read = {item.name: partial(item.read, settings) for item in SETTINGS if item.name not in broken}
    problems += contradictions(read)
    return problems
