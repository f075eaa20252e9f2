"""The storage of one crawl, built from its settings, and the settings on which its processes must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.crawl.rules import extensions_refused, list_digest
from webcrawl.crawl.schemes import supported_schemes
from webcrawl.scope.whitelist import load_whitelist
from webcrawl.storage.technology import SCOPE, CrawlFacts
from webcrawl.urls.schemes import WEB, Schemes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from webcrawl.config import Configuration
    from webcrawl.crawl.rules import CrawlRules
    from webcrawl.storage.contract import Backend
    from webcrawl.storage.technology import CrawlClock


_SHARED_DELAYS = ("POLITENESS_ADDRESS_DELAY", "POLITENESS_DOMAIN_DELAY", "POLITENESS_HOST_DELAY")
_LISTS = ("ALLOW_FILE", "DENY_FILE", "USELESS_PATHS_FILE")


def build_backend(
    configuration: Configuration,
    choices: CrawlRules,
    settings: BaseSettings,
    folder: Path | None,
    owner: str | None = None,
    spider: object = None,
    learnt: Callable[[str], None] = lambda host: None,
    arriving: str = "",
) -> tuple[Backend, CrawlClock]:
    """Return the backend of a crawl, not opened yet, and its clock. ``owner``: the name of the spider that owns it,
    if that matters. ``spider``: the spider, whose arguments change the scope. ``learnt``, ``arriving``: see
    ``CrawlFacts``."""
    facts = CrawlFacts(
        configuration,
        settings,
        folder,
        owner,
        identity_settings(configuration, choices),
        lambda: agreed(configuration, choices, spider, supported_schemes(settings)),
        choices.politeness_key().of_url,
        learnt,
        arriving,
    )
    return configuration.storage.build(facts)


def identity_settings(configuration: Configuration, choices: CrawlRules) -> dict[str, str]:
    """Return the settings that determine the key of a URL, and which URLs are the same."""
    return {"POLITENESS_KEY": configuration.politeness_key, **choices.comparison()}


def agreed(
    configuration: Configuration, choices: CrawlRules, spider: object, schemes: Schemes = WEB
) -> dict[str, str]:
    """Return the settings on which all processes of a crawl must agree, as messages show them."""
    domains = getattr(spider, "domains", None)
    scope = {
        "DEPTH_LIMIT": configuration.depth_limit,
        "URLLENGTH_LIMIT": configuration.urllength_limit,
        "EXTENSIONS_REFUSED": list_digest(sorted(extensions_refused(configuration, spider))),
        **{
            name: list_digest(expression.text for expression in choices.expressions.get(name, ()))
            for name in _LISTS
        },
        "TOP_LEVEL_DOMAINS": list_digest(sorted(configuration.top_level_domains)),
        "PORTS_ALLOWED": ",".join(map(str, sorted(configuration.ports_allowed))) or "all",
        **{name: getattr(configuration, name.lower()) for name in _SHARED_DELAYS},
        "POLITENESS_GROUPS_FILE": list_digest(map(str, choices.shared_clocks.groups.groups)),
        "PATH_SEGMENTS_MAX": configuration.path_segments_max,
        "PATH_REPEATS_MAX": configuration.path_repeats_max,
        "REQUESTS_PER_KEY_MAX": configuration.requests_per_key_max,
        "PAGE_BUDGET": configuration.page_budget,
        # A process without a handler would refuse the URLs of its scheme.
        "DOWNLOAD_HANDLERS": ",".join(sorted(schemes.names)),
        "CONTENT_SEEN": configuration.content_seen or "False",
        "NEAR_DUPLICATES": ",".join(sorted(configuration.near_duplicates)) or "none",
        "NEAR_DUPLICATES_MAX": configuration.near_duplicates_max,
        "CRAWL_MODE": getattr(spider, "mode", None) or configuration.crawl_mode,
        "REVISIT_CHANGE": configuration.revisit_change,
        # The list itself is read again while the crawl runs, and may have another path on each machine.
        "EXCLUSION_FILE": "given" if configuration.exclusion_file else "none",
        "FETCH_PRIVATE_ADDRESSES": _private_text(configuration.fetch_private_addresses),
        "allow": getattr(spider, "allow", None) or "none",
        "stay": getattr(spider, "stay", None) or "none",
        "domains": load_whitelist(domains).digest() if domains else "none",
        "allowed_domains": list_digest(sorted(getattr(spider, "allowed_domains", None) or ())),
    }
    fixed = identity_settings(configuration, choices)
    return {**fixed, **{f"{SCOPE}{name}": str(value) for name, value in scope.items()}}


def _private_text(private: bool | tuple[Any, ...]) -> str:
    return str(private) if isinstance(private, bool) else ",".join(sorted(map(str, private)))
