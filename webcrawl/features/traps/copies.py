"""Copy finder: finds parameters that do not change the page, by pages that are equal byte for byte.

The value of such a parameter says where a visitor came from or how a list elsewhere is shown, so the same page is
offered under every value: ``/rev/HASH?revcount=30``, ``/rev/HASH?revcount=60``. These pages need not link to further
ones of their kind, so they never look like a pattern that breeds (see ``pattern_evaluator``). As with sessions, what
proves that a parameter is void is that the same pages are equal under other values of it; each page is fetched once
then, under the value with which it is found first.

A page often hands the parameter on to its links. So pages are compared without it: see ``content_without``.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_intdigest

from webcrawl.features.traps.parameters import SAMPLES, Evidence, pages
from webcrawl.features.traps.pattern import VOID, is_paging_name, parse_shape
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from webcrawl.features.traps.pattern import Shape

BASES_MAX = 50_000
"""Maximum number of pages, without one of their parameters, whose content is remembered: 10 MB at most."""
OFFERED_MAX = 20_000
"""Maximum number of such pages that are remembered because they were offered under some value."""
CONTENTS_MAX = 4
"""Maximum number of different contents that are remembered of such a page."""
COUNTS_MAX = 5_000
"""Maximum number of parameters that are counted, each on one path."""
COMPARED_MAX = 8
"""Number of parameters up to which a URL is compared; longer queries are combinations, which have other rules."""
HANDED_ON_MAX = 4
"""Maximum number of parameters without which the content of a page is remembered."""
COMPARED_BYTES_MAX = 1 << 18
"""Maximum length of a page that is compared without the parameter in its links; a longer one is compared as it is."""
HANDED_ON_TIMES_MAX = 2_000
"""Maximum number of places in which the parameter is removed: a bound for the time."""
PAGES_LEAST = 15
"""Minimum number of different pages that were equal under another value."""
EQUAL_LEAST = 30
"""Minimum number of comparisons in which a page was equal."""
TIMES_AS_OFTEN = 40
"""Pages have to be equal so many times as often as different: a parameter may be void for most pages and select among
the rest.
"""
CONTENTS_LEAST = 4
"""Minimum number of different contents among those pages: one content under many URLs may be the answer to anything
that a server does not find.
"""
ON_A_PATH_LEAST, ON_A_PAGE_LEAST = 8, 3
"""These replace ``EQUAL_LEAST`` for a path of many pages and for that of one page, if the parameter is void by all
paths of the host together on which it made no difference.
"""
PATHS_LEAST = 3
"""Minimum number of such paths."""
PATHS_MAX = 64
"""Maximum number of paths of a host that are counted together."""
OFFERING_MAX = 10_000
"""Maximum number of hosts of which it is remembered that they offer pages under values of a parameter."""


class PageContents(NamedTuple):
    """Fingerprints of a page's content, by which it is compared."""

    whole: int
    handed_on: tuple[int, ...]
    """The contents of the page without each of the parameters that it adds to its own URL in its links."""
    without: dict[str, int]
    """The contents of the page without each parameter of its URL."""


@dataclass(slots=True)
class _Counts:
    """The comparisons under different values of one parameter on one path."""

    equal: int = 0
    different: int = 0
    bases: set[int] = field(default_factory=set)
    contents: set[int] = field(default_factory=set)
    samples: list[str] = field(default_factory=list)

    @property
    def may_be_void(self) -> bool:
        """True while the parameter has made next to no difference."""
        return self.equal >= TIMES_AS_OFTEN * self.different

    def add_equal(self, base: int, content: int, url: str) -> None:
        """Count a page that was equal."""
        self.equal += 1
        if len(self.bases) < PAGES_LEAST:
            self.bases.add(base)
        if len(self.contents) < CONTENTS_LEAST:
            self.contents.add(content)
        if len(self.samples) < SAMPLES:
            self.samples.append(url)


def _suffice(paths: Collection[_Counts]) -> bool:
    """Return whether the comparisons on some paths prove together that a parameter is void."""
    return (
        sum(counts.equal for counts in paths) >= EQUAL_LEAST
        and len(set[int]().union(*(counts.bases for counts in paths))) >= PAGES_LEAST
        and len(set[int]().union(*(counts.contents for counts in paths))) >= CONTENTS_LEAST
    )


