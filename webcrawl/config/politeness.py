"""Settings of politeness: clocks, robots.txt, hosts that fail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webcrawl.config.readers import choice, readable_file, real, whole
from webcrawl.config.setting import DAY, YEAR, setting


@dataclass(frozen=True, kw_only=True)
class PolitenessSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    politeness_key: str = setting(
        choice("domain", "host"), "domain", "", "what shares one clock: a registrable domain or a host name"
    )
    politeness_model: str = setting(
        choice("mean", "last", "fixed"),
        "mean",
        "",
        "factor times the mean, the last download time, or neither",
    )
    politeness_min_delay: float = setting(real(0, DAY), 5.0, "seconds", "shortest pause between two requests")
    politeness_max_delay: float = setting(
        real(0, DAY), 60.0, "seconds", "longest pause that we choose ourselves"
    )
    politeness_factor: float = setting(
        real(0, 10_000, zero="the shortest pause always"), 10.0, "download times", "pause after a request"
    )
    politeness_unknown_delay: float = setting(
        real(0, DAY, zero="the shortest pause"),
        0.0,
        "seconds",
        "pause while no page of a host was downloaded, so that its time is unknown",
    )
    politeness_crawl_delay_max: float = setting(real(0, DAY), 300.0, "seconds", "longest Crawl-delay obeyed")
    politeness_address_delay: float = setting(
        real(0, DAY, zero="no clock for addresses"),
        0.0,
        "seconds",
        "shortest pause between two requests to an IP address, whichever hosts they are for",
    )
    politeness_host_delay: float = setting(
        real(0, DAY, zero="no clock for hosts"), 0.0, "seconds", "the same for a host name"
    )
    politeness_domain_delay: float = setting(
        real(0, DAY, zero="no clock for domains"), 0.0, "seconds", "the same for a registrable domain"
    )
    politeness_groups_file: Path | None = setting(
        readable_file("a readable file of groups"),
        None,
        "",
        "sites that share a server, with a pause for each group: NAME SECONDS SITES, one a line",
    )
    robots_ttl_seconds: float = setting(real(1, YEAR), 86_400, "seconds", "how long a robots.txt is good for")
    robots_max_bytes: int = setting(
        whole(1024, 1 << 30), 512_000, "bytes", "how much of a robots.txt is read"
    )
    robots_cache_size: int = setting(whole(1, 1 << 30), 262_144, "origins", "robots.txt answers kept")
    robots_max_redirects: int = setting(whole(0, 20), 5, "", "redirects followed to a robots.txt")
    robots_unreachable_seconds: float = setting(
        real(0, YEAR),
        30 * DAY,
        "seconds",
        "after so long without a robots.txt that cannot be had the next setting holds",
    )
    robots_unreachable_policy: str = setting(
        choice("refuse", "copy", "allow"),
        "refuse",
        "",
        "fetch nothing, go by the last text for good, or take it for absent",
    )
    health_failures_to_park: int = setting(whole(1, 1000), 5, "", "failures in a row that park a host")
    health_park_seconds: float = setting(real(0, YEAR), 60, "seconds", "how long at first; doubled each time")
    health_park_max_seconds: float = setting(real(0, YEAR), 86_400, "seconds", "how long at most")
    health_parks_to_give_up: int = setting(
        whole(0, 1000, zero="never"), 5, "", "parks in a row after which a host is left alone in this run"
    )
