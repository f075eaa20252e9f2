"""Readers, which turn the value of a setting into a typed value: text from the command line, or Python from a module.

A reader refuses each wrong value with a sentence that says which values are allowed. It never guesses: a word in
place of a number is wrong, and so is a number out of range.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from importlib import import_module
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from webcrawl.politeness.hours import Hours, HoursError, read_hours
from webcrawl.urls.canonical import SWITCHES

if TYPE_CHECKING:
    from collections.abc import Callable

Network = IPv4Network | IPv6Network
Nameserver = tuple[str, int]
"""An address and a port."""

EMPTY = (None, "", "None")
"""Values that mean no value, for settings that may have none."""

_DNS_PORT = 53
_MIME_PATTERN = re.compile(r"\*/\*|[a-z0-9!#$&^_.+-]+/(\*|[a-z0-9!#$&^_.+-]+)")
_DOMAIN = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*")
_PREFIX = re.compile(r"[A-Z][A-Z0-9_]*")
_LAST_PORT = 65_535
_EXTENSION = re.compile(r"[a-z0-9_+-]{1,16}")


@dataclass(frozen=True, slots=True)
class SettingReader:
    """``allowed`` completes the sentence 'must be ...'; ``read`` raises ValueError for anything else.

    The message of a ``Refusal`` is more exact than ``allowed``.
    """

    allowed: str
    read: Callable[[object], object]

    def problem(self, value: object) -> str | None:
        """Return what is wrong with ``value``; None when it can be read."""
        try:
            self.read(value)
        except (ValueError, TypeError, OverflowError) as error:
            reason = error.args[0] if isinstance(error, Refusal) else f"must be {self.allowed}"
            return f"{reason}, not {_short_repr(value)}"
        return None


class Refusal(ValueError):  # noqa: N818 - says why, is no fault
    """A ValueError whose message is for the user: it replaces 'must be ...'."""


def whole(least: int, most: int | None = None, *, zero: str = "") -> SettingReader:
    """A whole number from ``least`` to ``most``; ``zero`` is the meaning of 0 if it is special."""

    def read(value: object) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        number = int(value)
        if number < least or (most is not None and number > most):
            raise ValueError
        return number

    return SettingReader(_range_in_words("a whole number", least, most, zero), read)


def real(least: float, most: float, *, zero: str = "", above: bool = False) -> SettingReader:
    """A number from ``least`` (or only ``above`` it) to ``most``."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise TypeError
        number = float(value)
        if not math.isfinite(number) or number < least or number > most or (above and number == least):
            raise ValueError
        return number

    allowed = f"a number above {in_full(least)} and at most {in_full(most)}" if above else ""
    return SettingReader(allowed or _range_in_words("a number", least, most, zero), read)


def optional(reader: SettingReader) -> SettingReader:
    """A value that ``reader`` accepts, or None when empty."""

    def read(value: object) -> object:
        return None if value in EMPTY else reader.read(value)

    return SettingReader(reader.allowed, read)