class Copies:
    """Compares pages whose URLs differ only in the value of one parameter, or in whether they have it."""

    def __init__(self) -> None:
        self._contents: OrderedDict[int, tuple[int, tuple[int, ...]]] = OrderedDict()
        """The last value of a parameter, and the contents of pages without it, the last one first."""
        self._counts: OrderedDict[str, dict[str, _Counts]] = OrderedDict()
        """The counts of each path, by host and parameter."""
        self._counted = 0
        self._offered: OrderedDict[int, None] = OrderedDict()
        """Pages without the parameter that pages handed on to them in their links."""
        self._offering: OrderedDict[str, None] = OrderedDict()
        """Hosts with their ports that offer pages under values of a parameter."""

    def has(self, base: int) -> bool:
        """Return whether the page of this base was fetched, under any value of the parameter."""
        return base in self._contents

    def may_be_on(self, place: str) -> bool:
        """Return whether a host, given with its port, offers pages under values of a parameter, so that any of its
        pages may have copies."""
        return place in self._offering

    def take(self, base: int, page: PageContents) -> None:
        """Remember a page without parameters, given its base without none."""
        self._put(base, 0, page.whole, *page.handed_on)

    def seen(self, shape: Shape, url: str, page: PageContents, void: Collection[str] = ()) -> list[Evidence]:
        """Compare a fetched page; return the evidence that it completes.

        ``void``: those of its parameters that are known to be void.
        """
        evidence: list[Evidence] = []
        # It is the page without a parameter too, to which those that have one more are compared.
        self.take(base_without(shape), page)
        if page.handed_on or not all(map(is_paging_name, shape.parameters)):
            self._offers(shape.place)
        if len(void) > 1:
            self._put(base_without(shape, *void), 0, page.whole)
        for name, value in shape.parameters.items():
            content = page.without.get(name)
            if content is None:
                continue
            base, mark = base_without(shape, name), fingerprint(f"={value}")
            before = self._contents.get(base)
            self._put(base, mark, content)
            if before is None or before[0] == mark or is_paging_name(name):
                continue
            paths = self._path_counts(shape.of_session(name), shape.path)
            counts = paths.get(shape.path)
            if counts is None:
                continue
            if content not in before[1]:
                counts.different += 1
                continue
            counts.add_equal(base, content, url)
            least = ON_A_PATH_LEAST if shape.varies else ON_A_PAGE_LEAST
            if counts.may_be_void and (_suffice([counts]) or (counts.equal >= least and _are_void(paths))):
                why = f"{pages(counts.equal)} were the same, byte for byte, with another value of {name}"
                total = counts.equal + counts.different
                evidence.append(Evidence(copies_pattern(shape, name), why, total, tuple(counts.samples)))
        return evidence

    def _offers(self, place: str) -> None:
        self._offering[place] = None
        self._offering.move_to_end(place)
        if len(self._offering) > OFFERING_MAX:
            self._offering.popitem(last=False)

    def _put(self, base: int, value: int, *contents: int) -> None:
        _, before = self._contents.get(base, (0, ()))
        known = dict.fromkeys((*contents, *before))
        self._contents[base] = value, tuple(known)[:CONTENTS_MAX]
        self._contents.move_to_end(base)
        if len(self._contents) > BASES_MAX:
            self._contents.popitem(last=False)

    def is_void_elsewhere(self, shape: Shape) -> bool:
        """Return whether the only parameter of a URL is void on other paths of its host, and its page was fetched
        under another value.
        """
        if len(shape.parameters) != 1:
            return False
        (name,) = shape.parameters
        paths = self._counts.get(shape.of_session(name))
        return paths is not None and self.has(base_without(shape, name)) and _are_void(paths)

    def lead_on(self, shape: Shape, urls: Iterable[str]) -> Iterator[str]:
        """Yield new URLs on a page, given its shape, without those that are new only by the value of its parameter,
        which is void elsewhere: the same page was offered under another value.
        """
        ((name, value),) = shape.parameters.items()
        for url in urls:
            other = parse_shape(url)
            if other.path != shape.path and other.parameters.get(name) == value:
                base = base_without(other, name)
                if base in self._contents or base in self._offered:
                    continue
                self._offered[base] = None
                if len(self._offered) > OFFERED_MAX:
                    self._offered.popitem(last=False)
            yield url

    def _path_counts(self, parameter: str, path: str) -> dict[str, _Counts]:
        """Return the counts of a parameter of a host by path, with this path unless there are too many."""
        paths = self._counts.setdefault(parameter, {})
        self._counts.move_to_end(parameter)
        if path not in paths and len(paths) < PATHS_MAX:
            paths[path] = _Counts()
            self._counted += 1
            while self._counted > COUNTS_MAX:
                _, oldest = self._counts.popitem(last=False)
                self._counted -= len(oldest)
        return paths


