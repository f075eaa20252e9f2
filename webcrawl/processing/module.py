"""The contract of a processing module, and how a setting's import path becomes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from webcrawl.processing.fields import Kind

if TYPE_CHECKING:
    from webcrawl.processing.content import Content

TITLE, LINKS = "title", "links"
"""What a module may give without declaring it: the page's title where the parser found none, and links.

Links are URLs as they stand in the page, or pairs of URL and text; they are resolved and followed as a page's links
are.
"""


class Module(Protocol):
    """A class without arguments. It is built once in each process that runs it, which is where it imports what is
    heavy; its class attributes are read in the crawl itself.

    It may have ``in_place = True``: then it runs on the event loop, is given ``content.document``, and must be done
    in some microseconds. Without that it runs in another process, where it may take its time and fail in any way.
    """

    mime_types: Sequence[str]
    """Types that it is for, in lower case, ``text/*`` and the like included."""
    fields: Mapping[str, str]
    """The fields that it may give, by their names, with what each holds: a word of ``fields.Kind``. The columns of
    feeds are made of these, so what is not declared is not kept. Several modules may give the same field, of one
    kind: of a page the first that gives it counts.
    """

    def process(self, content: Content) -> Mapping[str, Any]:
        """What was found in a page; what is missing or None was not. May raise whatever it likes: that is an error
        of this page.
        """


@dataclass(frozen=True, slots=True)
class Loaded:
    """A module's class, with what it says of itself."""

    path: str
    type: type[Module]
    mime_types: tuple[str, ...]
    fields: dict[str, Kind]
    in_place: bool

    @property
    def name(self) -> str:
        """How it is called in logs and figures, and what the links are that it finds."""
        return self.path.rpartition(".")[2].lower()


def load(path: str) -> Loaded:
    """The module with this import path. Raises ImportError when there is none, TypeError when it is no module."""
    package, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(package), name)
    except (AttributeError, ValueError) as error:
        raise ImportError(str(error)) from error
    if not isinstance(found, type) or not callable(getattr(found, "process", None)):
        raise TypeError(f"{path} is no class with a method process")
    mime_types = getattr(found, "mime_types", None)
    if isinstance(mime_types, str) or not mime_types or not all("/" in str(each) for each in mime_types):
        raise TypeError(f"{path}.mime_types is no list of MIME types")
    declared = getattr(found, "fields", None)
    try:
        fields = {str(name): Kind(kind) for name, kind in declared.items()}  # type: ignore[union-attr]
    except (AttributeError, ValueError) as error:
        kinds = ", ".join(Kind)
        raise TypeError(f"{path}.fields must name each field with its kind ({kinds}): {error}") from error
    return Loaded(path, found, tuple(mime_types), fields, bool(getattr(found, "in_place", False)))


def schema_of(modules: Iterable[Loaded]) -> dict[str, Kind]:
    """All fields that these modules may give, in their order. Raises TypeError where two differ about one."""
    schema: dict[str, Kind] = {}
    for module in modules:
        for name, kind in module.fields.items():
            if name == TITLE:
                continue
            if name == LINKS or schema.setdefault(name, kind) != kind:
                raise TypeError(f"{module.path} has a field {name} of another kind than the one before it")
    return schema
