"""The items of spiders: a page with all its links in one batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, KeysView, Mapping, MutableSequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from itemadapter import ItemAdapter
from itemadapter.adapter import AdapterInterface

from webcrawl.processing.contract import FieldType

if TYPE_CHECKING:
    from webcrawl.parsing.html import ParsedPage
    from webcrawl.parsing.links import Link
    from webcrawl.processing.contract import Value


@dataclass(slots=True)
class Page:
    """One fetched page. Its ``links`` go to the frontier as they are, without a Request each.

    Other spiders can yield a Page for the same fast path, and ordinary Requests beside it for links that need a
    callback, headers or a priority. Missing ``mime`` and ``body_bytes`` are taken from the response; ``fields`` and
    ``schema`` are filled by processing.
    """

    url: str
    status: int
    title: str | None = None
    depth: int = 0
    via: str | None = None
    encoding: str | None = None
    truncated: bool = False
    error: str | None = None
    """The reason why the page could not be read to its end: hostile markup, a damaged content coding."""
    links: MutableSequence[Link] = field(default_factory=list)
    other_links: list[tuple[str, str, str, str]] = field(default_factory=list, repr=False)
    """Links of other schemes than http and https, each like a ``Link``: for the link log alone."""
    links_dropped: int = 0
    """The number of links that are not in ``links``: they were too long, or over ``LINKS_PER_PAGE_MAX``."""
    noindex: bool = False
    """True if the page's author asks in a meta element that it be kept out of stores and indexes. Such a page reaches
    no item pipeline and no feed. The header field ``X-Robots-Tag`` is added on the way.
    """
    nofollow: bool = False
    """True if the author asks, likewise, that none of its links be followed."""
    usage: dict[str, str] = field(default_factory=dict)
    """What it may be used for: ``yes`` or ``no`` by purpose; what is not in it is unknown. Added on the way."""
    robots_received: float | None = None
    """The version of the robots.txt under which it was fetched: when that was received, in epoch seconds. Added on
    the way.
    """
    withheld: bool = False
    """True if it may not be used for what the crawl is for (USAGE_PURPOSES), or is a near-duplicate that is not
    stored (NEAR_DUPLICATES). Such a page reaches no item pipeline and no feed. Added on the way.
    """
    duplicate_of: str | None = None
    """The URL whose page had the same bytes before. Such a page is not processed: it reaches no item pipeline and no
    feed, and is yielded only for its links.
    """
    mime: str | None = None
    """The type as which it was read, see ``parsing.mime.document_type``."""
    embedded: bool = False
    """True for a style sheet or a frame that another page embeds and that is not in scope itself. It is yielded for
    what it embeds alone: it reaches no item pipeline and no feed, and its links are not followed.
    """
    body_bytes: int | None = None
    """Bytes of the body, after decoding its content coding."""
    fields: dict[str, Value] = field(default_factory=dict)
    """The fields that processing found, by name."""
    schema: Mapping[str, FieldType] = field(default_factory=dict, repr=False)
    """All fields that processing may produce in this crawl, in order."""
    document: ParsedPage | None = field(default=None, repr=False, compare=False)
    """The parser's findings, for the modules that run in place; None once they have run."""


COLUMNS: Mapping[str, FieldType] = {
    "url": FieldType.LINE,
    "status": FieldType.WHOLE,
    "mime": FieldType.LINE,
    "body_bytes": FieldType.WHOLE,
    "title": FieldType.LINE,
    "depth": FieldType.WHOLE,
    "via": FieldType.LINE,
    "encoding": FieldType.LINE,
    "truncated": FieldType.FLAG,
    "nofollow": FieldType.FLAG,
    "usage": FieldType.NAMED,
    "robots_received": FieldType.REAL,
    "error": FieldType.LINE,
    "links_count": FieldType.WHOLE,
}
"""The columns of every page in a feed, in order; those of its ``schema`` follow."""

ON_DEMAND = frozenset({"links", "noindex", "withheld", "duplicate_of"})
"""Columns that a feed has only if they are named (FEED_EXPORT_FIELDS)."""


class PageAdapter(AdapterInterface):
    """A Page as pipelines and feeds see it: flat, with its fields beside the columns of every page."""

    item: Page

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        return issubclass(item_class, Page)

    @classmethod
    def get_field_names_from_class(cls, item_class: type) -> list[str]:
        return list(COLUMNS)

    def get_field_meta(self, field_name: str) -> MappingProxyType[str, Any]:
        """Return the ``kind`` of the field, if it has one."""
        kind = COLUMNS.get(field_name) or self.item.schema.get(field_name)
        return MappingProxyType({"kind": kind} if kind is not None else {})

    def field_names(self) -> KeysView[str]:
        return {**COLUMNS, **self.item.schema}.keys()

    def __getitem__(self, name: str) -> Any:
        if name == "links_count":
            return len(self.item.links)
        if name == "links":
            return list(self.item.links)
        if name in COLUMNS or name in ON_DEMAND:
            return getattr(self.item, name)
        if name in self.item.schema:
            return self.item.fields.get(name)
        return self.item.fields[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "links_count":
            raise KeyError(f"{name} is counted")
        if name in COLUMNS or name in ON_DEMAND:
            setattr(self.item, name, value)
        else:
            self.item.fields[name] = value

    def __delitem__(self, name: str) -> None:
        if name in COLUMNS or name in ON_DEMAND:
            raise KeyError(f"every page has {name}")
        del self.item.fields[name]

    def __iter__(self) -> Iterator[str]:
        yield from COLUMNS
        yield from self.item.fields

    def __len__(self) -> int:
        return len(COLUMNS) + len(self.item.fields)


# The library's interface for custom items; before dataclasses, of which Page is one.
cast("deque[type[AdapterInterface]]", ItemAdapter.ADAPTER_CLASSES).appendleft(PageAdapter)
