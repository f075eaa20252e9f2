"""What a page says: its text in stretches as they stand between tags, and the files it shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from webcrawl.traps.budget import LOOKED_AT
from webcrawl.traps.pattern import SESSION_NAMES, is_token
from webcrawl.urls.fingerprint import fingerprint

_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_TELLING = re.compile(r"[0-9]+[.,][0-9]+|(?!(?:19|20)[0-9]{6}$|[12][0-9]{9}$)[0-9]{6,}")
"""What a count, a date or the number of a page is not: measurements, prices, and long numbers."""
_SHOWN = re.compile(
    r"<(?:img|video|audio|source|iframe|embed|object)\s[^<>]{0,2000}?(?:src|data)\s{0,5}=\s{0,5}[\"']?([^\"'\s<>#]{1,500})"
)
_FILE = re.compile(r"\.(?:gif|jpe?g|png|webp|svg|ico|js|mp4|webm)$")
_SHOWN_MAX = 200
TOKEN_LENGTH = 8
"""Characters of the shortest token."""
TOKEN_READ = 100
"""Characters by which a longer one is known."""
TEXT_MAX = 8_000
"""Characters of the text of a page that are looked at word by word."""
_COMMENT_END = "-->"
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", _COMMENT_END))
_DAY_AND_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[.,](?:0?[1-9]|1[0-2])")
_SIGNATURE = 32
WORD = re.compile(r"[\w#]+(?:[.,]+[\w#]+)*")
_LINKED = re.compile(r"href\s{0,5}=\s{0,5}[\"']?([^\"'\s<>]{1,2000})")
_LINKED_MAX = 400
_DIGITS = re.compile(r"[0-9]+")
_PIECE = re.compile(rf"[a-z0-9]{{{TOKEN_LENGTH},}}")
_NAMED_SESSION = re.compile(
    rf"[?&;](?:{'|'.join(map(re.escape, sorted(SESSION_NAMES)))})=([a-z0-9_,.-]{{6,}})"
)
_TOLD = re.compile(
    r"<(?:img|meta|area)\s[^<>]{0,2000}?(?:alt|title|content)\s{0,5}=\s{0,5}[\"']([^\"'<>]{1,500})"
)
"""Text that stands in a tag."""
_CLOCK = re.compile(r"\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\b|\b[0-9]+\.[0-9]{2,}(?=\s?(?:s|sec|ms|seconds)\b)")
"""A time of day, and the time that a page took to make: another at each visit."""
_HAS_CLOCK = re.compile(r"[0-9][:.][0-9]")
_REQUEST_NAMES = ("request ", "incident ", "trace ", "ray ", "correlation ", "reference ")
_REQUEST_ID = re.compile(
    r"\b((?:request|incident|trace|ray|correlation|reference)\s(?:id|no|number|code)\b\W{0,3})[a-z0-9-]{6,80}"
)
ECHO = "*"
"""What stands for a part of a URL that a page prints."""


class Echoes(NamedTuple):
    """Parts of URLs."""

    tokens: frozenset[str]
    numbers: frozenset[str]


@dataclass(frozen=True)
class Wording:
    """``stretches``: of text, in lower case, each once, and never empty; short whole numbers
    and dates are all alike. ``shown``: files of images and the like, without their queries.

    ``text``: all of it in its order, with the numbers as they stand. ``drawn``: which of its pictures a program is to
    make. ``html``: what it was read from, in lower case; ``url``: where it was found.
    """

    stretches: tuple[str, ...]
    shown: frozenset[str]
    text: str = ""
    drawn: tuple[str, ...] = ()
    html: str = ""
    url: str = ""

    @cached_property
    def echoes(self) -> Echoes:
        """What looks random and what counts, in its own URL and in those that it links to. A page that prints these
        says nothing by it.
        """
        linked = (match[1] for match in islice(_LINKED.finditer(self.html), _LINKED_MAX))
        return _parts_of_urls([self.url.lower(), *linked])

    def words(self) -> list[str]:
        """The first words of the text, with ``ECHO`` for tokens."""
        text = self.text[:TEXT_MAX]
        if _HAS_CLOCK.search(text):
            text = _CLOCK.sub("#", text)
        found = WORD.findall(text)
        if tokens := self.echoes.tokens:
            found = [ECHO if word in tokens else word for word in found]
        return [*found, *self.drawn]

    @property
    def is_short(self) -> bool:
        """Whether ``words`` are all words."""
        return len(self.text) <= TEXT_MAX

    def without_echoes(self, words: Sequence[str]) -> list[str]:
        """Words of this page, with ``ECHO`` for those that are a part of its URL, or of one that it links to."""
        tokens, numbers = self.echoes
        return [ECHO if word in tokens or word in numbers else word for word in words]

    def signature(self) -> tuple[int, ...]:
        """A few numbers: the first stands for the whole, of the others pages that say the same have most in common.
        Empty for a page that says nothing.
        """
        said = sorted(map(fingerprint, {*self.stretches, *self.shown}))
        return (hash(tuple(said)), *islice(said, _SIGNATURE)) if said else ()


def same(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say the same."""
    return one[:1] == other[:1] != ()


def alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say nearly the same, as far as a sample can tell."""
    return 10 * len({*one[1:]} & {*other[1:]}) >= 9 * (max(len(one), len(other)) - 1) > 0


def wording_of(body: bytes, encoding: str, url: str = "") -> Wording:
    """``encoding``: a codec of Python. ``url``: of the page. No body makes it raise."""
    text = body[: 2 * LOOKED_AT].decode(encoding, "replace")[:LOOKED_AT].lower()
    for begin, end in _UNSEEN:
        if begin in text:
            text = _without(text, begin, end)
    sources = [match[1].partition("?") for match in islice(_SHOWN.finditer(text), _SHOWN_MAX)]
    shown = frozenset(file for path, _, _ in sources if (file := path.partition(";")[0]))
    # Of a picture that a program makes it is the query that tells which one it is.
    drawn = tuple(f"?{query}" for path, _, query in sources if query and not _FILE.search(path))
    told = [match[1] for match in islice(_TOLD.finditer(text), _SHOWN_MAX)]
    html = text
    text = _TAG.sub("\0", text)
    if any(name in text for name in _REQUEST_NAMES):
        text = _REQUEST_ID.sub(r"\1#", text)
    folds = _NUMBER.sub(_folded, text)
    stretches = dict.fromkeys(stretch for part in folds.split("\0") if (stretch := part.strip()))
    return Wording(tuple(stretches), shown, "\0".join([*told, text]), drawn, html, url)


def _parts_of_urls(urls: list[str]) -> Echoes:
    text = " ".join(urls)
    tokens = {piece for piece in _PIECE.findall(text) if is_token(piece[:TOKEN_READ])}
    for value in _NAMED_SESSION.findall(text):
        tokens.update(WORD.findall(value))
    return Echoes(frozenset(tokens), frozenset(_DIGITS.findall(text)))


def folded(words: Iterable[str]) -> frozenset[str]:
    """Words as they stand in stretches."""
    return frozenset(_NUMBER.sub(_folded, word) for word in words)


def _folded(match: re.Match[str]) -> str:
    number = match[0]
    return number if _TELLING.fullmatch(number) and not _DAY_AND_MONTH.fullmatch(number) else "#"


def _without(text: str, begin: str, end: str) -> str:
    """Take out what lies between two marks; without an end mark all the rest."""
    parts, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        parts.append(text[at:start])
        at = text.find(end, start + len(begin))
        if at < 0:
            return " ".join(parts)
        # What is left of an end tag is one; of the end of a comment it would be text.
        at += len(end) if end == _COMMENT_END else 0
    parts.append(text[at:])
    return " ".join(parts)