def _are_void(paths: Mapping[str, _Counts]) -> bool:
    """Return whether a parameter is void by all paths of a host together on which it made no difference."""
    without = [counts for counts in paths.values() if counts.equal and counts.may_be_void]
    return len(without) >= PATHS_LEAST and _suffice(without)


def copies_pattern(shape: Shape, name: str) -> str:
    """Return the pattern of the pages of this path that were fetched with another value of a parameter."""
    return f"{shape.of_parameter(name)}{VOID}"


def base_without(shape: Shape, *names: str) -> int:
    """Return a fingerprint of a URL without some of its parameters."""
    others = "&".join(
        f"{parameter}={value}"
        for parameter, value in sorted(shape.parameters.items())
        if parameter not in names
    )
    return fingerprint(f"{shape.place}/{'/'.join(shape.segments)}?{others}")


def page_contents(shape: Shape, url: str, body: bytes, links: Iterable[str] = ()) -> PageContents | None:
    """Return by what a fetched page is compared; None if its URL has too many parameters.

    ``links``: URLs on the page.
    """
    if len(shape.parameters) > COMPARED_MAX:
        return None
    handed_on = tuple(content_without(body, name) for name in _handed_on(url, shape, links))
    without = {name: content_without(body, name) for name in shape.parameters}
    return PageContents(xxh3_64_intdigest(body), handed_on, without)


def content_without(body: bytes, name: str) -> int:
    """Return a fingerprint of a page without a parameter: in its links, scripts and the fields of its forms."""
    word = name.encode()
    if len(body) > COMPARED_BYTES_MAX or word not in body:
        return xxh3_64_intdigest(body)
    if body.count(word + b"=") <= HANDED_ON_TIMES_MAX:
        body = _without_in_urls(body, word + b"=")
    if any(field in body for field in (b'"%b"' % word, b"'%b'" % word, b"=%b " % word)):
        names = (b'name="%b"' % word, b"name='%b'" % word, b"name=%b " % word)
        body = _FIELD.sub(lambda tag: b"" if any(name in tag[0] for name in names) else tag[0], body)
    return xxh3_64_intdigest(body)


_FIELD = re.compile(rb"<input\s[^<>]*+>")
_VALUE = re.compile(rb"[^&\"'<>\s;#]*+")
_AND = b"&amp;"


def _without_in_urls(body: bytes, parameter: bytes) -> bytes:
    """Return the text without a parameter, its value and the separator that goes with it."""
    first, *others = body.split(parameter)
    kept = [first]
    for other in others:
        before = kept[-1]
        if not before.endswith((b"?", b"&", _AND)):
            kept.append(parameter + other)
            continue
        value = _VALUE.match(other)
        rest = other[value.end() :] if value else other
        if rest.startswith(b"&"):
            rest = rest.removeprefix(_AND) if rest.startswith(_AND) else rest[1:]
        else:
            kept[-1] = before.removesuffix(_AND) if before.endswith(_AND) else before[:-1]
        kept.append(rest)
    return b"".join(kept)


def _handed_on(url: str, shape: Shape, links: Iterable[str]) -> list[str]:
    """Return the parameters that the page adds to its own URL in its links; those of pagination are never void."""
    path, _, _ = url.partition("?")
    names = dict[str, None]()
    for other in links:
        if other.startswith(path) and other[len(path) : len(path) + 1] == "?":
            for part in other[len(path) + 1 :].split("&", COMPARED_MAX)[:COMPARED_MAX]:
                name = part.partition("=")[0]
                if name and name not in shape.parameters and not is_paging_name(name):
                    names[name] = None
    return list(names)[:HANDED_ON_MAX]
