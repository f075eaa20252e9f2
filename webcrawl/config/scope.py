"""Settings of scope: the URLs that are fetched and followed, and the URLs that count as the same."""

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
    subset,
    switch,
    switch_or_none,
    whole,
)
from webcrawl.config.setting import ANY, setting
from webcrawl.parsing.links import FOLLOWED, NOFOLLOW, TYPES
from webcrawl.parsing.sitemap_limits import MAX_BYTES, URLS_MAX
from webcrawl.scope.url_rules import USELESS_EXTENSIONS

NEAR_DUPLICATES = ("record", "nofollow", "nostore")
"""The actions on a page whose main text is nearly that of an earlier one."""


@dataclass(frozen=True, kw_only=True)
class ScopeSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    exclusion_file: Path | None = setting(
        readable_file("a readable file of domains"),
        None,
        "",
        "File of domains and URL prefixes that are never contacted, one a line.",
    )
    exclusion_check_seconds: float = setting(
        real(1, 900), 300, "seconds", "Interval at which the exclusion file is checked for changes."
    )
    fetch_private_addresses: bool | tuple[Network, ...] = setting(
        networks_or_switch(),
        False,
        "",
        "Contact addresses outside the public internet: all, none, or those in the given networks.",
    )
    seeds_private_addresses: bool = setting(
        switch(),
        True,
        "",
        "Hosts that seeds name may have addresses outside the public internet, and unusual ports.",
    )
    redirect_max_times: int = setting(
        whole(0, 20),
        3,
        "",
        "Maximum number of redirects that are followed from one link; unset, 20 for a Request of a spider.",
    )
    retry_times: int = setting(
        whole(0, 20), 2, "", "Number of further attempts to fetch a URL after a failure."
    )
    canonical_rules: tuple[str, ...] = setting(
        canonical_rules(),
        ["escapes", "empty_query", "brackets"],
        "",
        "Rules of the canonical form: differences between URLs that are ignored.",
    )
    host_rules_file: Path | None = setting(
        readable_file("a readable file of host rules"),
        None,
        "",
        "File of hosts that are one site under several names: startsWith, endsWith, synonym, one rule a "
        "line.",
    )
    requests_per_key_max: int = setting(
        whole(0, ANY, zero="no limit"),
        0,
        "requests",
        "Maximum number of requests to one politeness key in the whole crawl, including robots.txt and "
        "redirects. Further URLs are refused.",
    )
    page_budget: int = setting(
        whole(0, ANY, zero="no limit"),
        0,
        "pages",
        "Maximum number of pages of one politeness key in the whole crawl. Redirects and errors do not "
        "count. Further URLs are refused.",
    )
    links_per_page_max: int = setting(
        whole(1, ANY),
        5000,
        "links",
        "Maximum number of different links that are taken from one page: repetitions and fragments do not count.",
    )
    link_types: tuple[str, ...] = setting(
        subset(*sorted(TYPES)),
        sorted(FOLLOWED),
        "",
        "Types of links that are taken from a page, by their position in it.",
    )
    embed_hops_max: int = setting(
        whole(0, 10, zero="none"),
        0,
        "hops",
        "Number of hops for which what a page embeds (images, styles, scripts, frames) is fetched from sites "
        "out of scope too. Its types must be in LINK_TYPES.",
    )
    urllength_limit: int = setting(
        whole(0, 1 << 20, zero="no limit"), 2083, "characters", "Maximum length of a URL that is followed."
    )
    depth_limit: int = setting(
        whole(0, 1 << 30, zero="no limit"), 0, "links", "Maximum distance from a seed."
    )
    extensions_refused: tuple[str, ...] = setting(
        extensions(),
        sorted(USELESS_EXTENSIONS),
        "",
        "File name extensions of URLs that are not requested. If unset, also those of documents that nothing "
        "reads, such as pdf and txt.",
    )
    allow_file: Path | None = setting(
        readable_file("a readable file of expressions"),
        None,
        "",
        "File of regular expressions (RE2 syntax), one a line. A URL is followed only if one of them is "
        "found in it.",
    )
    deny_file: Path | None = setting(
        readable_file("a readable file of expressions"),
        None,
        "",
        "File of regular expressions (RE2 syntax), one a line. A URL is not followed if one of them is "
        "found in it.",
    )
    useless_paths_file: Path | None = setting(
        readable_file("a readable file of expressions"),
        None,
        "",
        "Like DENY_FILE, for URLs without useful content. If unset, `webcrawl/scope/useless_paths.txt`.",
    )
    top_level_domains: tuple[str, ...] = setting(
        domains(), [], "", "Domains under which links are followed. If empty, all."
    )
    ports_allowed: tuple[int, ...] = setting(
        ports(), [], "", "Ports to which links are followed. If empty, all except those of other services."
    )
    path_segments_max: int = setting(
        whole(0, 10_000, zero="no limit"),
        0,
        "segments",
        "Maximum number of segments in the path of a URL that is followed.",
    )
    path_repeats_max: int = setting(
        whole(0, 1000, zero="no limit"), 7, "", "How often one to four path segments may occur in a row."
    )
    traps_quarantine: bool = setting(
        switch(), True, "", "Withhold URL patterns whose pages have no new content."
    )
    traps_pages: int = setting(
        whole(3, 100_000),
        12,
        "pages",
        "Number of consecutive pages without new content after which a combination of parameters is a "
        "trap. For other patterns the number is in proportion.",
    )
    traps_new_share: float = setting(
        real(0, 1),
        0.1,
        "",
        "Share of a page's content that must be new. A page with less counts as having no new content.",
    )
    traps_withheld_max: int = setting(
        whole(0, 1_000_000),
        1000,
        "URLs",
        "Maximum number of URLs that are stored for each trap and queued when it is released.",
    )
    dust_learn: bool = setting(
        switch(),
        False,
        "",
        "Learn which parts of the URLs of a site make no difference, and withhold URLs of pages that are known "
        "(experimental).",
    )
    mirrors_learn: bool = setting(
        switch(),
        False,
        "",
        "Learn which hosts serve the same pages under another name, and withhold URLs of one whose path the other "
        "has (experimental).",
    )
    dust_equality: str = setting(
        choice("body", "text"),
        "body",
        "",
        "When pages of DUST rules are equal: with equal bodies, or with main texts that have 95 % of their runs of "
        "three words in common.",
    )
    mime_types_wanted: tuple[str, ...] = setting(
        mime_patterns(),
        ["text/*", "application/xhtml+xml"],
        "",
        "MIME types of bodies that are read. Other bodies are not.",
    )
    robots_meta_obey: bool = setting(switch(), True, "", "Obey the robots meta elements of a page.")
    robots_header_obey: bool = setting(switch(), True, "", "Obey the header field X-Robots-Tag.")
    sitemaps_follow: bool | None = setting(
        switch_or_none("only the spider broad reads them"),
        None,
        "",
        "Read the sitemaps that robots.txt names. Their pages come to the spider's parse().",
    )
    sitemap_urls_max: int = setting(
        whole(1, 10_000_000), URLS_MAX, "URLs", "Maximum number of URLs that are taken from one sitemap."
    )
    sitemap_max_bytes: int = setting(
        whole(1024, 1 << 32), MAX_BYTES, "bytes", "Number of bytes of a sitemap that are read."
    )
    sitemap_nested_max: int = setting(
        whole(0, 100),
        3,
        "indexes",
        "Maximum number of sitemap indexes that lead to one another. The sitemaps of the last one are read.",
    )
    content_seen: str = setting(
        choice_or_off("bytes", "text"),
        "bytes",
        "",
        "How duplicate pages are detected: by body, or also by main text.",
    )
    content_seen_links: str = setting(
        choice("elsewhere", "never", "always"),
        "elsewhere",
        "",
        "When the links of a duplicate page are followed: if they may lead elsewhere, never, or always.",
    )
    near_duplicates: tuple[str, ...] = setting(
        subset(*NEAR_DUPLICATES),
        [],
        "",
        "What is done with a page whose main text is nearly that of an earlier page: it is recorded, its links are "
        "not followed, its body is not stored. None: main texts are not compared.",
    )
    near_duplicates_max: int = setting(
        whole(1_000, 100_000_000),
        500_000,
        "pages",
        "Number of pages with which the main text of later ones is compared. The oldest make room.",
    )
    nofollow_rels: tuple[str, ...] = setting(
        subset(*NOFOLLOW), list(NOFOLLOW), "", "Values of rel with which a link is not followed."
    )
