"""The sites of a crawl as a tree: registrable domain, host, and the folders of its paths."""

from __future__ import annotations

import marshal
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Any

from webcrawl.reports.gathered import Gathered, Sums, summed
from webcrawl.urls.politeness_key import host_of
from webcrawl.urls.registrable import registrable_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

COUNTED = ("requests", "pages", "failed", "bytes")
"""What is counted of each site, in this order: all requests, pages that got a response, requests without one, bytes
received."""
NO_HOST = "(no host)"
_NOTHING: Sums = (0, 0, 0, 0)
_BELOW = "\0"
"""Stands in no URL, and before all that does."""
_LARGEST = 10**18

Packed = tuple[str, Sums, tuple[Any, ...], int, Sums]
"""A node as it lies on the disk: name, counts, children, and how many children were left out with what they have."""


@dataclass(slots=True)
class Node:
    """A domain, host, folder or file, with everything below it."""

    name: str
    counts: Sums
    """See ``COUNTED``; with all that is below."""
    children: list[Node] = field(default_factory=list)
    """The largest first."""
    others: int = 0
    """Children that are left out, since they are smaller than those that are there."""
    other_counts: Sums = _NOTHING


class Tree:
    """Takes lines of fetch logs; then it is read, a registrable domain at a time.

    Each node has at most ``most`` children, those with the most pages; what the others have is added up. All counts
    are exact. In memory is one domain, and what ``Gathered`` holds.
    """

    def __init__(self, *, depth: int = 2, most: int = 50) -> None:
        """``depth``: how many segments of a path are told apart. ``most``: 0 for all, of whatever domain."""
        self.totals: Sums = _NOTHING
        self.domains = 0
        """Known when it was read."""
        self._depth = depth
        self._most = most
        self._leaves: Gathered[Sums] = Gathered(summed)

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a line. Fields that are missing or of another type count as nothing."""
        url, size = line.get("url"), line.get("bytes")
        answered = line.get("status") is not None
        page = answered and line.get("kind") == "page"
        counts = (1, int(page), int(not answered), size if isinstance(size, int) else 0)
        self._leaves.add(_place(url if isinstance(url, str) else "", self._depth), counts)

    def sites(self) -> Iterator[Node]:
        """The registrable domains, those with the most pages first."""
        largest: Gathered[bytes] = Gathered(lambda one, other: one)
        self.totals, self.domains = _NOTHING, 0
        for site in self._in_order():
            self.totals = summed(self.totals, site.counts)
            self.domains += 1
            packed = marshal.dumps(_packed(site))
            largest.add(_rank(site), packed, len(packed))
        for _, packed in largest:
            yield _unpacked(marshal.loads(packed))

    def _in_order(self) -> Iterator[Node]:
        """The registrable domains by name, each when all its leaves have come."""
        open_nodes: list[_Growing] = []
        for place, counts in self._leaves:
            names = place.split(_BELOW)
            shared = _shared(open_nodes, names)
            while len(open_nodes) > shared:
                if (site := self._closed(open_nodes)) is not None:
                    yield site
            open_nodes += [_Growing(name, self._most) for name in names[shared:]]
            open_nodes[-1].counts = summed(open_nodes[-1].counts, counts)
        while open_nodes:
            if (site := self._closed(open_nodes)) is not None:
                yield site

    @staticmethod
    def _closed(open_nodes: list[_Growing]) -> Node | None:
        """Close the last one and give it to the one above; a domain has none, and is returned."""
        node = open_nodes.pop().grown()
        if not open_nodes:
            return node
        open_nodes[-1].take(node)
        return None


class _Growing:
    """A node whose children still come."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.counts = _NOTHING
        self._most = most
        self._children: list[tuple[int, int, int, Node]] = []
        self._others = 0
        self._other_counts = _NOTHING

    def take(self, child: Node) -> None:
        self.counts = summed(self.counts, child.counts)
        # Behind the sizes comes the order of names, so that nodes themselves are never compared.
        met = len(self._children) + self._others
        item = (child.counts[1], child.counts[0], -met, child)
        if not self._most or len(self._children) < self._most:
            heappush(self._children, item)
            return
        _, _, _, smallest = heappushpop(self._children, item)
        self._others += 1
        self._other_counts = summed(self._other_counts, smallest.counts)

    def grown(self) -> Node:
        children = [item[3] for item in sorted(self._children, key=lambda item: item[:3], reverse=True)]
        return Node(self.name, self.counts, children, self._others, self._other_counts)


def tree_of(lines: Iterable[Mapping[str, Any]], *, depth: int = 2, most: int = 50) -> Tree:
    """The tree of some logs."""
    tree = Tree(depth=depth, most=most)
    for line in lines:
        tree.add(line)
    return tree


def host_in(url: str) -> str:
    """The host of a URL of the log; ``NO_HOST`` where it has none."""
    try:
        return host_of(url) if url.startswith(("http://", "https://")) else NO_HOST
    except ValueError:
        return NO_HOST


@lru_cache(65_536)
def domain_of(host: str) -> str:
    """Its registrable domain."""
    return NO_HOST if host == NO_HOST else registrable_domain(host)


def _place(url: str, depth: int) -> str:
    """Where a URL stands: domain, host and segments of its path, with nothing of its query."""
    host = host_in(url)
    names = [domain_of(host), host]
    if host != NO_HOST and depth:
        path = url[url.index("/", 8) + 1 :].partition("?")[0].partition("#")[0]
        segments = path.split("/")
        names += [f"{segment}/" for segment in segments[:-1][:depth]]
        if segments[-1] and len(segments) <= depth:
            names.append(segments[-1])
    return _BELOW.join([name.replace(_BELOW, "\ufffd") for name in names])


def _shared(open_nodes: list[_Growing], names: list[str]) -> int:
    """How many of the first are the same."""
    shared = 0
    for node, name in zip(open_nodes, names, strict=False):
        if node.name != name:
            break
        shared += 1
    return shared


def _rank(site: Node) -> str:
    """Sorts the sites with the most pages, and then requests, to the front."""
    requests, pages = site.counts[0], site.counts[1]
    return f"{_LARGEST - pages:019d}{_LARGEST - requests:019d}{site.name}"


def _packed(node: Node) -> Packed:
    children = tuple(_packed(child) for child in node.children)
    return node.name, node.counts, children, node.others, node.other_counts


def _unpacked(packed: Packed) -> Node:
    name, counts, children, others, other_counts = packed
    return Node(name, counts, [_unpacked(child) for child in children], others, other_counts)
