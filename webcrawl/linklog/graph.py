"""The graph of all pages, or of all hosts, out of link logs.

In memory are some 130 bytes for each vertex (page or host), and for each edge 24 bytes between pages and some 200
between hosts, of which there are far fewer. Names are in a temporary file.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TYPE_CHECKING
from weakref import finalize

from webcrawl.linklog.line import PAGE
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webcrawl.linklog.line import Link, Linking

_HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which links are edges: of those of pages to what may be a page. A list of URLs vouches for none, and what has
    another scheme than http and https has no host.
    """

    types: frozenset[str] = frozenset()
    """Only of these types; empty for all."""
    avoided: frozenset[str] = frozenset()
    """Not those with one of these words in ``rel``."""
    nofollow: bool = False
    """Also those of pages that ask for none to be followed."""

    def of(self, page: Linking) -> Iterator[Link]:
        if page.nofollow and not self.nofollow:
            return
        for link in page.links:
            if (
                (not self.types or link.type in self.types)
                and self.avoided.isdisjoint(link.rel.split())
                and link.canonical.startswith(_HTTP)
            ):
                yield link


class Names:
    """Names numbered in the order in which they came."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - it lives as long as this
        finalize(self, self._file.close)
        self._starts = array("q", [0])
        self._numbers: dict[int, int] = {}

    def number(self, name: str) -> int:
        """That of a name, new or not."""
        found = self._numbers.setdefault(fingerprint(name), len(self._numbers))
        if found == len(self._starts) - 1:
            data = name.encode("utf-8", "surrogatepass")
            self._file.write(data)
            self._starts.append(self._starts[-1] + len(data))
        return found

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        start, end = self._starts[number : number + 2]
        self._file.seek(start)
        return self._file.read(end - start).decode("utf-8", "surrogatepass")


class Graph:
    """Vertices by number, edges between them with the number of links that each stands for.

    Two vertices have one edge in a direction at most, and none has an edge to itself.
    """

    def __init__(self, names: Names, ends: array[int], counts: array[int], fetched: bytearray) -> None:
        """``ends`` are the numbers of both ends of each edge, one after the other; ``fetched`` says of each vertex
        whether it, or a page of it, was fetched.
        """
        self.names = names
        self.ends = ends
        self.counts = counts
        self.fetched = fetched
        self.chosen = list(range(len(names)))
        """The number of each vertex among the names."""

    def __len__(self) -> int:
        """How many vertices there are."""
        return len(self.chosen)

    def name(self, vertex: int) -> str:
        return self.names[self.chosen[vertex]]

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """From, to, how many links."""
        ends = iter(self.ends)
        return zip(ends, ends, self.counts, strict=True)

    def in_degrees(self) -> array[int]:
        """How many others link to each vertex."""
        degrees = array("q", bytes(8 * len(self)))
        for target in self.ends[1::2]:
            degrees[target] += 1
        return degrees

    def in_links(self) -> array[int]:
        """By how many links."""
        links = array("q", bytes(8 * len(self)))
        for _, target, count in self.edges():
            links[target] += count
        return links

    def among_fetched(self) -> Graph:
        """What is left without the vertices that were only linked to."""
        chosen = [vertex for vertex in range(len(self)) if self.fetched[vertex]]
        renumbered = array("q", [-1]) * len(self)
        for number, vertex in enumerate(chosen):
            renumbered[vertex] = number
        ends, counts = array("q"), array("q")
        for source, target, count in self.edges():
            if self.fetched[source] and self.fetched[target]:
                ends.extend((renumbered[source], renumbered[target]))
                counts.append(count)
        left = Graph(self.names, ends, counts, bytearray(b"\1") * len(chosen))
        left.chosen = [self.chosen[vertex] for vertex in chosen]
        return left


def _linking(pages: Iterable[Linking]) -> Iterator[Linking]:
    """Those that may be vertices by themselves: no lists of URLs, and nothing without a host."""
    return (page for page in pages if page.kind == PAGE and page.canonical.startswith(_HTTP))


def page_graph(pages: Iterable[Linking], choice: Choice) -> Graph:
    """The graph of URLs in their comparable form."""
    names, ends, counts = Names(), array("q"), array("q")
    fetched = bytearray()
    for page in _linking(pages):
        source = names.number(page.canonical)
        targets = Counter(link.canonical for link in choice.of(page) if link.canonical != page.canonical)
        for target, count in targets.items():
            ends.extend((source, names.number(target)))
            counts.append(count)
        fetched.extend(bytes(len(names) - len(fetched)))
        fetched[source] = 1
    return Graph(names, ends, counts, fetched)


def host_graph(pages: Iterable[Linking], choice: Choice) -> Graph:
    """The graph of host names."""
    names = Names()
    counted: Counter[tuple[int, int]] = Counter()
    fetched = bytearray()
    for page in _linking(pages):
        host = host_of(page.canonical)
        source = names.number(host)
        targets = Counter(host_of(link.canonical) for link in choice.of(page))
        for target, count in targets.items():
            if target != host:
                counted[source, names.number(target)] += count
        fetched.extend(bytes(len(names) - len(fetched)))
        fetched[source] = 1
    ends = array("q", [end for edge in counted for end in edge])
    return Graph(names, ends, array("q", counted.values()), fetched)
