"""The line format of the link log: a page with all its links, as JSON in ASCII.

::

    {"page": URL, "at": epoch seconds, "status": 200, "to": [URL, ...], "type": ["a", ...], "text": ["", ...],
     "rel": ["", ...]}

The four lists belong together, with one position for each link. Further names are optional: ``canonical`` is the
page's canonical form if it differs, ``canonicals`` has those of links by their positions; ``kind`` is set for a list
of URLs, which is no page, and ``part`` counts the lines of a list of several, from 1; ``noindex``, ``nofollow``,
``duplicate_of`` are as in the fetch log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.parsing.links import BETWEEN, LinkColumns
from webcrawl.urls.canonical import CanonicalRules, are_canonical, canonical_all
from webcrawl.urls.fingerprint import digest_all, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.archive.capture import FetchRecord
    from webcrawl.archive.listed_links import LinkRow
    from webcrawl.parsing.links import Column

NAMES = ("to", "type", "text", "rel")
"""The lists of a line: the columns of ``LinkRow``."""
PAGE = "page"
FACTS = ("noindex", "nofollow", "duplicate_of")
"""Optional fields of a line of the fetch log that are repeated here."""
_BETWEEN_BYTES = BETWEEN.encode()
_STEERING = bytes((*range(0x20), 0x7F))
"""Control characters, which a line never has except for its end."""
_OUTLINE = re.compile(
    rb'\{"page":"((?:[^"\\]|\\.)*+)","at":([-+0-9.eE]+),"status":\d+(?:,"canonical":"((?:[^"\\]|\\.)*+)")?'
)


class Written(NamedTuple):
    """A line with the data for its index."""

    line: bytes
    mark: int
    """The fingerprint of the page's canonical form."""
    at: float
    targets: list[int]
    """The fingerprints of the canonical forms of its links, unsigned."""


class LineHead(NamedTuple):
    """The part of a line that is parsed without the rest."""

    mark: int
    at: float


class LoggedLink(NamedTuple):
    """A link of a page. ``to`` is as linked, ``canonical`` its canonical form."""

    to: str
    canonical: str
    type: str
    text: str
    rel: str


class Linking(NamedTuple):
    """A page with its links, a list of URLs, or a part of one. ``at`` is the end of its fetch, in epoch seconds."""

    page: str
    canonical: str
    at: float
    status: int
    noindex: bool
    nofollow: bool
    duplicate_of: str | None
    links: list[LoggedLink]
    kind: str = PAGE
    """``sitemap`` or ``robots`` for a list of URLs."""
    part: int | None = None
    """The number of this line of the list, from 1; None if there is only one."""

    @property
    def mark(self) -> int:
        return fingerprint(self.canonical)


def written(
    record: FetchRecord,
    links: Sequence[LinkRow],
    rules: CanonicalRules,
    others: Sequence[LinkRow] = (),
    part: int | None = None,
) -> Written:
    """Return the line of a fetched page; its ``status`` is set. ``others``: links of other schemes, whose URLs are
    their own canonical forms.
    """
    [known_as] = canonical_all([record.url], rules)
    # The index has the same number to the last digit: it identifies the last line of a page.
    at = round(record.end, 6)
    fields = [f'{{"page":{_text(record.url)},"at":{at!r},"status":{record.status}']
    if known_as != record.url:
        fields.append(f'"canonical":{_text(known_as)}')
    if record.kind != PAGE:
        fields.append(f'"kind":{_text(record.kind)}')
    if part is not None:
        fields.append(f'"part":{part}')
    facts = ((name, record.extra.get(name)) for name in FACTS)
    fields += [f'"{name}":{json.dumps(fact)}' for name, fact in facts if fact is not None]
    packed = LinkColumns.of(links)
    different, targets = _targets(packed, rules)
    if others:
        beside = LinkColumns.of(others)
        packed = _joined(packed, beside)
        targets += digest_all([url.encode("utf-8", "surrogatepass") for url in beside.values(0)])
    line = _line(fields, packed, different, _as_they_are)
    if line.translate(None, _STEERING) != line:
        line = _line(fields, packed, different, _each)
    return Written(line + b"\n", fingerprint(known_as), at, targets)


