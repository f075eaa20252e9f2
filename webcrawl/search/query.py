"""What people type to find pages, read once for all engines.

::

    two words           both must be there, in title, text or boilerplate
    "two words"         one behind the other
    -word, -"two words" must not be there, except in boilerplate
    one OR two          one of them is enough; more than two may be joined
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from webcrawl.search.words import plain

LONGEST = 1_000
"""Characters of a query."""
MOST = 64
"""Words and phrases of a query."""

_OR = "OR"
_PIECE = re.compile(r'\s*(?:(?P<minus>-?)"(?P<phrase>[^"]*)(?P<end>"?)|(?P<word>[^\s"]+))')


class QueryError(ValueError):
    """A query that cannot be understood; says why."""


@dataclass(frozen=True, slots=True)
class Query:
    """Each of ``required`` is a choice of words and phrases, of which a page has at least one; of ``excluded`` it has
    none. What a word is is for the engine to say: several in one text stand behind each other in the page.
    """

    required: tuple[tuple[str, ...], ...]
    excluded: tuple[str, ...] = ()
    site: str | None = None
    language: str | None = None


def read(text: str, *, site: str | None = None, language: str | None = None) -> Query:
    """The query that was typed. Raises QueryError."""
    if len(text) > LONGEST:
        raise QueryError(f"is longer than {LONGEST} characters")
    required: list[tuple[str, ...]] = []
    excluded: list[str] = []
    joining = joinable = False
    for word, minus, quoted in _pieces(plain(text)):
        if word == _OR and not quoted:
            if not joinable:
                raise QueryError("has an OR that does not stand between two words")
            joining, joinable = True, False
            continue
        if minus:
            if joining:
                raise QueryError("excludes what is behind an OR")
            excluded.append(word)
        elif joining:
            required[-1] = (*required[-1], word)
        else:
            required.append((word,))
        joining, joinable = False, not minus
    if joining:
        raise QueryError("has an OR that does not stand between two words")
    if not required:
        raise QueryError("says only what must not be there" if excluded else "has no word")
    return Query(tuple(required), tuple(excluded), _site(site), language.lower() if language else None)


def _pieces(text: str) -> list[tuple[str, bool, bool]]:
    """Words and phrases: what is searched for, whether a minus stands before it, whether it is in quotes."""
    pieces: list[tuple[str, bool, bool]] = []
    text, at = text.strip(), 0
    while at < len(text):
        match = _PIECE.match(text, at)
        assert match is not None
        at = match.end()
        word, quoted = match["word"], match["word"] is None
        minus = bool(match["minus"]) if quoted else word.startswith("-")
        if quoted and not match["end"]:
            raise QueryError("has a quotation mark that is not closed")
        said = match["phrase"] if quoted else word.removeprefix("-")
        if any(map(str.isalnum, said)):
            pieces.append((" ".join(said.split()), minus, quoted))
        if len(pieces) > MOST:
            raise QueryError(f"has more than {MOST} words")
    return pieces


def _site(site: str | None) -> str | None:
    """A site's name as documents have it."""
    if not site:
        return None
    name = site.strip().lower().strip(".")
    if not name or not re.fullmatch(r"[^\s/?#@]+", name):
        raise QueryError(f"{site!r} is no name of a site")
    try:
        return name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        raise QueryError(f"{site!r} is no name of a site") from None
