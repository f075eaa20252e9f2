"""RSL, Really Simple Licensing: the licence file that a ``License`` line of robots.txt names, and ``Link`` fields.

Followed: RSL 1.0 of the RSL Technical Steering Committee (https://rslstandard.org/rsl). Read are ``permits`` and
``prohibits`` of type ``usage`` in all ``content`` elements that match a path; they count together, and the most
restrictive decides. A ``permits`` is a closed list: what it does not name is not allowed. What a licence permits for
a payment, a report or a token is not allowed either, since webcrawl gives none; what it permits to certain users or
in certain countries, or not to some, stays unknown, and the condition is recorded. Not read: inline licences in
pages, feeds and media, and licences that ``Link`` fields name, which are kept as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from webcrawl.features.usage.statements import Statement, statement
from webcrawl.robots.rules import PathPattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.features.usage.statements import Meaning

NAME = "RSL"
NAMESPACE = "https://rslstandard.org/rsl"
FILE_BYTES_MAX = 256 * 1024
CONTENTS_MAX = 500
DEPTH_MAX = 32
TEXT_MAX = 1_000

USES = {
    "all": ("search", "ai-input", "train-ai", "tdm"),
    "ai-all": ("ai-input", "train-ai"),
    "ai-train": ("train-ai",),
    "ai-input": ("ai-input",),
    "ai-index": (),
    "search": ("search",),
}
"""The tokens of type ``usage`` and the purposes that they are. An index of an AI system is none of these."""

COVERED = USES["all"]
"""The purposes that a closed list decides about."""

FREE = frozenset({"", "free", "attribution"})
"""The types of payment that cost nothing."""


@dataclass(slots=True)
class Licence:
    """A ``license`` element."""

    permits: set[str] | None = None
    """The purposes that it permits; None if it has no list."""
    prohibits: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    """What it says, for the record."""
    has_price: bool = False
    """A payment, a report or a token is due."""
    is_for_some: bool = False
    """It is for certain users or countries, or not for some."""


class LicensedPath(NamedTuple):
    """A ``content`` element: a path and what may be done with what is there."""

    path: PathPattern
    statement: Statement


def parse_file(body: bytes, place: str) -> tuple[LicensedPath, ...]:
    """Return the contents of a licence file that was at the URL ``place``; none if it is no such file. Never raises.

    A document type is not accepted: no licence needs entities.
    """
    if len(body) > FILE_BYTES_MAX:
        return ()
    reader = _Reader()
    try:
        reader.read(body)
    except (expat.ExpatError, _UnacceptableError, ValueError, LookupError):
        return ()
    return tuple(
        LicensedPath(PathPattern(url), statement(NAME, place, _text(url, licences), parse_meaning(licences)))
        for url, licences in reader.contents
    )


def parse_meaning(licences: Sequence[Licence]) -> Meaning:
    """Return what the licences of one content say together: a prohibition counts, then a permission without a
    condition, then that a purpose is in no list."""
    stated: dict[str, bool] = {}
    for purpose in COVERED:
        prohibiting = any(purpose in licence.prohibits for licence in licences)
        permitting = [licence for licence in licences if purpose in (licence.permits or ())]
        if prohibiting:
            stated[purpose] = False
        elif any(not licence.has_price and not licence.is_for_some for licence in permitting):
            stated[purpose] = True
        elif any(not licence.has_price for licence in permitting):
            continue
        elif any(licence.permits is not None for licence in licences):
            stated[purpose] = False
    return tuple(stated.items())


def in_file(contents: Iterable[LicensedPath], target: str) -> list[Statement]:
    """Return the statements of all contents that match a path (``comparable``), the most specific first."""
    matching = [content for content in contents if content.path.matches(target)]
    matching.sort(key=lambda content: -content.path.length)
    return [content.statement for content in matching]


def in_links(lines: Iterable[str]) -> list[Statement]:
    """Return the licences that ``Link`` fields name, which decide nothing."""
    stated = []
    for line in lines:
        for link in line[:8_192].split(",<" if ",<" in line else ", <")[:20]:
            target, _, parameters = link.lstrip(" <").partition(">")
            names = parameters.lower().replace('"', "").replace(" ", "").split(";")
            if any(name.startswith("rel=") and "license" in name for name in names):
                stated.append(statement(NAME, "header", f"Link: <{target}>; rel=license"))
    return stated


class _UnacceptableError(Exception):
    """A document that is not read: it has a document type, or is nested too deeply."""


class _Reader:
    """Reads a licence file without building a tree."""

    def __init__(self) -> None:
        self.contents: list[tuple[str, list[Licence]]] = []
        self._path: list[str] = []
        self._type = ""
        self._text: list[str] = []
        self._server = False

    def read(self, body: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        parser.Parse(body, True)

    def _refuse(self, *_: object) -> None:
        raise _UnacceptableError

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if len(self._path) >= DEPTH_MAX:
            raise _UnacceptableError
        # Elements of other namespaces are extensions, and what is in them is no licence.
        self._path.append(local if space == NAMESPACE else "")
        if self._path == ["rsl", "content"] and len(self.contents) < CONTENTS_MAX:
            url = attributes.get("url", "").strip()
            path = url.partition("://")[2].partition("/")[2] if "://" in url else url.removeprefix("/")
            self.contents.append((f"/{path}", []))
            self._server = "server" in attributes
        elif self._path == ["rsl", "content", "license"] and self.contents:
            self.contents[-1][1].append(Licence(has_price=self._server))
        elif self._path[:3] == ["rsl", "content", "license"] and len(self._path) == 4:
            self._type, self._text = attributes.get("type", "").strip(), []
            if local == "payment" and self._type not in FREE:
                self._licence.has_price = True
                self._licence.words.append(f"payment {self._type}")
            elif local == "reporting":
                self._licence.has_price = True
                self._licence.words.append("reporting")

    def _end(self, name: str) -> None:
        path, local = list(self._path), self._path.pop()
        if path[:3] != ["rsl", "content", "license"] or len(path) != 4 or not self.contents:
            return
        if local not in ("permits", "prohibits"):
            return
        licence, words = self._licence, "".join(self._text).replace(",", " ").split()[:50]
        if self._type == "usage":
            purposes = {purpose for word in words for purpose in USES.get(word, ())}
            if local == "permits":
                licence.permits = (licence.permits or set()) | purposes
            else:
                licence.prohibits |= purposes
        elif words:
            licence.is_for_some = True
        licence.words.append(f"{local} {self._type}: {' '.join(words)}")

    def _characters(self, text: str) -> None:
        if len(self._text) < TEXT_MAX:
            self._text.append(text[:TEXT_MAX])

    @property
    def _licence(self) -> Licence:
        return self.contents[-1][1][-1]


def _text(url: str, licences: Iterable[Licence]) -> str:
    """Return what the licences of a path say, in one line. Conditions come first: a long text is cut."""
    words = sorted(
        (word for licence in licences for word in licence.words),
        key=lambda word: word.startswith(("permits usage", "prohibits usage")),
    )
    return f"{url} " + "; ".join(words)
