"""Traits and features of links, from which a link's worth is estimated before it is fetched.

Traits are a short text that the link's queue entry carries: six digits, then the words of the anchor text and those
around it, separated by bars: ``550110|radio telescopes|see also``.

Features are short names that have a weight each. They come in groups that many links of a page share, so that the sum
of a group is computed once for all of them: ``context`` of the page, ``place`` for the folder that the link leads to,
``words`` of the anchor text, ``tail`` for the rest of the URL, and the words ``beside`` it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

WORDS_MAX = 8
"""Maximum number of words of the anchor text, and of those around it, that are kept."""
LOOKED_AT = 120
"""Number of characters that are searched for them."""
WORD = re.compile(r"[^\W\d_]{2,24}")

BOUNDS = (0.05, 0.12, 0.3, 0.5, 0.8)
"""Bounds by which a relevance becomes one digit: 0 below the first, 5 from the last on."""
FAR = 5
"""Maximum counted number of links from the last relevant page."""
FADING = 0.7
"""Factor of an ancestor's relevance for each link."""


class Standing(NamedTuple):
    """Position of a page, as a trait of its links: its relevance, the highest of its ancestors' (multiplied by
    ``FADING`` for each link), and the number of links from the last relevant page, ``FAR`` for none."""

    relevance: int = 0
    ancestors: int = 0
    distance: int = FAR


class Traits(NamedTuple):
    """``digits``: the page's standing (three), whether the link's words promise a relevant page, whether it stays on
    its host, and whether it is an ordinary link (0) or of another element (1). ``text`` and ``around`` are words in
    lower case, separated by spaces."""

    digits: str
    text: str = ""
    around: str = ""


NO_TRAITS = Traits(f"00{FAR}000")
"""Traits of URLs that were not found as a link of a page, such as those of a sitemap."""


def digit_of(relevance: float) -> int:
    """Return 0..5 for a relevance of 0..1."""
    return sum(relevance >= bound for bound in BOUNDS)


def packed(digits: str, text: str, around: str) -> str:
    """Return traits as text."""
    return f"{digits}|{_words(text) if text else ''}|{_words(around) if around else ''}"


@lru_cache(1 << 14)
def _words(text: str) -> str:
    return " ".join(WORD.findall(text[:LOOKED_AT].lower())[:WORDS_MAX])


def unpacked(traits: str | None) -> Traits:
    """Parse the result of ``packed``. Any other text has no traits."""
    if traits is None:
        return NO_TRAITS
    parts = traits.split("|", 2)
    if len(parts) != 3 or not _is_digits(parts[0]):
        return NO_TRAITS
    return tuple.__new__(Traits, parts)


@lru_cache(1 << 12)
def _is_digits(digits: str) -> bool:
    return len(digits) == len(NO_TRAITS.digits) and digits.isdecimal()


def standing_after(traits: Traits, relevance: float, relevant: float) -> Standing:
    """Return the standing of a page fetched by a link with these traits. ``relevant``: minimum relevance of a
    relevant page. The faded relevance of an ancestor is kept only as its digit."""
    ancestors = int(traits.digits[1])
    faded = FADING * (0.0, *BOUNDS)[ancestors]
    distance = 0 if relevance >= relevant else min(int(traits.digits[2]) + 1, FAR)
    return Standing(digit_of(relevance), digit_of(max(relevance, faded)), distance)


_NUMBER = re.compile(r"\d+")
_FOLDERS_MAX = 4
_SHORT = 3
"""Up to this number, the words of an anchor text are counted."""
HIGH = 4
"""From this digit on, a page's relevance adds separate features for the words of its links."""


def split(url: str) -> tuple[str, str]:
    """Split a URL into the part before the last slash of its path, and the part after it."""
    if "?" not in url:
        folder, _, last = url.rpartition("/")
        return folder, last
    path, mark, query = url.partition("?")
    folder, _, last = path.rpartition("/")
    return folder, last + mark + query


def context(digits: str) -> list[str]:
    """Return features of the page's standing, and of the link on the page."""
    relevance, ancestors, distance, promises, stays, where = tuple(digits)
    return [
        f"relevance of the page {relevance}",
        f"relevance of its ancestors {ancestors}",
        f"links since a relevant page {distance}",
        f"promise {promises}",
        f"promise {promises} on a page of {relevance}",
        f"{'same' if stays == '1' else 'another'} host, page of {relevance}",
        f"type {where}",
    ]


def place(folder: str) -> list[str]:
    """Return features of host and folder; all numbers in folders are equal."""
    host, _, path = folder.partition("://")[2].partition("/")
    found = [f"host {host}"]
    if path:
        found.append(f"folder {host}/{_NUMBER.sub('#', path)}")
        found += [f"in {part}" for part in _NUMBER.sub("#", path.lower()).split("/")[:_FOLDERS_MAX] if part]
    return found


def tail(last: str) -> list[str]:
    """Return the words of file name, extension and query."""
    return WORD.findall(last[:LOOKED_AT].lower())[:WORDS_MAX]


def named(word: str) -> str:
    """Return the feature of a word in the tail of the URL."""
    return f"name {word}"


def words(relevance: str, text: str) -> list[str]:
    """Return features of the anchor text, on a page of this relevance (a digit)."""
    said = text.split()
    found = [f"says {word}" for word in said]
    found.append(f"says {min(len(said), _SHORT)} words, page of {relevance}")
    if int(relevance) >= HIGH:
        found += [f"on a relevant page says {word}" for word in said]
    return found


def beside(word: str) -> str:
    """Return the feature of a word around the link."""
    return f"beside {word}"


def features(url: str, traits: Traits) -> list[str]:
    """Return all features of a link."""
    folder, last = split(url)
    return [
        *context(traits.digits),
        *place(folder),
        *map(named, tail(last)),
        *words(traits.digits[0], traits.text),
        *map(beside, traits.around.split()),
    ]
