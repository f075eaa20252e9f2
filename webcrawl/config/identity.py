"""Settings of the identity of the crawler: its name, its contact, its page for site owners, and signed requests."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from webcrawl.config.readers import EMPTY, Refusal, SettingReader, addresses, as_list, text, whole
from webcrawl.config.setting import DAY, setting
from webcrawl.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.config.checks import Read
    from webcrawl.features.identity.keys import KeyRing

KEY_VARIABLE = "WEBCRAWL_IDENTITY_KEY"
"""The environment variable with the content of a key file. It is no setting: no command prints it."""
COMPONENTS = ("@method", "@authority", "@path", "@query", "@target-uri")
"""The components that a signature can cover besides Signature-Agent."""
_AGENT_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


def key_file() -> SettingReader:
    """The path of a file with signing keys; None when empty."""
    allowed = "a file of scrapy identity new, which nobody else can read"

    def read(value: object) -> Path | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str | Path):
            raise TypeError
        # A crawl that signs nothing does not import this.
        from webcrawl.features.identity.keys import KeyFileError, load_file

        try:
            load_file(Path(value))
        except KeyFileError as error:
            raise Refusal(f"must be {allowed} (it {error})") from error
        return Path(value)

    return SettingReader(allowed, read)


def https_origin() -> SettingReader:
    """An origin with https, as browsers write it; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str):
            raise TypeError
        parts = urlsplit(value.strip())
        host, port = parts.hostname or "", parts.port
        if parts.scheme != "https" or parts.path not in ("", "/") or parts.query or parts.fragment:
            raise ValueError
        if parts.username is not None or not _AGENT_HOST.fullmatch(host):
            raise ValueError
        return f"https://{host}" if port in (None, 443) else f"https://{host}:{port}"

    return SettingReader("an origin such as https://bot.your.site, without a path", read)


def components() -> SettingReader:
    """Derived components of a request, one of which names its host."""
    allowed = f"a list of {', '.join(COMPONENTS)}, with @authority or @target-uri, each at most once"

    def read(value: object) -> tuple[str, ...]:
        values = tuple(as_list(value))
        if not set(values) <= set(COMPONENTS) or len(set(values)) < len(values):
            raise ValueError
        if not {"@authority", "@target-uri"} & set(values):
            raise ValueError
        return values

    return SettingReader(allowed, read)


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    user_agent: str = setting(
        text(), "", "", "User-Agent of all requests. If empty, webcrawl/VERSION (+CRAWLER_CONTACT)."
    )
    crawler_contact: str = setting(
        text("a web or e-mail address"),
        "",
        "",
        "Address at which site owners get information about the crawl or complain.",
    )
    botpage_contact: str = setting(
        text("a web or e-mail address"),
        "",
        "",
        "Contact on the page of `scrapy botpage`. If unset, CRAWLER_CONTACT.",
    )
    botpage_addresses: tuple[str, ...] = setting(
        addresses(), [], "", "Addresses of the crawler, for that page."
    )
    botpage_purpose: str = setting(text(), "", "", "Activity and purpose of the crawler, for that page.")
    botpage_answer: str = setting(text(), "", "", "How you answer site owners, for that page.")
    botpage_data_use: str = setting(
        text(), "", "", "What the fetched data are used for, for that page and the card of the crawler."
    )
    identity_key_file: Path | None = setting(
        key_file(),
        None,
        "",
        "File with the key that signs requests (Web Bot Auth). If unset, they are not signed, unless the environment "
        f"variable {KEY_VARIABLE} has the content of such a file.",
    )
    identity_agent: str | None = setting(
        https_origin(),
        None,
        "",
        "Origin that serves the directory of the public keys. Each signed request names it (Signature-Agent).",
    )
    identity_components: tuple[str, ...] = setting(
        components(),
        ["@method", "@authority", "@path"],
        "",
        "Parts of a request that its signature covers, besides Signature-Agent.",
    )
    identity_lifetime_seconds: int = setting(
        whole(10, DAY),
        300,
        "seconds",
        "Time for which a signature is valid. It allows for the clocks of servers that differ from yours.",
    )

    @property
    def signs_requests(self) -> bool:
        """True if there is a key."""
        return self.identity_key_file is not None or bool(os.environ.get(KEY_VARIABLE))


def identity_contradictions(read: Read) -> Iterator[Problem]:
    """Check that signed requests have a key and an origin. Settings that are wrong alone are left out."""
    if not read.keys() >= {"IDENTITY_KEY_FILE", "IDENTITY_AGENT"}:
        return
    path, agent = read["IDENTITY_KEY_FILE"](), read["IDENTITY_AGENT"]()
    if path is None and not os.environ.get(KEY_VARIABLE):
        if agent is not None:
            yield Problem(
                "IDENTITY_AGENT",
                "needs a key: set IDENTITY_KEY_FILE, or the environment variable "
                f"{KEY_VARIABLE}; scrapy identity new writes one",
            )
        return
    if agent is None:
        yield Problem(
            "IDENTITY_AGENT",
            "must be set with a key, for instance to https://bot.your.site: servers look there for the public key",
        )
    try:
        ring = load_keys(path)
    except ConfigurationError as error:
        yield from error.problems
        return
    if ring is not None and ring.signing(time()) is None:
        yield Problem(
            _source(path),
            "has no key that is in force now; scrapy identity list shows their times, and scrapy identity rotate "
            "adds one",
        )


def load_keys(path: Path | None) -> KeyRing | None:
    """Return the keys of a file, or without one those of the environment; None if there are none.

    :raises ConfigurationError: they cannot be used
    """
    content = os.environ.get(KEY_VARIABLE)
    if path is None and not content:
        return None
    # A crawl that signs nothing does not import this.
    from webcrawl.features.identity.keys import KeyFileError, load_file, read_keys

    try:
        return load_file(path) if path is not None else read_keys(content or "")
    except KeyFileError as error:
        raise ConfigurationError([Problem(_source(path), str(error))]) from error


def _source(path: Path | None) -> str:
    return "IDENTITY_KEY_FILE" if path is not None else KEY_VARIABLE
