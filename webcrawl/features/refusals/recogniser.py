"""Recognises a refusal by the status, the header and the beginning of the body of a response.

Marks are plain texts, so the time is linear in the part that is read. Of an ordinary page with status 200 only its
first links are counted: the pages of challenges and registrars hardly have any. A page with few links and an error
page are searched once for one mark of each signature, all of them together (RE2), at their beginning and at their
end; the signatures whose mark is there are compared with the whole part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import re2

from webcrawl.features.refusals.signatures import READ_BYTES
from webcrawl.parsing.text import line
from webcrawl.politeness.refusals import (
    LEGAL,
    LICENSE_REQUIRED,
    LOGIN_REQUIRED,
    PAYMENT_REQUIRED,
    PROTOCOL_WANTED,
    RATE_LIMITED,
    SIGNATURE_WANTED,
    SiteRefusal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from webcrawl.features.refusals.signatures import RefusalSignature

    Header = Mapping[str, str]
    """The values of header fields by their names in lower case; several values are joined by commas."""

BEGIN_BYTES, END_BYTES = 8_192, 4_096
"""The parts of a body, its first and its last bytes of ``READ_BYTES``, that have a mark of each signature."""
BODY_MAX = 100_000
"""Bytes of a body. A longer one with a status 2xx is a page with content."""
ABSENT_STATUSES = (404, 410)
"""Statuses that are an answer of the site itself, whatever its page has."""
LINKS_MAX = 15
"""A page with status 2xx and more links than this is a page with content."""
TEXT_MAX = 200
"""Characters of text that a page may have and still count as one without content."""
DETAIL_MAX = 200

_PRICES = ("crawler-price", "x-price", "price")
"""Fields with a price: the first is Cloudflare's for its pay per crawl."""
_FIELDS = (*_PRICES, "accept-signature", "www-authenticate", "link", "upgrade")
_EARLY = 1_000
"""The part in which the first tag of a page begins."""
_LINK = re.compile(r'<([^<>]*)>([^<,]*(?:"[^"]*")?[^<,]*)')


class Recogniser:
    """Recognises refusals by a list of signatures, of which the first that matches counts, and by statuses."""

    def __init__(self, signatures: Sequence[RefusalSignature]) -> None:
        by_head = [signature for signature in signatures if not signature.body]
        by_body = [signature for signature in signatures if signature.body]
        self._by_field: dict[str, list[tuple[int, RefusalSignature]]] = {}
        for number, signature in enumerate(by_head):
            self._by_field.setdefault(next(iter(signature.headers)), []).append((number, signature))
        self._of_success = _Marks([signature for signature in by_body if signature.may_succeed])
        self._of_errors = _Marks(by_body)
        heads = [signature for signature in by_head if signature.may_succeed]
        self._statuses_of_success = {status for signature in heads for status in signature.statuses}
        self._any_success = any(signature.success for signature in heads)
        self.fields = frozenset({*_FIELDS, *(name for signature in signatures for name in signature.headers)})
        """The names of all header fields that are read."""

    def reads_head(self, status: int) -> bool:
        """Return False if no header field makes a response with this status a refusal."""
        return not 200 <= status < 300 or self._any_success or status in self._statuses_of_success

    def of_head(self, status: int, header: Header) -> SiteRefusal | None:
        """Return the refusal that a status and a header express, without a look at the body."""
        if not self.reads_head(status):
            return None
        found = [
            (number, signature)
            for name in header
            for number, signature in self._by_field.get(name, ())
            if signature.comes_with(status) and _has_fields(signature, header)
        ]
        if not found:
            return None
        _, first = min(found, key=lambda one: one[0])
        return SiteRefusal(first.kind, first.by)

    def of_error(self, status: int, header: Header, body: bytes) -> SiteRefusal | None:
        """Return the refusal of a response whose status is not 2xx. ``body``: decoded, at least its beginning."""
        if status in ABSENT_STATUSES:
            return None
        refusal = None
        if status >= 400:
            refusal = self.of_head(status, header) or _wanted(status, header)
        if refusal is None and body:
            refusal = self._of_errors.find(status, lambda: header, body)
        return refusal or _of_status(status, header)

    def of_success(self, status: int, header: Callable[[], Header], body: bytes) -> SiteRefusal | None:
        """Return the refusal of a response with a status 2xx, by its decoded body. ``header`` is called if the body
        has a mark."""
        if len(body) > BODY_MAX or has_many_links(body, BEGIN_BYTES):
            return None
        refusal = self._of_success.find(status, header, body)
        return None if refusal is None or has_many_links(body) else refusal


