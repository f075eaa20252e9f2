"""Settings of notifications: who is told of what happens to a crawl."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from webcrawl.config.readers import SettingReader, as_list, real, subset, text, whole
from webcrawl.config.setting import ANY, DAY, YEAR, setting

EVENTS = ("end", "stall", "errors", "disk", "refusal", "crash")
"""The events that receivers can be told of. The service tells of a crash."""

_ADDRESS = re.compile(r"[^\s@,;<>\"]+@[^\s@,;<>\"]+")


def webhooks() -> SettingReader:
    """URLs of receivers."""

    def read(value: object) -> tuple[str, ...]:
        urls = tuple(as_list(value))
        for url in urls:
            parts = urlsplit(url)
            _ = parts.port
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError
            if not url.isascii() or not url.isprintable() or " " in url:
                raise ValueError
        return urls

    return SettingReader("a list of URLs such as https://hooks.example.org/crawls", read)


def mail_addresses() -> SettingReader:
    """Addresses of e-mail."""

    def read(value: object) -> tuple[str, ...]:
        addresses = tuple(as_list(value))
        if not all(map(_ADDRESS.fullmatch, addresses)):
            raise ValueError
        return addresses

    return SettingReader("a list of e-mail addresses such as ops@example.org,you@example.org", read)


@dataclass(frozen=True, kw_only=True)
class NotificationSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    notify_webhooks: tuple[str, ...] = setting(
        webhooks(), [], "", "URLs to which messages about the crawl are posted as JSON."
    )
    notify_mail_to: tuple[str, ...] = setting(
        mail_addresses(),
        [],
        "",
        "E-mail addresses to which these messages are sent, through the mail server in Scrapy's MAIL_HOST.",
    )
    notify_secret: str = setting(
        text(), "", "", "Key with which posted messages are signed (HMAC-SHA-256). If empty, they are not."
    )
    notify_events: tuple[str, ...] = setting(
        subset(*EVENTS),
        list(EVENTS),
        "",
        "Events to report: the end of the crawl, a stall, many errors, a disk that is nearly full, hosts that "
        "refuse the crawler, and by `scrapy serve` a crash.",
    )
    notify_stall_seconds: float = setting(
        real(0, YEAR, zero="never"),
        600,
        "seconds",
        "The crawl has stalled if it fetches nothing for this time although hosts may be contacted.",
    )
    notify_error_rate: float = setting(
        real(0, 1, zero="never"),
        0.5,
        "",
        "There are many errors if this share of the requests of the last NOTIFY_ERROR_WINDOW_SECONDS failed or "
        "got status 429 or 5xx.",
    )
    notify_error_window_seconds: float = setting(
        real(10, DAY), 300, "seconds", "Time over which errors are counted."
    )
    notify_disk_free_bytes: int = setting(
        whole(0, ANY, zero="never"),
        1 << 30,
        "bytes",
        "The disk is nearly full if less than this is free on that of the JOBDIR.",
    )
    notify_interval_seconds: float = setting(
        real(0, YEAR),
        900,
        "seconds",
        "Minimum time between two messages about stalls, about errors, or about the disk.",
    )

    @property
    def notifies(self) -> bool:
        """True if there is a receiver."""
        return bool(self.notify_webhooks or self.notify_mail_to)
