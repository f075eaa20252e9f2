"""Settings of the features: usage preferences, focus, hints of sitemaps and feeds, seed refill, revisits, WebSub."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from webcrawl.config.checks import Read
from webcrawl.config.readers import (
    EMPTY,
    Refusal,
    SettingReader,
    choice,
    import_path,
    optional,
    readable_file,
    real,
    subset,
    switch,
    text,
    whole,
    words,
)
from webcrawl.config.setting import DAY, MIB, YEAR, setting
from webcrawl.errors import Problem
from webcrawl.robots.purposes import PURPOSES

FOCUS_FORMS = (
    "keywords such as 'telescope, radio astronomy', re:EXPRESSION, mime:TYPE[,TYPE...], pages:FILE, model:FILE "
    "or the import path module:function"
)
"""Allowed forms of a focus, for messages."""


def focus() -> SettingReader:
    """An argument of ``classifier_for``, as it was typed; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str):
            raise TypeError
        # A crawl without a focus does not import this.
        from webcrawl.features.focus.classifiers import classifier_for
        from webcrawl.features.focus.relevance import FocusError

        try:
            classifier_for(value)
        except FocusError as error:
            raise Refusal(f"must be {FOCUS_FORMS} ({error})") from error
        return value.strip()

    return SettingReader(FOCUS_FORMS, read)


_PRODUCT_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True, kw_only=True)
class UsageSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    usage_record: bool = setting(
        switch(),
        True,
        "",
        "Record with each page what it may be used for, as its site says it in robots.txt, header fields and meta "
        "elements.",
    )
    usage_purposes: tuple[str, ...] = setting(
        subset(*PURPOSES),
        [],
        "",
        "What the crawl is for. USAGE_DISALLOWED says what happens to pages that may not be used for all of these.",
    )
    usage_disallowed: str = setting(
        choice("record", "withhold", "refuse"),
        "withhold",
        "",
        "record does nothing more. withhold keeps such pages in the archive, and out of feeds, item pipelines, "
        "search and exports. refuse does the same, and does not request pages of which robots.txt or a file of "
        "their site says so already.",
    )
    usage_unknown: str = setting(
        choice("allow", "refuse"),
        "allow",
        "",
        "How a page counts of which nothing is said about one of USAGE_PURPOSES: refuse withholds it.",
    )
    usage_tokens: tuple[str, ...] = setting(
        words("a list of product tokens such as GPTBot,CCBot", _PRODUCT_TOKEN),
        [],
        "",
        "Other crawlers of which a Disallow in robots.txt counts as one of what they crawl for: train-ai for most.",
    )

    usage_tdmrep: bool = setting(
        switch(),
        False,
        "",
        "Request /.well-known/tdmrep.json of each origin after its robots.txt, before its pages.",
    )
    usage_licenses: bool = setting(
        switch(),
        True,
        "",
        "Request the licence file (RSL) that a License line of a robots.txt names on the same origin.",
    )

    @property
    def usage_withheld(self) -> tuple[str, ...]:
        """The purposes for all of which a page must be usable to leave the archive; empty for none."""
        return self.usage_purposes if self.usage_record and self.usage_disallowed != "record" else ()

    @property
    def usage_refused(self) -> tuple[str, ...]:
        """The purposes for all of which a page must be usable to be requested, as far as that is known."""
        return self.usage_withheld if self.usage_disallowed == "refuse" else ()


def usage_contradictions(read: Read) -> Iterator[Problem]:
    """Yield the settings of usage that contradict each other."""
    if (
        read.keys() >= {"USAGE_PURPOSES", "USAGE_RECORD"}
        and read["USAGE_PURPOSES"]()
        and not read["USAGE_RECORD"]()
    ):
        yield Problem("USAGE_PURPOSES", "needs USAGE_RECORD, which is off")


@dataclass(frozen=True, kw_only=True)
class FocusSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    focus: str | None = setting(
        focus(),
        None,
        "",
        "Subject of a focused crawl: keywords, re:, mime:, pages:, model: or module:function.",
    )
    focus_relevant: float = setting(
        real(0, 1, above=True), 0.5, "", "Lowest relevance at which a page counts as relevant."
    )


