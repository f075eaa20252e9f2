"""Settings of WebSub: being told by hubs that pages have changed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from webcrawl.configuration.readers import EMPTY, Reader, choice, real, switch, whole
from webcrawl.configuration.setting import DAY, MIB, setting

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
    websub_pause_seconds: float = setting(
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