def redis_url() -> SettingReader:
    """The URL of a Redis; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        url = _string(value)
        parts = urlsplit(url)
        if parts.scheme not in ("redis", "rediss", "unix") or not parts.netloc + parts.path:
            raise ValueError
        _ = parts.port
        numbers = [number for name, number in parse_qsl(parts.query, keep_blank_values=True) if name == "db"]
        if parts.scheme != "unix":
            numbers.append(parts.path.removeprefix("/") or "0")
        if not all(number.isascii() and number.isdigit() for number in numbers):
            # redis-py would take the first database.
            raise ValueError
        return url

    return SettingReader("a URL such as redis://HOST:PORT/DB, rediss://HOST:PORT or unix:///PATH", read)


def choice(*names: str) -> SettingReader:
    """One of ``names``."""
    listed = ", ".join(names[:-1]) + f" or {names[-1]}"

    def read(value: object) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return SettingReader(listed, read)


def choice_or_off(*names: str) -> SettingReader:
    """One of ``names``, the first of which is True as well; an empty text for False."""
    word = choice(*names)

    def read(value: object) -> str:
        try:
            return names[0] if as_switch(value) else ""
        except ValueError:
            return str(word.read(value))

    return SettingReader(f"{word.allowed}, or False", read)


def subset(*names: str) -> SettingReader:
    """Any number of ``names``, in a list or a text with commas."""

    def read(value: object) -> tuple[str, ...]:
        values = tuple(item.lower() for item in as_list(value))
        if not set(values) <= set(names):
            raise ValueError
        return values

    return SettingReader(f"a list of any of {', '.join(names)}", read)


def switch() -> SettingReader:
    """On or off, in the words that Scrapy accepts."""

    def read(value: object) -> bool:
        return as_switch(value)

    return SettingReader("True or False", read)


def switch_or_none(empty: str) -> SettingReader:
    """On or off; None when empty, which has the meaning ``empty``."""

    def read(value: object) -> bool | None:
        return None if value in EMPTY else as_switch(value)

    return SettingReader(f"True or False, or empty ({empty})", read)


def as_switch(value: object) -> bool:
    """Return the truth value of True, False, 1, 0 or these words in any case; ValueError for anything else."""
    known = {"true": True, "1": True, "false": False, "0": False}
    word = str(value).strip().lower()
    if word not in known:
        raise ValueError
    return known[word]


def text(allowed: str = "text", *, empty: bool = True) -> SettingReader:
    """Any text, an empty one too if ``empty``."""

    def read(value: object) -> str:
        content = "" if value is None else _string(value).strip()
        if not (content or empty):
            raise ValueError
        return content

    return SettingReader(allowed, read)


def encoding() -> SettingReader:
    """The name of a text encoding that Python knows."""

    def read(value: object) -> str:
        name = _string(value)
        try:
            # The codec of nothing is not looked up.
            b"-".decode(name)
        except LookupError as error:
            raise ValueError from error
        return name

    return SettingReader("an encoding such as utf-8", read)


def label(allowed: str) -> SettingReader:
    """A word of at most 100 letters, digits, dots, hyphens and underscores; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        if not re.fullmatch(r"[\w.-]{1,100}", _string(value)):
            raise ValueError
        return _string(value)

    return SettingReader(allowed, read)


def words(allowed: str, pattern: re.Pattern[str], strip: str = "") -> SettingReader:
    """A list, or a text with commas, of lower-case words that match ``pattern``."""

    def read(value: object) -> tuple[str, ...]:
        values = tuple(item.lower().lstrip(strip) for item in as_list(value))
        for item in values:
            if not pattern.fullmatch(item):
                raise ValueError
        return values

    return SettingReader(allowed, read)


def extensions() -> SettingReader:
    """File name extensions, with or without the leading dot."""
    return words("a list of file name extensions such as jpg,zip", _EXTENSION, strip=".")


def domains() -> SettingReader:
    """Names of domains, with or without the leading dot."""
    return words("a list of domains such as de,gov.uk", _DOMAIN, strip=".")


def canonical_rules() -> SettingReader:
    """Names of rules of the canonical form."""
    return words(f"a list of {', '.join(SWITCHES)}", re.compile("|".join(SWITCHES)))


def ports() -> SettingReader:
    """Numbers of TCP ports."""

    def read(value: object) -> tuple[int, ...]:
        if isinstance(value, list | tuple):
            value = [str(item) if type(item) is int else item for item in value]
        numbers = tuple(int(item) for item in as_list(value))
        if not all(1 <= port <= _LAST_PORT for port in numbers):
            raise ValueError
        return numbers

    return SettingReader("a list of ports such as 80,443,8080", read)


def mime_patterns() -> SettingReader:
    """MIME types; ``text/*`` stands for all of a kind, ``*/*`` for all."""
    return words("a list of MIME types such as text/html,text/* or */*", _MIME_PATTERN)


def prefixes() -> SettingReader:
    """Beginnings of names of settings, in capitals."""

    def read(value: object) -> tuple[str, ...]:
        values = tuple(as_list(value))
        if not all(map(_PREFIX.fullmatch, values)):
            raise ValueError
        return values

    return SettingReader("a list of prefixes such as MYPIPE_,SPIDERMON_", read)