@dataclass(frozen=True, kw_only=True)
class HintSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    hints_follow: bool = setting(
        switch(), True, "", "Make pages due earlier if a sitemap or feed says that they have changed."
    )
    hints_trust_min: float = setting(
        real(0, 1),
        0.25,
        "",
        "Share of a host's claims that must prove true. If fewer do, its claims are ignored.",
    )


def command() -> SettingReader:
    """Words as a shell cuts them; an empty text for none."""
    any_text = text("a command, in words as a shell cuts them")

    def read(value: object) -> object:
        command = any_text.read(value)
        shlex.split(str(command))
        return command

    return SettingReader(any_text.allowed, read)


def signatures_file() -> SettingReader:
    """The path of a file of signatures; None when empty."""
    readable = readable_file("a readable file of signatures")

    def read(value: object) -> object:
        path = readable.read(value)
        if isinstance(path, Path):
            # A crawl without such a file does not import this here.
            from webcrawl.features.refusals.signatures import SignaturesError, load

            try:
                load(path)
            except SignaturesError as error:
                raise Refusal(f"must be a file of signatures ({error})") from error
        return path

    return SettingReader(readable.allowed, read)


@dataclass(frozen=True, kw_only=True)
class RefusalSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    refusals_recognise: bool = setting(
        switch(),
        True,
        "",
        "Recognise challenges, walls, blocks and parked domains: they are not retried, give neither items nor links, "
        "and a host that refuses the crawler is left alone.",
    )
    refusals_parked_names: int = setting(
        whole(0, 100_000, zero="never"),
        10,
        "domains",
        "Number of domains with the same short start page about a domain from which they count as parked.",
    )
    refusals_signatures_file: Path | None = setting(
        signatures_file(),
        None,
        "",
        "TOML file of further signatures of pages by which sites refuse.",
    )


@dataclass(frozen=True, kw_only=True)
class SeedRefillSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    seed_refill_threshold: int = setting(
        whole(1, 1_000_000),
        500,
        "hosts",
        "If fewer hosts than this have queued URLs, fetch more seeds (needs SEEDS_COMMAND or SEEDS_HOOK).",
    )
    seeds_command: str = setting(
        command(), "", "", "Command that fetches more seeds: it writes a seeds file to its standard output."
    )
    seeds_hook: str | None = setting(
        import_path("the import path of an asynchronous function"),
        None,
        "",
        "Asynchronous function that fetches more seeds: it takes the number of hosts with queued URLs and returns "
        "lines of a seeds file.",
    )
    seeds_ask_seconds: float = setting(
        real(1, DAY),
        60,
        "seconds",
        "Minimum time between the end of one fetch of seeds and the start of the next.",
    )

    @property
    def asks_for_seeds(self) -> bool:
        """True if a command or a function can fetch more seeds."""
        return bool(self.seeds_command or self.seeds_hook)


def seed_refill_contradictions(read: Read) -> Iterator[Problem]:
    """Check that more seeds have at most one source. Settings that are wrong alone are left out."""
    if read.keys() >= {"SEEDS_COMMAND", "SEEDS_HOOK"} and read["SEEDS_COMMAND"]() and read["SEEDS_HOOK"]():
        yield Problem("SEEDS_HOOK", "must not be set with SEEDS_COMMAND: only one source of seeds is allowed")


POLICIES = ("fixed", "multiplicative", "freshness")


def policy() -> SettingReader:
    """One of the policies by name, or the import path of another."""
    allowed = f"{', '.join(POLICIES)} or the import path of a policy"

    def read(value: object) -> str:
        name = str(value)
        if name in POLICIES:
            return name
        # The imports of the freshness policy take time, which only its users spend.
        from webcrawl.features.revisits.freshness import build_policy
        from webcrawl.features.revisits.policies import Pace

        try:
            build_policy(name, Pace())
        except ValueError as error:
            raise Refusal(f"must be {allowed} ({error})") from error
        return name

    return SettingReader(allowed, read)