class _Marks:
    """Signatures with marks in the body, and one expression that finds which of them a body may match."""

    def __init__(self, signatures: Sequence[RefusalSignature]) -> None:
        self._signatures = signatures
        self._expression: re2.Set | None = None
        if not signatures:
            return
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        self._expression = re2.Set.SearchSet(options)
        for signature in signatures:
            self._expression.Add(re2.escape(max(signature.body, key=len)))
        self._expression.Compile()

    def find(self, status: int, header: Callable[[], Header], body: bytes) -> SiteRefusal | None:
        """Return the refusal of the first signature that a body matches."""
        if self._expression is None:
            return None
        begin = body[:READ_BYTES]
        searched = begin
        if len(begin) > BEGIN_BYTES + END_BYTES:
            searched = begin[:BEGIN_BYTES] + begin[-END_BYTES:]
        numbers = self._expression.Match(searched) or ()
        for number in sorted(numbers):
            signature = self._signatures[number]
            if (
                signature.comes_with(status)
                and all(mark in begin for mark in signature.body)
                and _has_fields(signature, header())
                and not (signature.empty and has_content(body))
            ):
                return SiteRefusal(signature.kind, signature.by)
        return None


def has_many_links(body: bytes, most: int = READ_BYTES) -> bool:
    """Return whether a page has more than ``LINKS_MAX`` links in its first ``most`` bytes. Registrars show pages with
    many, all ads; these have a key in their first tag."""
    at = -1
    for _ in range(LINKS_MAX + 1):
        at = body.find(b"<a ", at + 1, most)
        if at < 0:
            return False
    return body.find(b"data-adblockkey", 0, _EARLY) < 0


_SILENT = (b"script", b"style", b"noscript", b"template", b"title", b"svg")
"""Elements whose text is not shown, or not with scripts."""


def visible_text(body: bytes, most: int) -> str:
    """Return the text of a page that is shown, without that of ``noscript``: more than ``most`` characters if it has
    more, and perhaps cut there. Reads ``READ_BYTES`` in linear time."""
    texts, length = [], 0
    for text, _ in _shown(body):
        if text:
            texts.append(text)
            length += len(text)
            if length > most:
                break
    return b" ".join(texts).decode("utf-8", "replace")


def has_content(body: bytes) -> bool:
    """Return whether a page shows something without scripts: more than a few words, or a heading of its own."""
    length = 0
    for text, element in _shown(body):
        length += len(text)
        if length > TEXT_MAX or element == b"h1":
            return True
    return False


def _shown(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each text that is shown, with the name of the tag behind it. Reads ``READ_BYTES`` in linear time."""
    begin, at = body[:READ_BYTES], 0
    lower = begin.lower()
    while at < len(begin):
        tag = begin.find(b"<", at)
        text = begin[at : tag if tag >= 0 else len(begin)].strip()
        end = -1 if tag < 0 else begin.find(b">", tag)
        if end < 0:
            yield text, b""
            return
        name = lower[tag + 1 : tag + 12].split(b">", 1)[0].split(b" ", 1)[0].strip()
        yield text, name
        at = end + 1
        if name in _SILENT:
            close = lower.find(b"</" + name, at)
            at = len(begin) if close < 0 else close


def _has_fields(signature: RefusalSignature, header: Header) -> bool:
    for name, text in signature.headers.items():
        value = header.get(name)
        if value is None or text not in value.lower():
            return False
    return True


def _wanted(status: int, header: Header) -> SiteRefusal | None:
    """Return what a response asks for by name: a licence or a signature."""
    if status in (401, 402, 403) and (licence := _find_challenge(header, "license")) is not None:
        return SiteRefusal(LICENSE_REQUIRED, detail=licence)
    if status in (401, 403, 429) and (fields := header.get("accept-signature")) is not None:
        return SiteRefusal(SIGNATURE_WANTED, detail=line(fields, DETAIL_MAX))
    return None


def _of_status(status: int, header: Header) -> SiteRefusal | None:
    if status == 401:
        return SiteRefusal(LOGIN_REQUIRED, detail=line(header.get("www-authenticate", ""), DETAIL_MAX))
    if status == 402:
        price = next((value for name in _PRICES if (value := header.get(name))), None)
        return SiteRefusal(PAYMENT_REQUIRED, detail=line(price or "", DETAIL_MAX))
    if status == 429:
        return SiteRefusal(RATE_LIMITED)
    if status == 451:
        return SiteRefusal(LEGAL, by=authority(header.get("link", "")) or "")
    if status in (426, 505):
        return SiteRefusal(PROTOCOL_WANTED, detail=line(header.get("upgrade", ""), DETAIL_MAX))
    return None


def _find_challenge(header: Header, scheme: str) -> str | None:
    """Return the challenge of an authentication scheme, with its parameters; None if there is none."""
    value = line(header.get("www-authenticate", ""), 2 * DETAIL_MAX)
    for part in value.split(","):
        if part.strip().lower().split(" ", 1)[0] == scheme:
            return value[value.index(part) :].strip()[:DETAIL_MAX]
    return None


def authority(link: str) -> str | None:
    """Return the authority that has a page blocked: the target of ``Link`` with ``rel="blocked-by"`` (RFC 7725)."""
    for target, parameters in _LINK.findall(link[: 8 * DETAIL_MAX]):
        for parameter in parameters.split(";"):
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "rel" and "blocked-by" in value.strip().strip('"').lower().split():
                return line(target, DETAIL_MAX)
    return None
