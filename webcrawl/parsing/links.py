"""The kinds of links: which attributes of which elements hold them, and which types they get; and lists of links.

``LinkColumns`` holds the links of a page by columns, in which they are sent between processes and written as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableSequence, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


SPACE = " \t\n\f\r"
"""ASCII whitespace as the HTML standard defines it; ``\\s`` is more."""

TEXT_MAX = 200
"""The number of characters of anchor text that are kept."""


NOFOLLOW = ("nofollow", "ugc", "sponsored")
"""Words of ``rel`` by which an author does not vouch for a link (Google, "Qualify your outbound links to Google")."""


class Link(NamedTuple):
    """A link of a page.

    ``url`` is absolute, http or https, without fragment. ``type`` is a name of ``TYPES``. ``text`` is the anchor
    text, or a replacement given by the author (``alt``), with whitespace collapsed, at most ``TEXT_MAX`` characters.
    ``rel`` is the attribute, in lower case.
    """

    url: str
    type: str
    text: str
    rel: str


ATTRIBUTES: dict[str, tuple[tuple[str, str], ...]] = {
    "a": (("href", "a"), ("xlink:href", "a")),
    "area": (("href", "area"),),
    "frame": (("src", "frame"),),
    "iframe": (("src", "iframe"),),
    "form": (("action", "form"),),
    "button": (("formaction", "form"),),
    "input": (("formaction", "form"), ("src", "img")),
    "img": (("src", "img"), ("srcset", "img"), ("data-src", "img"), ("data-srcset", "img")),
    "image": (("src", "img"), ("srcset", "img"), ("href", "img"), ("xlink:href", "img")),
    "source": (("src", "source"), ("srcset", "source"), ("data-srcset", "source")),
    "video": (("src", "video"), ("poster", "poster")),
    "audio": (("src", "audio"),),
    "track": (("src", "track"),),
    "script": (("src", "script"),),
    "embed": (("src", "embed"),),
    "object": (("data", "object"),),
    "blockquote": (("cite", "cite"),),
    "q": (("cite", "cite"),),
    "ins": (("cite", "cite"),),
    "del": (("cite", "cite"),),
    "body": (("background", "background"),),
    "table": (("background", "background"),),
    "td": (("background", "background"),),
    "th": (("background", "background"),),
}
"""Element -> the attributes that hold a URL (``srcset``: several), each with the type of its links.

