"""Listings of FTP directories: by MLSD (RFC 3659, section 7), or as ``ls -l`` and DOS write them after LIST."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote

LINE_MAX = 4_096
"""A longer line is no entry."""
TYPE = "listing"
"""The type of a link to an entry of a directory."""

_FACTS = re.compile(r"((?:[A-Za-z0-9._-]++=[^;\r\n]*+;)++) (.+)")
_UNIX = re.compile(
    r"([-dlbcps])[-rwxsStTl]{9}\S?\s.*?\s(\d++)\s++"
    r"((?:[A-Za-z]{3}\s++\d{1,2}|\d{1,2}\s++[A-Za-z]{3})\s++(?:\d{4}|\d{1,2}:\d\d)|\d{4}-\d\d-\d\d\s++\d\d:\d\d)"
    r"\s(.+)"
)
_DOS = re.compile(r"(\d\d-\d\d-\d{2,4}\s++\d\d:\d\d(?:\s?[AaPp][Mm])?)\s++(<DIR>|\d++)\s++(.+)")
_DOS_DATES = ("%m-%d-%y %I:%M%p", "%m-%d-%Y %I:%M%p", "%m-%d-%y %H:%M", "%m-%d-%Y %H:%M")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/]")


class DirectoryItem(NamedTuple):
    """A file or a folder of a directory."""

    name: str
    """The name; each character stands for one byte (Latin-1), since a listing does not state its encoding."""
    is_folder: bool
    size: int | None
    """Bytes; None for a folder, and if it is not known."""
    modified_at: float | None
    """Epoch seconds; None if it is not known, and for times without a year."""

    @property
    def href(self) -> str:
        """The reference to it, relative to the URL of the directory, which ends with a slash."""
        return quote(self.name.encode("latin-1"), safe="") + ("/" if self.is_folder else "")

    @property
    def text(self) -> str:
        """The name as text."""
        raw = self.name.encode("latin-1")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return self.name


def items(listing: bytes) -> Iterator[DirectoryItem]:
    """Yield the files and folders of a listing. Lines that are no entries are skipped; never raises.

    Symbolic links are left out, since a link to a parent makes a tree without an end; so are names that would lead
    out of the directory.
    """
    for raw in listing.split(b"\n"):
        if len(raw) > LINE_MAX:
            continue
        item = _item(raw.decode("latin-1").rstrip("\r"))
        if item is not None and item.name not in (".", "..") and not _NOT_IN_NAMES.search(item.name):
            yield item


def identifies_files(listing: bytes) -> bool:
    """Return True if a listing states the identity of the files (RFC 3659, section 7.5.2, "unique"): equal ones are
    then of one directory.
    """
    facts = listing[:LINE_MAX].partition(b"\n")[0].partition(b" ")[0].lower()
    return any(fact.startswith(b"unique=") and len(fact) > len(b"unique=") for fact in facts.split(b";")[:-1])


def _item(line: str) -> DirectoryItem | None:
    if (match := _FACTS.fullmatch(line)) is not None:
        return _of_facts(match[1], match[2])
    if (match := _UNIX.fullmatch(line)) is not None:
        kind, size, date, name = match.groups()
        if kind not in "-d":
            return None
        is_folder = kind == "d"
        return DirectoryItem(name, is_folder, None if is_folder else _size(size), _unix_date(date))
    if (match := _DOS.fullmatch(line)) is not None:
        date, size, name = match.groups()
        is_folder = size == "<DIR>"
        return DirectoryItem(
            name, is_folder, None if is_folder else _size(size), _first_date(date, _DOS_DATES)
        )
    return None


def _of_facts(text: str, name: str) -> DirectoryItem | None:
    facts = {
        key.lower(): value for key, _, value in (fact.partition("=") for fact in text.split(";") if fact)
    }
    kind = facts.get("type", "").lower()
    if kind not in ("file", "dir"):
        return None
    is_folder = kind == "dir"
    modified_at = _date(facts.get("modify", "")[:14], "%Y%m%d%H%M%S")
    return DirectoryItem(name, is_folder, None if is_folder else _size(facts.get("size", "")), modified_at)


def _size(text: str) -> int | None:
    return int(text) if text.isdigit() and len(text) < 19 else None


def _unix_date(text: str) -> float | None:
    text = " ".join(text.split())
    return _first_date(text, ("%b %d %Y", "%d %b %Y", "%Y-%m-%d %H:%M"))


def _first_date(text: str, forms: tuple[str, ...]) -> float | None:
    text = re.sub(r" (?=[AaPp][Mm])", "", " ".join(text.split()))
    return next((at for form in forms if (at := _date(text, form)) is not None), None)


def _date(text: str, form: str) -> float | None:
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None
