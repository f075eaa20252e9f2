"""Features of links, from which a link's worth is estimated before it is fetched.

``LinkFeatures`` are the data that the link's queue entry carries as a short text: six digits, then the words of the
anchor text and those around it, separated by bars: ``550110|radio telescopes|see also``.

The features of the model are short names that have a weight each. They come in groups that many links of a page
share, so that the sum of a group is computed once for all of them: ``context`` of the page, ``place`` for the folder
that the link leads to, ``words`` of the anchor text, ``tail`` for the rest of the URL, and the words ``beside``
it."""

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


class PageContext(NamedTuple):
    """The context of the links of a page: its relevance, the highest of its ancestors' (multiplied by
    ``FADING`` for each link), and the number of links from the last relevant page, ``FAR`` for none."""

    relevance: int = 0
    ancestors: int = 0
    distance: int = FAR


class LinkFeatures(NamedTuple):
    """``digits``: the page's context (three), whether the link's words promise a relevant page, whether it stays on
    its host, and whether it is an ordinary link (0) or of another element (1). ``text`` and ``around`` are words in
    lower case, separated by spaces."""

    digits: str
    text: str = ""
    around: str = ""


NO_LINK_FEATURES = LinkFeatures(f"00{FAR}000")
"""The features of URLs that were not found as a link of a page, such as those of a sitemap."""


def relevance_digit(relevance: float) -> int:
    """Return 0..5 for a relevance of 0..1."""
    return sum(relevance >= bound for bound in BOUNDS)


def pack(digits: str, text: str, around: str) -> str:
    """Return link features as text."""
    return f"{digits}|{_words(text) if text else ''}|{_words(around) if around else ''}"


@lru_cache(1 << 14)
def _words(text: str) -> str:
    return " ".join(WORD.findall(text[:LOOKED_AT].lower())[:WORDS_MAX])


def unpack(text: str | None) -> LinkFeatures:
    """Parse the result of ``packed``. Any other text gives ``NO_LINK_FEATURES``."""
    if text is None:
        return NO_LINK_FEATURES
    parts = text.split("|", 2)
    if len(parts) != 3 or not _is_digits(parts[0]):
        return NO_LINK_FEATURES
    return tuple.__new__(LinkFeatures, parts)


@lru_cache(1 << 12)
def _is_digits(digits: str) -> bool:
    return len(digits) == len(NO_LINK_FEATURES.digits) and digits.isdecimal()


def page_context(link: LinkFeatures, relevance: float, relevant: float) -> PageContext:
    """Return the context of a page fetched by a link with these features. ``relevant``: minimum relevance of a
    relevant page. The faded relevance of an ancestor is kept only as its digit."""
    ancestors = int(link.digits[1])
    faded = FADING * (0.0, *BOUNDS)[ancestors]
    distance = 0 if relevance >= relevant else min(int(link.digits[2]) + 1, FAR)
    return PageContext(relevance_digit(relevance), relevance_digit(max(relevance, faded)), distance)


_NUMBER = re.compile(r"\d+")
_FOLDERS_MAX = 4
_SHORT = 3
"""Up to this number, the words of an anchor text are counted."""
HIGH = 4
"""The least digit of a page's relevance that adds separate features for the words of its links."""


def split(url: str) -> tuple[str, str]:
    """Split a URL into the part before the last slash of its path, and the part after it."""
    if "?" not in url:
        folder, _, last = url.rpartition("/")
        return folder, last
    path, mark, query = url.partition("?")
    folder, _, last = path.rpartition("/")
    return folder, last + mark + query


def context(digits: str) -> list[str]:
    """Return features of the page's context, and of the link on the page."""
    relevance, ancestors, distance, is_promising, is_same_host, element = tuple(digits)
    return [
        f"relevance of the page {relevance}",
        f"relevance of its ancestors {ancestors}",
        f"links since a relevant page {distance}",
        f"promise {is_promising}",
        f"promise {is_promising} on a page of {relevance}",
        f"{'same' if is_same_host == '1' else 'another'} host, page of {relevance}",
        f"type {element}",
    ]


