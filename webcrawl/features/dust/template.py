"""Templates of URLs, for pages that a site has under two of them: ``/t/<*>/<#1>`` is ``/t/<#1>``.

A template is written like the path and the parameters of a URL. ``<1>`` stands for a segment, or for the value of a
parameter, that both URLs have in common, ``<*>`` for one that only the first URL has, whatever it is. With a number
sign, both stand for digits only, and without for anything else. No URL has such words: browsers escape the brackets.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.dust.url_parts import is_dispatcher, is_script, parameter_name, url_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.features.dust.url_parts import Outline, UrlParts

LITERAL_MAX = 32
"""Maximum length of a word that is the same in all URLs of a template."""
LOOSE_MAX = 2
"""Maximum number of words that only the first of two URLs has."""
_HOLE = re.compile(r"<(#?)([1-9*])>")
_DIGITS = re.compile(r"[0-9]+")
_CONSTANT = re.compile(r"[0-9]{1,8}|[A-Za-z_-]{1,24}")
"""Words that may be the same in all URLs of a template although only one of two URLs has them."""


class UrlTemplate(NamedTuple):
    """The first of two templates, as it is compared with URLs."""

    segments: tuple[str, ...]
    slash: bool
    query: tuple[tuple[str, str], ...]
    """Names and values, by their names."""
    words: tuple[tuple[str, bool | None], ...]
    """The segments and values, each with whether it stands for digits; None if it stands for itself."""
    fixed: tuple[tuple[int, str], ...]
    """Segments that all of its URLs have, with their positions: the first step of the comparison."""

    def has_shape(self, shape: Outline) -> bool:
        """Return whether URLs of a shape may have this form."""
        return (
            len(self.segments) == shape.segments
            and shape.slash is self.slash
            and sorted(shape.names) == [name for name, _ in self.query]
            and (
                shape.segments < 2
                or not self.fixed
                or self.fixed[0][0] > 0
                or self.fixed[0][1] == shape.first
            )
        )

    def match(self, parts: UrlParts) -> dict[str, str] | None:
        """Return what the words of the template stand for in a URL; None if it has not this form."""
        segments = parts.segments
        if len(segments) != len(self.segments) or parts.slash is not self.slash:
            return None
        for position, segment in self.fixed:
            if segments[position] != segment:
                return None
        if len(parts.query) != len(self.query):
            return None
        query = sorted(piece.partition("=")[::2] for piece in parts.query)
        if query and [name for name, _ in query] != [name for name, _ in self.query]:
            return None
        found: dict[str, str] = {}
        values = [*segments, *(value for _, value in query)] if query else segments
        for value, (word, is_digits) in zip(values, self.words, strict=True):
            if is_digits is None:
                if value != word:
                    return None
                continue
            if not value or bool(_DIGITS.fullmatch(value)) is not is_digits:
                return None
            if found.setdefault(word, value) != value and "*" not in word:
                return None
        return found


@lru_cache(maxsize=1024)
def template(text: str) -> UrlTemplate | None:
    """Return a template; None for a text that is none."""
    parts = url_parts(f"http://h{text}")
    if parts is None:
        return None
    query = sorted(piece.partition("=") for piece in parts.query)
    words = [*parts.segments, *(value for _, _, value in query)]
    holes = [_HOLE.fullmatch(word) for word in words]
    marked = [
        (word, None if hole is None else bool(hole[1])) for word, hole in zip(words, holes, strict=True)
    ]
    fixed = [(index, word) for index, word in enumerate(parts.segments) if holes[index] is None]
    named = tuple((name, value) for name, _, value in query)
    return UrlTemplate(parts.segments, parts.slash, named, tuple(marked), tuple(fixed))


def fill(text: str, found: dict[str, str], parts: UrlParts) -> UrlParts:
    """Return the URL that the second template has for what the first one found in ``parts``."""
    made = _parts_of(text)
    segments = tuple(found.get(segment, segment) for segment in made.segments)
    query = []
    for piece in made.query:
        name, equals, value = piece.partition("=")
        query.append(f"{name}{equals}{found.get(value, value)}")
    return parts._replace(segments=segments, slash=made.slash).with_query(query, made.separator)


@lru_cache(maxsize=1024)
def _parts_of(text: str) -> UrlParts:
    parts = url_parts(f"http://h{text}")
    assert parts is not None
    return parts


def rewritings(one: UrlParts, other: UrlParts) -> Iterator[tuple[str, str, bool]]:
    """Yield pairs of templates by which one of two URLs with the same page is the other one, and whether the first
    has words that stand for anything. The URL that has more parts comes first."""
    if size(one) < size(other):
        one, other = other, one
    words = _words(one)
    named: dict[str, str] = {}
    target = [_named(value, is_fixed, words, named) for value, is_fixed in _words(other)]
    if not named or any(len(word) > LITERAL_MAX for word in target):
        return
    source: list[tuple[str, ...]] = []
    loose = 0
    for value, is_fixed in words:
        if not is_fixed and value in named:
            source.append((named[value],))
        elif is_fixed or not value or value in target:
            source.append((value,))
        else:
            loose += 1
            anything = "<#*>" if _DIGITS.fullmatch(value) else "<*>"
            source.append((value, anything) if _CONSTANT.fullmatch(value) else (anything,))
    if loose > LOOSE_MAX or any(len(choices[0]) > LITERAL_MAX for choices in source):
        return
    to = _written(other, target)
    for chosen in product(*source):
        yield _written(one, chosen), to, any(word in ("<*>", "<#*>") for word in chosen)


def size(parts: UrlParts) -> tuple[int, int, str]:
    """Return what makes one of two URLs of a page the shorter one."""
    url = parts.url
    return len(parts.segments) + len(parts.query), len(url), url


def _words(parts: UrlParts) -> list[tuple[str, bool]]:
    """Return the segments and the values of a URL, each with whether it chooses the function of the site."""
    segments = parts.segments
    words = [
        (segment, (index == 0 and len(segments) > 1) or is_script(segment))
        for index, segment in enumerate(segments)
    ]
    for piece in parts.query:
        name, _, value = piece.partition("=")
        words.append((value, is_dispatcher(name, value)))
    return words


def _named(value: str, is_fixed: bool, words: list[tuple[str, bool]], named: dict[str, str]) -> str:
    """Return what stands for a word of the second URL: a name if the first one has it too."""
    if is_fixed or not value or (value, False) not in words:
        return value
    if value not in named:
        if len(named) == 9:
            return value
        digits = "#" if _DIGITS.fullmatch(value) else ""
        named[value] = f"<{digits}{len(named) + 1}>"
    return named[value]


def _written(parts: UrlParts, words: Sequence[str]) -> str:
    count = len(parts.segments)
    names = map(parameter_name, parts.query)
    equals = ["=" in piece for piece in parts.query]
    query = [
        f"{name}={word}" if has_value else name
        for name, word, has_value in zip(names, words[count:], equals, strict=True)
    ]
    path = parts._replace(scheme="http", authority="h", segments=tuple(words[:count]))
    return path.with_query(query, parts.separator).url.removeprefix("http://h")
