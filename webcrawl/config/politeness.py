"""Settings of politeness: delays, robots.txt, failing hosts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from webcrawl.config.readers import choice, hours, readable_file, real, whole
from webcrawl.config.setting import DAY, YEAR, setting
from webcrawl.politeness.hours import Hours


@dataclass(frozen=True, kw_only=True)
class PolitenessSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    politeness_key: str = setting(
        choice("domain", "host"),
        "domain",
        "",
        "Unit that has one clock: a registrable domain or a host name.",
    )
    politeness_model: str = setting(
        choice("mean", "last", "fixed"),
        "mean",
        "",
        "Delay after a request: a factor times the mean download time, times the last one, or the "
        "minimum delay always.",
    )
    politeness_min_delay: float = setting(real(0, DAY), 5.0, "seconds", "Minimum delay between two requests.")
    politeness_max_delay: float = setting(
        real(0, DAY), 60.0, "seconds", "Maximum delay that the crawler chooses itself."
    )
    politeness_factor: float = setting(
        real(0, 10_000, zero="always POLITENESS_MIN_DELAY"),
        10.0,
        "download times",
        "Delay after a request, as a multiple of the download time.",
    )
    politeness_unknown_delay: float = setting(
        real(0, DAY, zero="POLITENESS_MIN_DELAY"),
        0.0,
        "seconds",
        "Delay until the first page of a host has been downloaded, because its download time is unknown.",
    )
    politeness_crawl_delay_max: float = setting(
        real(0, DAY),
        300.0,
        "seconds",
        "Longest Crawl-delay that is obeyed. Hosts with a longer one are not crawled.",
    )
    politeness_rate_limit_max: float = setting(
        real(0, DAY, zero="ignore the fields"),
        60.0,
        "seconds",
        "Longest delay that the RateLimit fields of a site cause while requests remain.",
    )
    politeness_address_delay: float = setting(
        real(0, DAY, zero="no clock for addresses"),
        0.0,
        "seconds",
        "Minimum delay between two requests to one IP address, for all hosts at this address.",
    )
    politeness_host_delay: float = setting(
        real(0, DAY, zero="no clock for hosts"),
        0.0,
        "seconds",
        "Minimum delay between two requests to one host name.",
    )
    politeness_domain_delay: float = setting(
        real(0, DAY, zero="no clock for domains"),
        0.0,
        "seconds",
        "Minimum delay between two requests to one registrable domain.",
    )
    politeness_groups_file: Path | None = setting(
        readable_file("a readable file of groups"),
        None,
        "",
        "File of groups of sites that share a server, each with its delay: NAME SECONDS SITES, one "
        "group a line.",
    )
    politeness_hours: Hours | None = setting(
        hours(),
        None,
        "",
        "Hours of the day in which requests begin, with a time zone. The crawl waits for them. If unset, always.",
    )
    politeness_hours_file: Path | None = setting(
        readable_file("a readable file of hours"),
        None,
        "",
        "File of hours in which single sites are requested, within those of the crawl: lines of HOURS SITES.",
    )
    robots_ttl_seconds: float = setting(
        real(1, YEAR), 86_400, "seconds", "Longest time for which a robots.txt is valid."
    )
    robots_ttl_min_seconds: float = setting(
        real(1, YEAR),
        3_600,
        "seconds",
        "Shortest time for which a robots.txt is valid. In between its Cache-Control or Expires decides.",
    )
    robots_max_bytes: int = setting(
        whole(1024, 1 << 30), 512_000, "bytes", "Number of bytes of a robots.txt that are read."
    )
    robots_cache_size: int = setting(
        whole(1, 1 << 30), 262_144, "origins", "Number of origins whose robots.txt is kept."
    )
    robots_max_redirects: int = setting(
        whole(0, 20), 5, "", "Maximum number of redirects that are followed to a robots.txt."
    )
    robots_unreachable_seconds: float = setting(
        real(0, YEAR),
        30 * DAY,
        "seconds",
        "Time for which a robots.txt must have been unreachable before ROBOTS_UNREACHABLE_POLICY applies.",
    )
    robots_unreachable_policy: str = setting(
        choice("refuse", "copy", "allow"),
        "refuse",
        "",
        "refuse fetches nothing; copy obeys the last known robots.txt without a time limit; allow "
        "treats the robots.txt as absent.",
    )
    health_failures_to_park: int = setting(
        whole(1, 1000), 5, "", "Number of consecutive failures after which a host is parked."
    )
    health_park_seconds: float = setting(
        real(0, YEAR), 60, "seconds", "Duration of the first parking of a host. It is doubled each time."
    )
    health_park_max_seconds: float = setting(
        real(0, YEAR), 86_400, "seconds", "Maximum duration of a parking."
    )
    health_parks_to_give_up: int = setting(
        whole(0, 1000, zero="never"),
        5,
        "",
        "Number of consecutive parkings after which a host is not contacted any more in this run.",
    )
    health_requests_while_refused: int = setting(
        whole(0, 1000, zero="no limit"),
        3,
        "requests",
        "Number of requests to a host that refuses the crawler, robots.txt included, after which it is left alone "
        "for a day.",
    )