def place(folder: str) -> list[str]:
    """Return features of host and folder; all numbers in folders are equal."""
    host, _, path = folder.partition("://")[2].partition("/")
    features = [f"host {host}"]
    if path:
        features.append(f"folder {host}/{_NUMBER.sub('#', path)}")
        features += [
            f"in {part}" for part in _NUMBER.sub("#", path.lower()).split("/")[:_FOLDERS_MAX] if part
        ]
    return features


def tail(last: str) -> list[str]:
    """Return the words of file name, extension and query."""
    return WORD.findall(last[:LOOKED_AT].lower())[:WORDS_MAX]


def named(word: str) -> str:
    """Return the feature of a word in the tail of the URL."""
    return f"name {word}"


def words(relevance: str, text: str) -> list[str]:
    """Return features of the anchor text, on a page of this relevance (a digit)."""
    anchor_words = text.split()
    features = [f"says {word}" for word in anchor_words]
    features.append(f"says {min(len(anchor_words), _SHORT)} words, page of {relevance}")
    if int(relevance) >= HIGH:
        features += [f"on a relevant page says {word}" for word in anchor_words]
    return features


def beside(word: str) -> str:
    """Return the feature of a word around the link."""
    return f"beside {word}"


def model_features(url: str, link: LinkFeatures) -> list[str]:
    """Return all features of a link, as names that have a weight."""
    folder, last = split(url)
    return [
        *context(link.digits),
        *place(folder),
        *map(named, tail(last)),
        *words(link.digits[0], link.text),
        *map(beside, link.around.split()),
    ]


def in_words(feature: str) -> str:
    """Return a feature of the model as words for people. The names themselves are hashed: learned weights depend on
    them.
    """
    match = _CONTEXT.fullmatch(feature)
    if match is not None:
        kind = match["kind"]
        digits = [int(digit) for digit in match["digits"].split() if digit.isdigit()]
        return _context_in_words(kind, feature, digits)
    name, _, rest = feature.partition(" ")
    if name == "says" and (counted := _COUNTED.fullmatch(rest)) is not None:
        number, page = int(counted[1]), int(counted[2])
        text = (
            "no text" if not number else f"a text of {number}{' or more' if number == _SHORT else ''} words"
        )
        return f"{text}, on a page of relevance {_range(page)}"
    if feature.startswith(_ON_RELEVANT):
        return f'the word "{feature.removeprefix(_ON_RELEVANT)}" in its text, on a relevant page'
    return _BY_NAME[name].format(rest) if name in _BY_NAME else feature


_ON_RELEVANT = "on a relevant page says "
_COUNTED = re.compile(r"(\d) words, page of (\d)")
_CONTEXT = re.compile(
    r"(?P<kind>relevance of the page|relevance of its ancestors|links since a relevant page|promise|same host, page"
    r"|another host, page|type)(?: of)?(?P<digits> \d(?: on a page of \d)?)"
)
_BY_NAME = {
    "host": "the host {}",
    "folder": "the folder {}",
    "in": 'a folder named "{}"',
    "name": 'the word "{}" at the end of its URL',
    "says": 'the word "{}" in its text',
    "beside": 'the word "{}" beside it',
}


def _range(digit: int) -> str:
    """Return the relevances that ``relevance_digit`` makes one digit."""
    if not digit:
        return f"below {BOUNDS[0]:g}"
    return (
        f"{BOUNDS[-1]:g} or more" if digit == len(BOUNDS) else f"{BOUNDS[digit - 1]:g} to {BOUNDS[digit]:g}"
    )


def _context_in_words(kind: str, feature: str, digits: list[int]) -> str:
    first = digits[0]
    if kind == "relevance of the page":
        return f"linked from a page of relevance {_range(first)}"
    if kind == "relevance of its ancestors":
        return f"the best page before it, counted less for each link since, has relevance {_range(first)}"
    if kind == "links since a relevant page":
        if not first:
            return "linked from a relevant page"
        return (
            "no relevant page before it, or far away"
            if first == FAR
            else f"{first} links behind a relevant page"
        )
    if kind == "promise":
        words = f"its words {'name' if first else 'do not name'} the subject"
        return words if len(digits) == 1 else f"{words}, on a page of relevance {_range(digits[1])}"
    if kind == "type":
        return "a link of a frame, an image map or the like" if first else "an ordinary link"
    host = "the host of its page" if kind.startswith("same") else "another host than its page"
    return f"on {host}, which has relevance {_range(first)}"
