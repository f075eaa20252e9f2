"""What a link's worth is guessed from: short names, each of which gets a weight.

They come in groups, of which many links of a page share one or another, so that its sum is worked out once for all of
them: ``context`` of the page, ``place`` of the folder that the link leads to, ``words`` of the anchor text, ``tail``
of the rest of the URL, and what stands ``beside`` it.

What is known of a link before it is fetched, as a short text that its queue entry carries.

Six digits, then the words of the anchor text and those around it, divided by bars: ``550110|radio telescopes|see
also``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

WORDS_MAX = 8
"""Words of the anchor text, and of those around it, that are kept."""
LOOKED_AT = 120
"""Characters in which they are looked for."""
WORD = re.compile(r"[^\W\d_]{2,24}")

BOUNDS = (0.05, 0.12, 0.3, 0.5, 0.8)
"""Between these a relevance is one digit: 0 below the first, 5 from the last on."""
FAR = 5
"""Links from the last relevant page beyond which they are not counted."""
FADING = 0.7
"""What an ancestor's relevance counts for, a link further away."""


class Standing(NamedTuple):
    """Where a page stands, for its links: its relevance, the best of its ancestors' (each link away at ``FADING``),
    and how many links away the last relevant one is, ``FAR`` for none.
    """

    relevance: int = 0
    ancestors: int = 0
    distance: int = FAR


class Traits(NamedTuple):
    """``digits``: the page's standing (three), whether the link promises what is looked for by its words, whether it
    stays on its host, and whether it is an ordinary link (0) or another element's (1). ``text`` and ``around`` are
    words in lower case, divided by spaces.
    """

    digits: str
    text: str = ""
    around: str = ""


NO_TRAITS = Traits(f"00{FAR}000")
"""Of what did not come by a link of a page, as from a sitemap."""


def digit_of(relevance: float) -> int:
    """0..5 for a relevance of 0..1."""
    return sum(relevance >= bound for bound in BOUNDS)


def packed(digits: str, text: str, around: str) -> str:
    """Traits as text."""
    return f"{digits}|{_words(text) if text else ''}|{_words(around) if around else ''}"


@lru_cache(1 << 14)
def _words(text: str) -> str:
    return " ".join(WORD.findall(text[:LOOKED_AT].lower())[:WORDS_MAX])


def unpacked(traits: str | None) -> Traits:
    """What ``packed`` made. What is none of its texts has no traits."""
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
    """Where a page stands that was fetched by a link with these traits. ``relevant``: from when on it counts as
    found. The faded relevance of an ancestor is kept as its digit alone.
    """
    ancestors = int(traits.digits[1])
    faded = FADING * (0.0, *BOUNDS)[ancestors]
    distance = 0 if relevance >= relevant else min(int(traits.digits[2]) + 1, FAR)
    return Standing(digit_of(relevance), digit_of(max(relevance, faded)), distance)


_NUMBER = re.compile(r"\d+")
_FOLDERS_MAX = 4
_SHORT = 3
"""Words of an anchor text that are counted."""
HIGH = 4
"""From this digit on a page's relevance makes another of a word."""


def split(url: str) -> tuple[str, str]:
    """A URL as what stands before the last slash of its path, and what stands behind it."""
    if "?" not in url:
        folder, _, last = url.rpartition("/")
        return folder, last
    path, mark, query = url.partition("?")
    folder, _, last = path.rpartition("/")
    return folder, last + mark + query


def context(digits: str) -> list[str]:
    """Of the standing of the page, and how the link stands in it."""
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
    """Of host and folder; numbers in folders are all alike."""
    host, _, path = folder.partition("://")[2].partition("/")
    found = [f"host {host}"]
    if path:
        found.append(f"folder {host}/{_NUMBER.sub('#', path)}")
        found += [f"in {part}" for part in _NUMBER.sub("#", path.lower()).split("/")[:_FOLDERS_MAX] if part]
    return found


def tail(last: str) -> list[str]:
    """The words in file name, ending and query."""
    return WORD.findall(last[:LOOKED_AT].lower())[:WORDS_MAX]


def named(word: str) -> str:
    """Of a word in the tail of the URL."""
    return f"name {word}"


def words(relevance: str, text: str) -> list[str]:
    """Of the anchor text, on a page of such relevance (a digit)."""
    said = text.split()
    found = [f"says {word}" for word in said]
    found.append(f"says {min(len(said), _SHORT)} words, page of {relevance}")
    if int(relevance) >= HIGH:
        found += [f"on a relevant page says {word}" for word in said]
    return found


def beside(word: str) -> str:
    """Of a word around the link."""
    return f"beside {word}"


def features(url: str, traits: Traits) -> list[str]:
    """All of them."""
    folder, last = split(url)
    return [
        *context(traits.digits),
        *place(folder),
        *map(named, tail(last)),
        *words(traits.digits[0], traits.text),
        *map(beside, traits.around.split()),
    ]
