"""What a page says: its text in stretches as they stand between tags, and the files it shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple

from webcrawl.traps.budget import LOOKED_AT
from webcrawl.traps.pattern import SESSION_NAMES, is_token
from webcrawl.urls.fingerprint import fingerprint_all

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
ALPHABETIC_TOKEN = 16
"""Of the shortest without a digit."""
TOKEN_READ = 100
"""Characters by which a longer one is known."""
TEXT_MAX = 8_000
"""Characters of the text of a page that are looked at word by word."""
PIECE = 8_000
"""Characters of HTML that are cut at a time: of a page that says enough at its beginning the rest is not cut."""
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_COMMENT_END = "-->"
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", _COMMENT_END))
_DAY_AND_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[.,](?:0?[1-9]|1[0-2])")
_SIGNATURE = 32
_WORD = re.compile(r"[\w#]+(?:[.,]+[\w#]+)*")
_APART = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_#.,")}
"""Characters of ASCII that stand between words."""
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
_CLOCKS = ("0:0", "0.0")
"""What stands in each of these, with zeros for digits."""
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


class Wording:
    """What a page says. Its text is cut out of its HTML piece by piece, as far as it is asked for."""

    def __init__(self, html: str, url: str = "") -> None:
        """``html``: in lower case, without scripts and the like. ``url``: where it was found."""
        self._html = html
        self._url = url
        self._texts: list[str] = []
        """Of the pieces that were cut so far: a zero byte for each tag, numbers as they stand."""
        self._pieces = _pieces(html)

    def each_stretch(self) -> Iterator[str]:
        """Stretches of text as they stand between tags, each once, and never empty. Short whole numbers and dates are
        all alike.
        """
        met: set[str] = set()
        tail = ""
        for text in chain(self._cut(), ["\0"]):
            # Before the next tag a stretch has no end.
            whole, tag, rest = text.rpartition("\0")
            if not tag:
                tail += text
                continue
            text, tail = tail + whole, rest
            parts = zip(text.split("\0"), _digits_alike(text).split("\0"), strict=True)
            for part, digits in dict(parts).items():
                stretch = part.strip()
                if "0" in digits:
                    stretch = _NUMBER.sub(_folded, stretch)
                if stretch and stretch not in met:
                    met.add(stretch)
                    yield stretch

    @cached_property
    def stretches(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self.each_stretch())

    @cached_property
    def shown(self) -> frozenset[str]:
        """Files of images and the like, without their queries."""
        return frozenset(file for path, _ in self._sources if (file := path.partition(";")[0]))

    @cached_property
    def _sources(self) -> list[tuple[str, str]]:
        """Paths and queries of what it shows."""
        found = (match[1].partition("?") for match in islice(_SHOWN.finditer(self._html), _SHOWN_MAX))
        return [(path, query) for path, _, query in found]

    @cached_property
    def echoes(self) -> Echoes:
        """What looks random and what counts, in its own URL and in those that it links to. A page that prints these
        says nothing by it.
        """
        linked = islice(_LINKED.findall(self._html), _LINKED_MAX)
        return _parts_of_urls([self._url.lower(), *linked])

    def words(self) -> list[str]:
        """The first words of the text, with ``ECHO`` for tokens."""
        text = self._beginning[:TEXT_MAX]
        digits = _digits_alike(text)
        if any(clock in digits for clock in _CLOCKS):
            text = "\0".join(
                _CLOCK.sub("#", part) if any(clock in zeros for clock in _CLOCKS) else part
                for part, zeros in zip(text.split("\0"), digits.split("\0"), strict=True)
            )
        found = words_in(text)
        if tokens := self.echoes.tokens:
            found = [ECHO if word in tokens else word for word in found]
        # Of a picture that a program makes it is the query that tells which one it is.
        drawn = (f"?{query}" for path, query in self._sources if query and not _FILE.search(path))
        return [*found, *drawn]

    @property
    def is_short(self) -> bool:
        """Whether ``words`` are all words."""
        return len(self._beginning) <= TEXT_MAX

    @cached_property
    def _beginning(self) -> str:
        """Of all text in its order, what stands in tags included; more than ``TEXT_MAX`` where there is more."""
        told = islice(_TOLD.findall(self._html), _SHOWN_MAX)
        text = "\0".join([*told, ""])
        for piece in self._cut():
            text += piece
            if len(text) > TEXT_MAX:
                break
        return text

    def _cut(self) -> Iterator[str]:
        """The text of one piece after the other; several may read at a time."""
        at = 0
        while True:
            if at == len(self._texts):
                piece = next(self._pieces, None)
                if piece is None:
                    return
                self._texts.append(_text_of(piece))
            yield self._texts[at]
            at += 1

    def without_echoes(self, words: Sequence[str]) -> list[str]:
        """Words of this page, with ``ECHO`` for those that are a part of its URL, or of one that it links to."""
        tokens, numbers = self.echoes
        if tokens.isdisjoint(words) and numbers.isdisjoint(words):
            return list(words)
        return [ECHO if word in tokens or word in numbers else word for word in words]

    def signature(self) -> tuple[int, ...]:
        """A few numbers: the first stands for the whole, of the others pages that say the same have most in common.
        Empty for a page that says nothing.
        """
        said = sorted(fingerprint_all([*{*self.stretches, *self.shown}]))
        return (hash(tuple(said)), *islice(said, _SIGNATURE)) if said else ()


def same(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say the same."""
    return one[:1] == other[:1] != ()


def alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say nearly the same, as far as a sample can tell."""
    return 10 * len({*one[1:]} & {*other[1:]}) >= 9 * (max(len(one), len(other)) - 1) > 0


def wording_of(body: bytes, encoding: str, url: str = "") -> Wording:
    """``encoding``: a codec of Python. ``url``: of the page. No body makes it raise."""
    html = body[: 2 * LOOKED_AT].decode(encoding, "replace")[:LOOKED_AT].lower()
    for begin, end in _UNSEEN:
        if begin in html:
            html = _without(html, begin, end)
    return Wording(html, url)


def _pieces(html: str) -> Iterator[str]:
    """Cut HTML where tags begin."""
    at = 0
    while at < len(html):
        end = html.find("<", at + PIECE)
        end = len(html) if end < 0 else end
        yield html[at:end]
        at = end


def _text_of(html: str) -> str:
    """HTML with a zero byte for each tag."""
    text = _TAG.sub("\0", html)
    if any(name in text for name in _REQUEST_NAMES):
        text = _REQUEST_ID.sub(r"\1#", text)
    return text


def words_in(text: str) -> list[str]:
    """The words of a text, in their order; dots and commas inside of them are theirs."""
    if not text.isascii():
        return _WORD.findall(text)
    # Half the time of the expression.
    found = text.translate(_APART).split()
    if "." in text or "," in text:
        found = [word for part in found if (word := part.strip(".,"))]
    return found


def _digits_alike(text: str) -> str:
    """The same text with a zero for each digit: to look for these costs a fraction of what an expression does."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


def _parts_of_urls(urls: list[str]) -> Echoes:
    text = " ".join(urls)
    tokens = {
        piece
        for piece in set(_PIECE.findall(text))
        # Of those without a digit none but the very long are.
        if not (piece.isalpha() and len(piece) < ALPHABETIC_TOKEN) and is_token(piece[:TOKEN_READ])
    }
    if "=" in text:
        for value in _NAMED_SESSION.findall(text):
            tokens.update(words_in(value))
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
