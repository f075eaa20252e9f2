"""Settings of focused crawling: what is looked for.

Settings of hints: what sitemaps and feeds say of pages that are known.

Settings of a crawl that asks for more seeds when it runs low on domains.

Settings of crawls that go on: which pages are visited again, when, and by whose judgement.

Settings of WebSub: being told by hubs that pages have changed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from webcrawl.config.checks import Read
from webcrawl.config.readers import (
    EMPTY,
    Reader,
    Refusal,
    choice,
    import_path,
    optional,
    real,
    switch,
    text,
    whole,
)
from webcrawl.config.setting import DAY, MIB, YEAR, setting
from webcrawl.errors import Problem
from webcrawl.features.focus.judge import ALLOWED, FocusError, judge_of


def focus() -> Reader:
    """What ``judge_of`` takes, as it was typed; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str):
            raise TypeError
        try:
            judge_of(value)
        except FocusError as error:
            raise Refusal(f"must be {ALLOWED} ({error})") from error
        return value.strip()

    return Reader(ALLOWED, read)


@dataclass(frozen=True, kw_only=True)
class FocusSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    focus: str | None = setting(
        focus(), None, "", "what is looked for: keywords, re:, mime:, pages:, model: or module:function"
    )
    focus_relevant: float = setting(
        real(0, 1, above=True), 0.5, "", "the relevance from which on a page counts as found"
    )


@dataclass(frozen=True, kw_only=True)
class HintSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    hints_follow: bool = setting(
        switch(), True, "", "whether pages are due earlier that a sitemap or feed says have changed"
    )
    hints_trust_min: float = setting(
        real(0, 1), 0.25, "", "share of a host's claims that must prove true, or none of them counts"
    )


def command() -> Reader:
    """Words as a shell cuts them; an empty text for none."""
    any_text = text("a command, in words as a shell cuts them")

    def read(value: object) -> object:
        found = any_text.read(value)
        shlex.split(str(found))
        return found

    return Reader(any_text.allowed, read)


@dataclass(frozen=True, kw_only=True)
class ReplenishingSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    seed_refill_threshold: int = setting(
        whole(1, 1_000_000),
        500,
        "hosts",
        "with fewer that have URLs more seeds are asked for, if somebody is asked",
    )
    seeds_command: str = setting(
        command(), "", "", "who is asked: a command that writes a file of seeds to its output"
    )
    seeds_hook: str | None = setting(
        import_path("the import path of an asynchronous function"),
        None,
        "",
        "or a function: from the number of hosts that have URLs to lines of seeds",
    )
    seeds_ask_seconds: float = setting(
        real(1, DAY), 60, "seconds", "between an answer and the next question, at least"
    )

    @property
    def asks_for_seeds(self) -> bool:
        """Whether more seeds are asked for at all."""
        return bool(self.seeds_command or self.seeds_hook)


def replenishing_contradictions(read: Read) -> Iterator[Problem]:
    """Who is asked must be one; settings that are wrong alone are left out."""
    if read.keys() >= {"SEEDS_COMMAND", "SEEDS_HOOK"} and read["SEEDS_COMMAND"]() and read["SEEDS_HOOK"]():
        yield Problem("SEEDS_HOOK", "must not be set with SEEDS_COMMAND: one of them is asked")


POLICIES = ("fixed", "multiplicative", "freshness")


def policy() -> Reader:
    """One of the policies by name, or the import path of another."""
    allowed = f"{', '.join(POLICIES)} or the import path of a policy"

    def read(value: object) -> str:
        name = str(value)
        if name in POLICIES:
            return name
        # What the freshness policy takes to import only those wait for who use it.
        from webcrawl.features.revisits.freshness import policy_of
        from webcrawl.features.revisits.policies import Pace

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
        real(1, 10 * YEAR), 7 * DAY, "seconds", "between two visits of a page, before more is known of it"
    )
    revisit_interval_min_seconds: float = setting(
        real(0, 10 * YEAR), 3600, "seconds", "no page is visited again sooner"
    )
    revisit_interval_max_seconds: float = setting(
        real(1, 10 * YEAR), 90 * DAY, "seconds", "no page is due again later"
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


Place = tuple[str, int]
"""Host and port."""


def callback_url() -> Reader:
    """Where hubs reach the crawl; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str):
            raise TypeError
        parts = urlsplit(value.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError
        _ = parts.port
        return parts.geturl()

    return Reader("a URL such as https://crawler.example.org/websub, without query and fragment", read)


def place() -> Reader:
    """HOST:PORT."""

    def read(value: object) -> Place:
        if not isinstance(value, str):
            raise TypeError
        parts = urlsplit(f"//{value.strip()}")
        if not parts.hostname or parts.port is None or parts.path or parts.username is not None:
            raise ValueError
        return parts.hostname, parts.port

    return Reader("HOST:PORT, such as 127.0.0.1:8090 or [::1]:8090", read)


@dataclass(frozen=True, kw_only=True)
class WebsubSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    websub_callback_url: str | None = setting(
        callback_url(), None, "", "where hubs reach the crawl; unset, there are no subscriptions"
    )
    websub_listen: Place = setting(
        place(), "127.0.0.1:8090", "", "where the crawl listens for what comes to that URL"
    )
    websub_lease_seconds: int = setting(
        whole(600, 366 * DAY),
        10 * DAY,
        "seconds",
        "how long a subscription is asked for; it is renewed in time",
    )
    websub_secret: str = setting(
        choice("https", "always", "never"),
        "https",
        "",
        "which hubs are given a secret to sign with: those asked by HTTPS, all, none",
    )
    websub_debounce_seconds: float = setting(
        real(0, DAY), 60.0, "seconds", "between two visits of a page for pushes; what comes meanwhile waits"
    )
    websub_push_maxsize: int = setting(
        whole(1024, 1 << 30), 8 * MIB, "bytes", "a longer push is ignored where it must be signed"
    )
    websub_subscriptions_max: int = setting(whole(1, 1_000_000), 10_000, "subscriptions", "at one time")
    websub_per_key_max: int = setting(
        whole(1, 1_000_000), 100, "subscriptions", "at one time to pages of one host"
    )
    websub_unsubscribe: bool = setting(
        switch(), False, "", "whether hubs are told to forget us when the crawl has come to its end"
    )
