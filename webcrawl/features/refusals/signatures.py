"""Signatures of pages by which networks, consoles and registrars refuse, read from TOML files.

A file has tables ``[[signature]]``. Each has a name, a kind and the marks that a response must have, all of them:

* ``headers``: fields with a text that their value contains, in any case; an empty text asks for the field alone.
* ``body``: texts in the first ``READ_BYTES`` of the body, as the software writes them.
* ``statuses``: the statuses with which it comes; without any, all but 2xx.
* ``success``: it comes with 2xx, too. Such a signature needs a mark that ordinary text cannot have: markup.
* ``empty``: beside its marks the page has no text of its own.

``by`` names the network or software, ``source`` where the marks are described, and ``sample`` is a response with all
marks: the file is refused if a signature does not match its own sample.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from webcrawl.politeness.refusals import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

READ_BYTES = 32_768
"""The part of a body in which marks are looked for."""
SIGNATURES_MAX = 1_000
MARK_MIN = 5
"""The least number of bytes of a mark."""

OWN = files(__package__) / "signatures.toml"
"""The file of the package."""


class SignaturesError(ValueError):
    """A file of signatures cannot be read, or one of them is wrong."""


@dataclass(frozen=True, slots=True)
class RefusalSignature:
    """The marks of one kind of page."""

    name: str
    kind: str
    by: str = ""
    statuses: frozenset[int] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: tuple[bytes, ...] = ()
    success: bool = False
    empty: bool = False
    source: str = ""
    sample: str = ""

    def comes_with(self, status: int) -> bool:
        """Return whether the page may have a status."""
        if status in self.statuses:
            return True
        is_success = 200 <= status < 300
        return self.success if is_success else not (self.statuses or self.empty)

    @property
    def may_succeed(self) -> bool:
        """True if it may come with 2xx."""
        return self.success or any(200 <= status < 300 for status in self.statuses)


@dataclass(frozen=True, slots=True)
class SampleResponse:
    """A response as a signature's ``sample`` writes it: a status line, header fields, an empty line, and the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def parse_sample(text: str) -> SampleResponse:
    """Read a sample. :raises SignaturesError: it has another form"""
    head, _, body = text.lstrip("\n").partition("\n\n")
    first, *lines = head.split("\n")
    words = first.split()
    if len(words) < 2 or not words[1].isdigit():
        raise SignaturesError("a sample begins with a status line such as HTTP/1.1 403")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise SignaturesError(f"{line!r} in a sample is no header field")
        headers[name.strip().lower()] = value.strip()
    return SampleResponse(int(words[1]), headers, body.encode())


@cache
def signatures_of_package() -> tuple[RefusalSignature, ...]:
    """Return the signatures that come with the package. A process reads them once."""
    return tuple(parse(OWN.read_text(encoding="utf-8"), str(OWN)))


def load(path: Path | None) -> list[RefusalSignature]:
    """Return the signatures of the package, and those of a file of the operator in front of them. One of the file
    replaces that of the package with the same name; with ``off = true`` it only removes it.

    :raises SignaturesError: the file cannot be read or is wrong
    """
    own = {signature.name: signature for signature in signatures_of_package()}
    if path is None:
        return list(own.values())
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SignaturesError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    further = parse(text, str(path))
    for name in removed(text):
        own.pop(name, None)
    for signature in further:
        own.pop(signature.name, None)
    return [*further, *own.values()]


def removed(text: str) -> list[str]:
    """Return the names of the signatures that a file switches off."""
    tables = tomllib.loads(text).get("signature", [])
    return [str(table.get("name")) for table in tables if table.get("off") is True]


def parse(text: str, place: str) -> list[RefusalSignature]:
    """Return the signatures of a file. ``place`` names it in messages.

    :raises SignaturesError: the text is no TOML, or a signature is wrong
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SignaturesError(f"{place} is no TOML: {error}") from error
    rows = tables.pop("signature", [])
    if tables or not isinstance(rows, list):
        raise SignaturesError(f"{place}: only tables [[signature]] are allowed")
    if len(rows) > SIGNATURES_MAX:
        raise SignaturesError(f"{place}: at most {SIGNATURES_MAX} signatures are allowed")
    signatures = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict) and row.get("off") is True and isinstance(row.get("name"), str):
            continue
        try:
            signatures.append(_signature(row))
        except SignaturesError as error:
            name = row.get("name") if isinstance(row, dict) else None
            raise SignaturesError(f"{place}: signature {name or number}: {error}") from error
    return signatures


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "kind": str,
    "by": str,
    "statuses": list,
    "headers": dict,
    "body": list,
    "success": bool,
    "empty": bool,
    "source": str,
    "sample": str,
}


def _signature(row: Any) -> RefusalSignature:
    if not isinstance(row, dict):
        raise SignaturesError("must be a table")
    for name, value in row.items():
        if name not in _TYPES or not isinstance(value, _TYPES[name]):
            allowed = ", ".join(_TYPES)
            raise SignaturesError(f"{name} = {value!r} is not allowed; there are {allowed}")
    statuses, body = row.get("statuses", []), row.get("body", [])
    headers = {name.lower(): value for name, value in row.get("headers", {}).items()}
    if not row.get("name"):
        raise SignaturesError("name is missing")
    if row.get("kind") not in KINDS:
        raise SignaturesError(f"kind must be one of {', '.join(KINDS)}")
    if not all(isinstance(status, int) and 100 <= status <= 999 for status in statuses):
        raise SignaturesError("statuses must be numbers from 100 to 999")
    if not _are_texts(headers.values()) or not _are_texts(body):
        raise SignaturesError("headers and body must have texts")
    marks = tuple(text.encode() for text in body)
    if any(not MARK_MIN <= len(mark) <= READ_BYTES for mark in marks):
        raise SignaturesError(f"a text of body must have {MARK_MIN} bytes or more")
    if not (headers or marks):
        raise SignaturesError("headers or body must name a mark")
    if row.get("empty") and not marks:
        raise SignaturesError("empty needs a text in body")
    signature = RefusalSignature(
        row["name"],
        row["kind"],
        row.get("by", ""),
        frozenset(statuses),
        {name: value.lower() for name, value in headers.items()},
        marks,
        row.get("success", False),
        row.get("empty", False),
        row.get("source", ""),
        row.get("sample", ""),
    )
    if signature.sample and not _matches(signature, parse_sample(signature.sample)):
        raise SignaturesError("does not match its sample")
    return signature


def _matches(signature: RefusalSignature, sample: SampleResponse) -> bool:
    headers = signature.headers.items()
    return (
        signature.comes_with(sample.status)
        and all(mark in sample.body for mark in signature.body)
        and all(name in sample.headers and text in sample.headers[name].lower() for name, text in headers)
    )


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