``data-src`` and ``data-srcset`` are what scripts that load images late use. ``link`` and ``meta`` are not included:
``type_of_link_element`` and ``refresh_target`` handle them.
"""

SETS = frozenset({"srcset", "data-srcset"})
"""Attributes that hold several URLs."""

IN_STYLES = "css"
"""The type of URLs in style sheets, style elements and style attributes."""

_RELATIONS: tuple[tuple[str, str], ...] = (
    ("stylesheet", "stylesheet"),
    ("canonical", "canonical"),
    ("next", "next"),
    ("prev", "prev"),
    ("previous", "prev"),
    ("amphtml", "amphtml"),
    ("alternate", "alternate"),
    ("icon", "icon"),
    ("apple-touch-icon", "icon"),
    ("apple-touch-icon-precomposed", "icon"),
    ("mask-icon", "icon"),
    ("manifest", "manifest"),
    ("preload", "preload"),
    ("modulepreload", "preload"),
    ("prefetch", "preload"),
    ("prerender", "preload"),
    ("preconnect", "preconnect"),
    ("dns-prefetch", "preconnect"),
)
"""Words of ``<link rel>`` with the type they give, in order of precedence: ``alternate stylesheet`` is no page."""

FOLLOWED = frozenset(
    {
        "a",
        "area",
        "frame",
        "iframe",
        "canonical",
        "alternate",
        "hreflang",
        "next",
        "prev",
        "amphtml",
        "refresh",
    }
)
"""The types that lead to further pages, which are extracted by default."""

EMBEDS = frozenset(
    {
        "img",
        "source",
        "video",
        "audio",
        "track",
        "poster",
        "background",
        "script",
        "stylesheet",
        "icon",
        "manifest",
        "preload",
        "embed",
        "object",
        "frame",
        "iframe",
        IN_STYLES,
    }
)
"""The types of what a browser loads to show a page."""

TYPES = frozenset(
    {"refresh", "link", "feed", "hreflang", IN_STYLES}
    | {kind for _, kind in _RELATIONS}
    | {kind for pairs in ATTRIBUTES.values() for _, kind in pairs}
)
"""All types. ``feed`` is an alternate in RSS, Atom or JSON, ``hreflang`` one in another language (an ``alternate`` as
well if only that type is requested), ``link`` a ``<link>`` of any other kind.
"""

SELF_LINKS = frozenset({"a", "area"})
"""Elements whose empty ``href`` is a link too: to the base of the page, usually the page itself."""

_NOFOLLOW = frozenset(NOFOLLOW)


def is_vouched_for(rel: str) -> bool:
    """Return True if a ``rel`` in lower case has no word of ``NOFOLLOW``."""
    return not rel or _NOFOLLOW.isdisjoint(rel.split())


_LINK_ELEMENT = frozenset({"link", "feed", "hreflang"} | {kind for _, kind in _RELATIONS})
_FEEDS = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/json"}
)


def elements_with(types: frozenset[str]) -> frozenset[str]:
    """Return the names of the elements that may have links of these types."""
    names = {name for name, pairs in ATTRIBUTES.items() if any(kind in types for _, kind in pairs)}
    if types & _LINK_ELEMENT:
        names.add("link")
    if "refresh" in types:
        names.add("meta")
    if IN_STYLES in types:
        names.add("style")
    return frozenset(names)


def type_of_link_element(rel: str, mime: str, hreflang: str = "") -> str:
    """Return the type of a ``<link>``, given its ``rel``, ``type`` and ``hreflang`` attributes, two in lower case."""
    words = set(rel.split())
    for word, kind in _RELATIONS:
        if word not in words:
            continue
        if kind == "alternate" and mime.strip() in _FEEDS:
            return "feed"
        return "hreflang" if kind == "alternate" and hreflang.strip() else kind
    return "link"


# The shared declarative refresh steps, HTML standard 4.2.5.3: a time, which is discarded, a separator, a URL.
_S = f"[{SPACE}]*+"
_REFRESH = re.compile(
    rf"{_S}(?:[0-9][0-9.]*+|\.[0-9.]*+)(?:{_S}[;,]|[{SPACE}]){_S}(?:[uU][rR][lL]{_S}={_S})?"
    r"""(?:"([^"]*+)|'([^']*+)|(.++))""",
    re.DOTALL,
)
_CANDIDATE = re.compile(rf"[{SPACE},]*+([^{SPACE}]++)([^,(]*+(?>(?:\([^)]*+\)?[^,(]*+)*))")


def refresh_target(content: str) -> str | None:
    """Return the URL in the content of a ``<meta http-equiv="refresh">``; None when it reloads the page itself."""
    match = _REFRESH.match(content)
    if match is None:
        return None
    double, single, bare = match.groups()
    return double or single or bare


def srcset_urls(value: str) -> Iterator[str]:
    """Yield the URLs of a ``srcset`` attribute (HTML standard, 4.8.4.2.1), whatever their descriptors."""
    position = 0
    while match := _CANDIDATE.match(value, position):
        url = match[1].rstrip(",")
        # A comma at the end of the URL ends the candidate: there are no descriptors to skip.
        position = match.end(1) if match[1].endswith(",") else match.end()
        if url:
            yield url


BETWEEN = '","'
"""The separator of the values in a column that is one string: the text between two strings in JSON."""

Column = str | tuple[str, ...]
"""Values joined by ``BETWEEN`` if none has a quotation mark, else a tuple of the values."""


class LinkColumns(MutableSequence[Link]):
    """A list of links. Sending one string through a pipe costs a tenth of a hundred strings, and most pages need
    nothing more: single links are created only when they are accessed, and columns only for lists that were created
    from columns.
    """

    __slots__ = ("_columns", "_length", "_rows")

    def __init__(self, length: int, columns: tuple[Column, ...]) -> None:
        """``columns`` are those of ``Link``, in its order; none if there are no links."""
        self._columns: tuple[Column, ...] | None = columns
        self._length = length
        self._rows: list[Link] | None = None

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str, str, str]]) -> LinkColumns:
        """Return the same links as columns; ``rows`` itself if it has that form already."""
        if isinstance(rows, LinkColumns):
            return rows
        return cls(len(rows), tuple(map(_column, zip(*rows, strict=True))))

    @property
    def columns(self) -> tuple[Column, ...]:
        if self._columns is None:
            assert self._rows is not None
            self._columns, self._length = tuple(map(_column, zip(*self._rows, strict=True))), len(self._rows)
        return self._columns

    def values(self, place: int) -> Sequence[str]:
        """Return all values of one column."""
        column = self.columns[place] if self.columns else ()
        return column.split(BETWEEN) if isinstance(column, str) else column

    def __len__(self) -> int:
        return self._length if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[Link]:
        return iter(self._made())

    @overload
    def __getitem__(self, index: int) -> Link: ...

    @overload
    def __getitem__(self, index: slice) -> list[Link]: ...

    def __getitem__(self, index: int | slice) -> Link | list[Link]:
        return self._made()[index]

    @overload
    def __setitem__(self, index: int, value: Link) -> None: ...

    @overload
    def __setitem__(self, index: slice, value: Iterable[Link]) -> None: ...

    def __setitem__(self, index: int | slice, value: Link | Iterable[Link]) -> None:
        # As the overloads declare: one for an index, several for a slice.
        self._changed()[index] = value  # type: ignore[index,assignment]

    def __delitem__(self, index: int | slice) -> None:
        del self._changed()[index]

    def insert(self, index: int, value: Link) -> None:
        self._changed().insert(index, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._made())

    def _made(self) -> list[Link]:
        if self._rows is None:
            new, columns = tuple.__new__, map(self.values, range(len(self.columns)))
            # Made by the tuple: the constructor of a NamedTuple takes twice as long.
            self._rows = [new(Link, row) for row in zip(*columns, strict=True)]
        return self._rows

    def _changed(self) -> list[Link]:
        rows = self._made()
        self._columns = None
        return rows


def _column(values: tuple[str, ...]) -> Column:
    return values if '"' in "".join(values) else BETWEEN.join(values)