def import_path(allowed: str) -> SettingReader:
    """The dotted path of something importable; None when empty."""

    def read(value: object) -> str | None:
        if value in EMPTY:
            return None
        module, _, attribute = _string(value).rpartition(".")
        try:
            getattr(import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise Refusal(f"must be {allowed} ({error})") from error
        return _string(value)

    return SettingReader(allowed, read)


def hours() -> SettingReader:
    """Hours of the day in a time zone; None when empty."""

    def read(value: object) -> Hours | None:
        if value in EMPTY:
            return None
        try:
            return read_hours(_string(value))
        except HoursError as error:
            raise Refusal(str(error)) from error

    return SettingReader("hours such as 22-6@Europe/Berlin", read)


def readable_file(allowed: str) -> SettingReader:
    """The path of a file that can be read; None when empty."""

    def read(value: object) -> Path | None:
        if value in EMPTY:
            return None
        path = Path(_string(value))
        try:
            with path.open("rb"):
                return path
        except OSError as error:
            raise Refusal(f"must be {allowed} ({error.strerror})") from error

    return SettingReader(allowed, read)


def folder(allowed: str) -> SettingReader:
    """The path of a folder that exists or can be made; None when empty."""

    def read(value: object) -> Path | None:
        if value in EMPTY:
            return None
        path = Path(_string(value))
        nearest = next((parent for parent in (path, *path.absolute().parents) if parent.exists()), path)
        if not nearest.is_dir():
            raise Refusal(f"must be {allowed} ({nearest} is not a folder)")
        return path

    return SettingReader(allowed, read)


def networks_or_switch() -> SettingReader:
    """True for all, False for none, or a list of networks or addresses."""

    def read(value: object) -> bool | tuple[Network, ...]:
        try:
            return as_switch(value)
        except ValueError:
            return tuple(ip_network(item, strict=False) for item in as_list(value))

    return SettingReader("True, False or a list of networks such as 10.0.0.0/8,::1", read)


def addresses() -> SettingReader:
    """IP addresses and networks, as they are usually written."""

    def read(value: object) -> tuple[str, ...]:
        networks = [ip_network(item) for item in as_list(value)]
        return tuple(
            str(network if network.num_addresses > 1 else network.network_address) for network in networks
        )

    return SettingReader("a list of IP addresses and networks such as 192.0.2.7,2001:db8::/32", read)


def nameservers() -> SettingReader:
    """Addresses of name servers, each with a port if it is not 53."""

    def read(value: object) -> tuple[Nameserver, ...]:
        return tuple(_nameserver(item) for item in as_list(value))

    return SettingReader("a list of IP addresses such as 9.9.9.9,127.0.0.1:5353,[::1]:53", read)


def as_list(value: object) -> list[str]:
    """Return the items of a list, of a JSON list in a text, or of a text with commas. Empty for no value."""
    if value in EMPTY:
        return []
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith('["') else value.split(",")
    if not isinstance(value, list | tuple | set | frozenset):
        raise TypeError
    return [_string(item).strip() for item in value if item not in EMPTY]


def _nameserver(item: str) -> Nameserver:
    address, port = item, str(_DNS_PORT)
    if bracketed := re.fullmatch(r"\[(.+)\](?::(\d+))?", item):
        address, port = bracketed[1], bracketed[2] or port
    elif item.count(":") == 1:
        address, port = item.split(":")
    if not 0 < int(port) < 65_536:
        raise ValueError
    return str(ip_address(address)), int(port)


def _string(value: object) -> str:
    if not isinstance(value, str | Path):
        raise TypeError
    return str(value)


def in_full(number: float) -> str:
    """Return a number without an exponent, as it can be given: ``33554432``, ``0.5``."""
    return str(int(number)) if float(number).is_integer() else f"{number:g}"


def _range_in_words(noun: str, least: float, most: float | None, zero: str) -> str:
    lowest = in_full(least)
    allowed = f"{noun} of at least {lowest}" if most is None else f"{noun} from {lowest} to {in_full(most)}"
    return f"{allowed} (0: {zero})" if zero else allowed


def _short_repr(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
