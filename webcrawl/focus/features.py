"""What a link's worth is guessed from: short names, each of which gets a weight.

They come in groups, of which many links of a page share one or another, so that its sum is worked out once for all of
them: ``context`` of the page, ``place`` of the folder that the link leads to, ``words`` of the anchor text, ``tail``
of the rest of the URL, and what stands ``beside`` it.
"""

from __future__ import annotations

import re

from webcrawl.focus.traits import LOOKED_AT, WORD, WORDS_MAX, Traits

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
