"""Settings of scope: what may be fetched and followed, and which URLs count as the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webcrawl.config.readers import (
    Network,
    canonical_rules,
    choice,
    choice_or_off,
    domains,
    extensions,
    mime_patterns,
    networks_or_switch,
    ports,
    readable_file,
    real,
    some_of,
    switch,
    whole,
)
from webcrawl.config.setting import ANY, setting
from webcrawl.parsing.links import FOLLOWED, NOFOLLOW, TYPES
from webcrawl.parsing.sitemap import MAX_BYTES, URLS_MAX
from webcrawl.scope.url_rules import USELESS_EXTENSIONS


@dataclass(frozen=True, kw_only=True)
class ScopeSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    exclusion_file: Path | None = setting(
        readable_file("a readable file of domains"), None, "", "domains never contacted, one a line"
    )
    exclusion_check_seconds: float = setting(real(1, 900), 300, "seconds", "how often that file is looked at")
    fetch_private_addresses: bool | tuple[Network, ...] = setting(
        networks_or_switch(), False, "", "whether, or which, addresses off the public internet are contacted"
    )
    redirect_max_times: int = setting(whole(0, 20), 3, "", "redirects followed from one link")
    retry_times: int = setting(whole(0, 20), 2, "", "further tries of a URL whose fetch failed")
    canonical_rules: tuple[str, ...] = setting(
        canonical_rules(),
        ["escapes", "empty_query", "brackets"],
        "",
        "differences between URLs that do not count",
    )
    host_rules_file: Path | None = setting(
        readable_file("a readable file of host rules"),
        None,
        "",
        "hosts that are one site under several names: startsWith, endsWith, synonym, one rule a line",
    )
    requests_per_key_max: int = setting(
        whole(0, ANY, zero="no limit"),
        0,
        "requests",
        "to one politeness key in the whole crawl, robots.txt and redirects included; the rest is refused",
    )
    page_budget: int = setting(
        whole(0, ANY, zero="no limit"),
        0,
        "pages",
        "of one politeness key in the whole crawl: what is no redirect and no error; the rest is refused",
    )
    links_per_page_max: int = setting(whole(1, ANY), 5000, "links", "links taken from one page")
    link_types: tuple[str, ...] = setting(
        some_of(*sorted(TYPES)), sorted(FOLLOWED), "", "where a link has to stand in a page to be taken"
    )
    urllength_limit: int = setting(
        whole(0, 1 << 20, zero="no limit"), 2083, "characters", "longest URL followed"
    )
    depth_limit: int = setting(whole(0, 1 << 30, zero="no limit"), 0, "links", "how far from a seed")
    extensions_refused: tuple[str, ...] = setting(
        extensions(), sorted(USELESS_EXTENSIONS), "", "file name extensions that are not worth a request"
    )
    allow_file: Path | None = setting(
        readable_file("a readable file of expressions"),
        None,
        "",
        "only URLs in which one of these expressions is found are followed, one a line (RE2 syntax)",
    )
    deny_file: Path | None = setting(
        readable_file("a readable file of expressions"),
        None,
        "",
        "URLs in which one of these expressions is found are not followed, one a line (RE2 syntax)",
    )
    useless_paths_file: Path | None = setting(
        readable_file("a readable file of expressions"),
        None,
        "",
        "the same for addresses that bring nothing; if unset, `webcrawl/scope/useless_paths.txt`",
    )
    top_level_domains: tuple[str, ...] = setting(
        domains(), [], "", "only hosts under these are followed to; empty for all"
    )
    ports_allowed: tuple[int, ...] = setting(
        ports(), [], "", "ports that are followed to; empty for all but those of other services"
    )
    path_segments_max: int = setting(
        whole(0, 10_000, zero="no limit"), 0, "segments", "deepest path that is followed"
    )
    path_repeats_max: int = setting(
        whole(0, 1000, zero="no limit"), 7, "", "how often a path may say one to four segments in a row"
    )
    traps_quarantine: bool = setting(
        switch(), True, "", "whether patterns of URLs are withheld whose pages bring nothing new"
    )
    traps_pages: int = setting(
        whole(3, 100_000),
        12,
        "pages",
        "in a row that bring nothing new, of which combinations of parameters are a trap; other shapes in proportion",
    )
    traps_new_share: float = setting(
        real(0, 1), 0.1, "", "the share of what a page says that is to be new, or it brings nothing"
    )
    traps_withheld_max: int = setting(
        whole(0, 1_000_000), 1000, "URLs", "remembered of a trap, to be queued when it is released"
    )
    mime_types_wanted: tuple[str, ...] = setting(
        mime_patterns(), ["text/*", "application/xhtml+xml"], "", "a body of another type is not read"
    )
    robots_meta_obey: bool = setting(switch(), True, "", "whether meta robots elements of a page are obeyed")
    robots_header_obey: bool = setting(switch(), True, "", "whether the header field X-Robots-Tag is obeyed")
    sitemaps_follow: bool = setting(switch(), True, "", "whether sitemaps named in robots.txt are read")
    sitemap_urls_max: int = setting(whole(1, 10_000_000), URLS_MAX, "URLs", "taken from one sitemap")
    sitemap_max_bytes: int = setting(whole(1024, 1 << 32), MAX_BYTES, "bytes", "of a sitemap that are read")
    sitemap_nested_max: int = setting(
        whole(0, 100), 3, "indexes", "that lead to one another; the sitemaps of the last one are read"
    )
    content_seen: str = setting(
        choice_or_off("bytes", "text"),
        "bytes",
        "",
        "what of a page is noticed that came from another URL before: its bytes, or its main text too",
    )
    content_seen_links: str = setting(
        choice("elsewhere", "never", "always"),
        "elsewhere",
        "",
        "links of such a page are followed where they may lead elsewhere, never or always",
    )
    nofollow_rels: tuple[str, ...] = setting(
        some_of(*NOFOLLOW), list(NOFOLLOW), "", "words of rel with which a link is not followed"
    )
