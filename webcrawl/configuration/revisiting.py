"""Settings of crawls that go on: which pages are visited again, when, and by whose judgement."""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.configuration.readers import Reader, Refusal, choice, optional, real, whole
from webcrawl.configuration.setting import DAY, YEAR, setting

POLICIES = ("fixed", "multiplicative", "freshness")


def policy() -> Reader:
    """One of the policies by name, or the import path of another."""
    allowed = f"{', '.join(POLICIES)} or the import path of a policy"

    def read(value: object) -> str:
        name = str(value)
        if name in POLICIES:
            return name
        # What the freshness policy takes to import only those wait for who use it.
        from webcrawl.visits.choosing import policy_of
        from webcrawl.visits.policies import Pace

        try:
            policy_of(name, Pace())
        except ValueError as error:
            raise Refusal(f"must be {allowed} ({error})") from error
        return name

    return Reader(allowed, read)


@dataclass(frozen=True, kw_only=True)
class RevisitSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    crawl_mode: str = setting(
        choice("once", "continuous"), "once", "", "whether pages are visited once, or again and again"
    )
    revisit_policy: str = setting(policy(), "freshness", "", "what says when a page is due again")
    revisit_interval_seconds: float = setting(
        real(1, 10 * YEAR), 7.0 * DAY, "seconds", "between two visits of a page, before more is known of it"
    )
    revisit_interval_min_seconds: float = setting(
        real(0, 10 * YEAR), 3600.0, "seconds", "no page is visited again sooner"
    )
    revisit_interval_max_seconds: float = setting(
        real(1, 10 * YEAR), 90.0 * DAY, "seconds", "no page is due again later"
    )
    revisit_faster: float = setting(
        real(0, 1, above=True),
        0.5,
        "",
        "by what an interval is multiplied that saw a change (multiplicative)",
    )
    revisit_slower: float = setting(
        real(1, 100), 1.5, "", "by what one is multiplied that saw none (multiplicative)"
    )
    revisit_pages_per_day: float | None = setting(
        optional(real(0, 1e12, above=True)),
        None,
        "pages",
        "the budget of policies that have one, in place of REVISIT_INTERVAL_SECONDS",
    )
    revisit_share: float = setting(
        real(0, 1), 0.3, "", "share of requests for pages that are due, of hosts that have new URLs as well"
    )
    revisit_hosts_pages: int = setting(
        whole(1, 1000), 8, "pages", "most pages of a host that wait in its queue to be visited again"
    )
    revisit_change: str = setting(
        choice("body", "text"), "body", "", "what has to differ for a page to count as changed"
    )
    revisit_gone_max: int = setting(
        whole(1, 1000), 3, "visits", "in a row that find a page gone, after which it is visited no more"
    )