@dataclass(frozen=True, kw_only=True)
class RevisitSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    crawl_mode: str = setting(
        choice("once", "continuous"), "once", "", "once visits each page once; continuous visits pages again."
    )
    revisit_policy: str = setting(policy(), "freshness", "", "Policy that decides when a page is due again.")
    revisit_interval_seconds: float = setting(
        real(1, 10 * YEAR),
        7 * DAY,
        "seconds",
        "Interval between two visits of a page until more is known about the page.",
    )
    revisit_interval_min_seconds: float = setting(
        real(0, 10 * YEAR), 3600, "seconds", "Shortest interval between two visits of a page."
    )
    revisit_interval_max_seconds: float = setting(
        real(1, 10 * YEAR), 90 * DAY, "seconds", "Longest interval until a page is due again."
    )
    revisit_fresh_max_seconds: float = setting(
        real(0, 10 * YEAR, zero="ignore both fields"),
        7 * DAY,
        "seconds",
        "Longest time for which Cache-Control or Expires of a page keeps it from being visited again.",
    )
    revisit_faster: float = setting(
        real(0, 1, above=True),
        0.5,
        "",
        "Factor for the interval after a visit that found a change (policy multiplicative).",
    )
    revisit_slower: float = setting(
        real(1, 100),
        1.5,
        "",
        "Factor for the interval after a visit that found no change (policy multiplicative).",
    )
    revisit_pages_per_day: float | None = setting(
        optional(real(0, 1e12, above=True)),
        None,
        "pages",
        "Number of visits a day, for policies with a budget. If unset, it follows from "
        "REVISIT_INTERVAL_SECONDS.",
    )
    revisit_share: float = setting(
        real(0, 1), 0.3, "", "Share of requests that go to due pages, on hosts that have new URLs as well."
    )
    revisit_hosts_pages: int = setting(
        whole(1, 1000), 8, "pages", "Maximum number of due pages of one host in its queue."
    )
    revisit_change: str = setting(
        choice("body", "text"),
        "body",
        "",
        "Part of a page that must differ for the page to count as changed.",
    )
    revisit_gone_max: int = setting(
        whole(1, 1000),
        3,
        "visits",
        "Number of consecutive visits that find a page gone, after which it is not visited again.",
    )


HostPort = tuple[str, int]
"""Host and port."""


def callback_url() -> SettingReader:
    """The URL at which hubs reach the crawl; None when empty."""

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

    return SettingReader("a URL such as https://crawler.example.org/websub, without query and fragment", read)


def host_port() -> SettingReader:
    """HOST:PORT."""

    def read(value: object) -> HostPort:
        if not isinstance(value, str):
            raise TypeError
        parts = urlsplit(f"//{value.strip()}")
        if not parts.hostname or parts.port is None or parts.path or parts.username is not None:
            raise ValueError
        return parts.hostname, parts.port

    return SettingReader("HOST:PORT, such as 127.0.0.1:8090 or [::1]:8090", read)


@dataclass(frozen=True, kw_only=True)
class WebsubSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    websub_callback_url: str | None = setting(
        callback_url(),
        None,
        "",
        "Public URL at which hubs reach the crawl. If unset, the crawl makes no subscriptions.",
    )
    websub_listen: HostPort = setting(
        host_port(),
        "127.0.0.1:8090",
        "",
        "Address and port at which the crawl listens for requests to that URL.",
    )
    websub_lease_seconds: int = setting(
        whole(600, 366 * DAY),
        10 * DAY,
        "seconds",
        "Duration that is requested for a subscription. The hub decides, and the subscription is "
        "renewed in time.",
    )
    websub_secret: str = setting(
        choice("https", "always", "never"),
        "https",
        "",
        "Hubs that get a secret to sign pushes with: those that are contacted by HTTPS, all, or none.",
    )
    websub_debounce_seconds: float = setting(
        real(0, DAY),
        60.0,
        "seconds",
        "Minimum time between two visits of a page because of pushes. Pushes in between wait.",
    )
    websub_push_maxsize: int = setting(
        whole(1024, 1 << 30),
        8 * MIB,
        "bytes",
        "Maximum size of a push. A longer one is ignored if it must be signed.",
    )
    websub_subscriptions_max: int = setting(
        whole(1, 1_000_000), 10_000, "subscriptions", "Maximum number of simultaneous subscriptions."
    )
    websub_per_key_max: int = setting(
        whole(1, 1_000_000),
        100,
        "subscriptions",
        "Maximum number of simultaneous subscriptions to pages of one host.",
    )
    websub_unsubscribe: bool = setting(
        switch(), False, "", "Cancel all subscriptions when the crawl has finished."
    )