def _line(
    fields: list[str], links: LinkColumns, different: dict[int, str], form: Callable[[Column], str]
) -> bytes:
    columns = links.columns or ((),) * len(NAMES)
    lists = [f'"{name}":{form(column)}' for name, column in zip(NAMES, columns, strict=True)]
    if different:
        pairs = ",".join(f'"{number}":{_text(url)}' for number, url in different.items())
        lists.append(f'"canonicals":{{{pairs}}}')
    return (",".join([*fields, *lists]) + "}").encode("ascii")


def _joined(links: LinkColumns, others: LinkColumns) -> LinkColumns:
    """Concatenate both."""
    if not links:
        return others
    columns: list[Column] = []
    for place, (one, other) in enumerate(zip(links.columns, others.columns, strict=True)):
        if isinstance(one, str) and isinstance(other, str):
            columns.append(one + BETWEEN + other)
        else:
            columns.append((*links.values(place), *others.values(place)))
    return LinkColumns(len(links) + len(others), tuple(columns))


def _targets(links: LinkColumns, rules: CanonicalRules) -> tuple[dict[int, str], list[int]]:
    """Return the canonical forms of links that differ, by their positions; and the fingerprints of all, unsigned."""
    column = links.columns[0] if links else ()
    if isinstance(column, str) and are_canonical(column, rules):
        return {}, digest_all(column.encode("utf-8", "surrogatepass").split(_BETWEEN_BYTES))
    urls = list(links.values(0))
    forms = canonical_all(urls, rules)
    different = {place: form for place, form in enumerate(forms) if form != urls[place]}
    return different, digest_all([form.encode("utf-8", "surrogatepass") for form in forms])


def parse(line: bytes) -> Linking:
    """Parse a line. :raises ValueError: it is invalid"""
    try:
        value: dict[str, Any] = json.loads(line)
        urls = value["to"]
        forms = list(urls)
        for place, form in value.get("canonicals", {}).items():
            forms[int(place)] = form
        rows = zip(urls, forms, value["type"], value["text"], value["rel"], strict=True)
        return Linking(
            value["page"],
            value.get("canonical", value["page"]),
            value["at"],
            value["status"],
            value.get("noindex", False),
            value.get("nofollow", False),
            value.get("duplicate_of"),
            [LoggedLink(*row) for row in rows],
            value.get("kind", PAGE),
            value.get("part"),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"it is no line of a link log: {error!r}") from error


def head(line: bytes) -> LineHead:
    """Return the page of a line, and when it was fetched. :raises ValueError: it is invalid"""
    match = _OUTLINE.match(line)
    if match is None:
        raise ValueError("it is no line of a link log")
    page, at, known_as = match.groups()
    return LineHead(fingerprint(json.loads(b'"%b"' % (known_as or page))), float(at))


def needle(canonical_url: str) -> bytes:
    """Return the bytes that every line contains which has this canonical form for its page or a link."""
    return _text(canonical_url).encode("ascii")


def split_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines in some data."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start:end]
        start = end + 1


def _text(value: str) -> str:
    """Return a string as JSON; none of its characters can end a line or control a terminal."""
    return encode_basestring_ascii(value).replace("\x7f", "\\u007f")


def _as_they_are(column: Column) -> str:
    """Return strings as JSON, if there is no control character among them."""
    if isinstance(column, str) and column.isascii() and "\\" not in column:
        return f'["{column}"]'
    return _each(column)


def _each(column: Column) -> str:
    """Return strings as JSON."""
    return f"[{','.join(map(_text, column.split(BETWEEN) if isinstance(column, str) else column))}]"
