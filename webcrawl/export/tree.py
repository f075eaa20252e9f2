"""The sites of a crawl as a tree of registrable domains, hosts and folders; as text, as JSON, and as an HTML page."""

from __future__ import annotations

import json
import marshal
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappush, heappushpop
from itertools import islice
from typing import TYPE_CHECKING, Any

from webcrawl.export.safe import for_terminal, in_html
from webcrawl.external_sort import Gathered
from webcrawl.reports import text
from webcrawl.reports.counting import Sums, summed
from webcrawl.urls.politeness_key import get_host, registrable_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


COUNTED = ("requests", "pages", "failed", "bytes")
"""The counts of each site, in this order: all requests, pages that got a response, requests without one, bytes
received.
"""
NO_HOST = "(no host)"
_NOTHING: Sums = (0, 0, 0, 0)
_BELOW = "\0"
"""A separator that no URL contains, and that sorts before all other characters."""
_LARGEST = 10**18

Packed = tuple[str, Sums, tuple[Any, ...], int, Sums]
"""A node as it is stored on the disk: name, counts, children, and the number of omitted children with their
counts.
"""


@dataclass(slots=True)
class Node:
    """A domain, host, folder or file, with everything below it."""

    name: str
    counts: Sums
    """The counts of the node and everything below it, see ``COUNTED``."""
    children: list[Node] = field(default_factory=list)
    """The children, the largest first."""
    others: int = 0
    """The number of children that were omitted because they are smaller."""
    other_counts: Sums = _NOTHING


class Tree:
    """Takes lines of fetch logs; then it is read, a registrable domain at a time.

    Each node has at most ``most`` children, those with the most pages; the counts of the others are summed up. All
    counts are exact. One domain is in memory, besides the data of ``Gathered``.
    """

    def __init__(self, *, depth: int = 2, most: int = 50) -> None:
        """``depth``: how many segments of a path are distinguished. ``most``: 0 for all children."""
        self.totals: Sums = _NOTHING
        self.domains = 0
        """The number of domains, known once the tree was read."""
        self._depth = depth
        self._most = most
        self._leaves: Gathered[Sums] = Gathered(summed)

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a line. Fields that are missing or of another type are ignored."""
        url, size = line.get("url"), line.get("bytes")
        answered = line.get("status") is not None
        page = answered and line.get("kind") == "page"
        counts = (1, int(page), int(not answered), size if isinstance(size, int) else 0)
        self._leaves.add(_place(url if isinstance(url, str) else "", self._depth), counts)

    def sites(self) -> Iterator[Node]:
        """Yield the registrable domains, those with the most pages first."""
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
        """Yield the registrable domains by name, each when all its leaves have come."""
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
        """Close the last node and add it to its parent; a domain has none, and is returned."""
        node = open_nodes.pop().grown()
        if not open_nodes:
            return node
        open_nodes[-1].take(node)
        return None


class _Growing:
    """A node that still gets children."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.counts = _NOTHING
        self._most = most
        self._children: list[tuple[int, int, int, Node]] = []
        self._others = 0
        self._other_counts = _NOTHING

    def take(self, child: Node) -> None:
        self.counts = summed(self.counts, child.counts)
        # After the sizes comes the order of names, so that nodes themselves are never compared.
        position = len(self._children) + self._others
        item = (child.counts[1], child.counts[0], -position, child)
        if not self._most or len(self._children) < self._most:
            heappush(self._children, item)
            return
        _, _, _, smallest = heappushpop(self._children, item)
        self._others += 1
        self._other_counts = summed(self._other_counts, smallest.counts)

    def grown(self) -> Node:
        children = [item[3] for item in sorted(self._children, key=lambda item: item[:3], reverse=True)]
        return Node(self.name, self.counts, children, self._others, self._other_counts)


def build_tree(lines: Iterable[Mapping[str, Any]], *, depth: int = 2, most: int = 50) -> Tree:
    """Return the tree of some logs."""
    tree = Tree(depth=depth, most=most)
    for line in lines:
        tree.add(line)
    return tree


def host_in(url: str) -> str:
    """Return the host of a URL of the log; ``NO_HOST`` if it has none."""
    try:
        return get_host(url) if url.startswith(("http://", "https://")) else NO_HOST
    except ValueError:
        return NO_HOST


@lru_cache(65_536)
def host_domain(host: str) -> str:
    """Return the registrable domain of a host."""
    return NO_HOST if host == NO_HOST else registrable_domain(host)


def _place(url: str, depth: int) -> str:
    """Return the place of a URL in the tree: domain, host and segments of its path, without its query."""
    host = host_in(url)
    names = [host_domain(host), host]
    if host != NO_HOST and depth:
        path = url[url.index("/", 8) + 1 :].partition("?")[0].partition("#")[0]
        segments = path.split("/")
        names += [f"{segment}/" for segment in segments[:-1][:depth]]
        if segments[-1] and len(segments) <= depth:
            names.append(segments[-1])
    return _BELOW.join([name.replace(_BELOW, "\ufffd") for name in names])


def _shared(open_nodes: list[_Growing], names: list[str]) -> int:
    """Return the length of the common prefix."""
    shared = 0
    for node, name in zip(open_nodes, names, strict=False):
        if node.name != name:
            break
        shared += 1
    return shared


def _rank(site: Node) -> str:
    """Return a key that sorts the sites with the most pages, and then requests, to the front."""
    requests, pages = site.counts[0], site.counts[1]
    return f"{_LARGEST - pages:019d}{_LARGEST - requests:019d}{site.name}"


def _packed(node: Node) -> Packed:
    children = tuple(_packed(child) for child in node.children)
    return node.name, node.counts, children, node.others, node.other_counts


def _unpacked(packed: Packed) -> Node:
    name, counts, children, others, other_counts = packed
    return Node(name, counts, [_unpacked(child) for child in children], others, other_counts)


SHOWN_SITES = 1_000
"""The number of sites on an HTML page, since a browser has to hold them all."""

_HEAD = (
    '<div class="head quiet"><b></b><i>pages</i><i class="wide">requests</i><i class="wide">failed</i>'
    "<i>received</i></div>\n"
)
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#5b6470;--paper:#fff;--rule:#d5dae0;--fill:#3b76b526}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--quiet:#a0a8b2;--paper:#15181c;--rule:#3a4048;--fill:#6aa5df33}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:70rem;margin:1.5rem auto;
padding:0 1rem}h1{font-size:1.4rem}.quiet{color:var(--quiet)}
details details,details>p{margin-left:1.3rem}summary{cursor:pointer}
summary,details>p,.head{display:flex;gap:.5rem;margin-top:0;margin-bottom:0;border-bottom:1px solid var(--rule);
font-variant-numeric:tabular-nums}
summary::before{content:"\\25b8";width:1em}details[open]>summary::before{content:"\\25be"}
details>p::before{content:"";width:1em}summary::-webkit-details-marker{display:none}
b{flex:1;font-weight:normal;overflow-wrap:anywhere;background:linear-gradient(var(--fill),var(--fill)) no-repeat;
background-size:var(--part) 100%}
i{font-style:normal;text-align:right;width:5.5rem;flex:none}
@media(max-width:40rem){i.wide{display:none}i{width:4.6rem}details details,details>p{margin-left:.7rem}}
@media print{body{max-width:none}details:not([open])>summary::before{content:""}}
"""


def as_text(tree: Tree, title: str) -> Iterator[str]:
    """Yield a line for each node, below its parent; figures come first, so that names may have any length."""
    yield f"{'pages':>12} {'requests':>12} {'failed':>12} {'received':>9}  {for_terminal(title)}\n"
    for site in tree.sites():
        yield from _text_lines(site, 0)
    yield f"{_figures(tree.totals)}  {text.things(tree.domains, 'registrable domain')}\n"


def as_json(tree: Tree, title: str) -> Iterator[str]:
    """Yield one object: ``sites`` (``name``, the names in ``COUNTED``, ``children``, ``others``), one per line, and
    totals.
    """
    yield f'{{"title": {json.dumps(title)}, "sites": [\n'
    for number, site in enumerate(tree.sites()):
        yield (",\n" if number else "") + json.dumps(_as_object(site))
    yield f'\n], "domains": {tree.domains}, "totals": {json.dumps(_counts_by_name(tree.totals))}}}\n'


def as_html(tree: Tree, title: str) -> Iterator[str]:
    """Yield a page that loads no other files. Of very many sites it has the largest."""
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{in_html(title)}</title><style>{_STYLE}</style></head>\n<body><h1>{in_html(title)}</h1>\n"
    )
    sites = tree.sites()
    first = list(islice(sites, SHOWN_SITES))
    left_out = sum(1 for _ in sites)
    yield f"<p>{_caption(tree, left_out)}</p>\n{_HEAD}"
    yield f"<details open><summary><b>all sites</b>{_cells(tree.totals)}</summary>\n"
    for site in first:
        yield _element(site, tree.totals[1]) + "\n"
    yield "</details></body></html>\n"


def _text_lines(node: Node, level: int) -> Iterator[str]:
    yield f"{_figures(node.counts)}  {'  ' * level}{for_terminal(node.name)}\n"
    for child in node.children:
        yield from _text_lines(child, level + 1)
    if node.others:
        yield f"{_figures(node.other_counts)}  {'  ' * (level + 1)}({text.count(node.others)} more)\n"


def _figures(counts: Sums) -> str:
    requests, pages, failed, size = counts
    return f"{pages:>12,} {requests:>12,} {failed:>12,} {text.size(size):>9}"


def _as_object(node: Node) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": node.name, **_counts_by_name(node.counts)}
    if node.children:
        fields["children"] = [_as_object(child) for child in node.children]
    if node.others:
        fields["others"] = {"number": node.others, **_counts_by_name(node.other_counts)}
    return fields


def _counts_by_name(counts: Sums) -> dict[str, int]:
    return dict(zip(COUNTED, counts, strict=True))


def _caption(tree: Tree, left_out: int) -> str:
    caption = (
        f"{text.things(tree.domains, 'registrable domain')}, the ones with the most pages first. A bar is the "
        "share of the pages of what is above."
    )
    if left_out:
        caption += (
            f" The {text.count(left_out)} smallest are not on this page; as text or JSON they are all there."
        )
    return caption


def _element(node: Node, pages_above: int) -> str:
    part = 100 * node.counts[1] / pages_above if pages_above else 0.0
    line = f'<b style="--part:{part:.1f}%">{in_html(node.name)}</b>{_cells(node.counts)}'
    if not node.children:
        return f"<p>{line}</p>"
    below = "".join([_element(child, node.counts[1]) for child in node.children])
    if node.others:
        below += f'<p><b class="quiet">{text.count(node.others)} more</b>{_cells(node.other_counts)}</p>'
    return f"<details><summary>{line}</summary>{below}</details>"


def _cells(counts: Sums) -> str:
    requests, pages, failed, size = counts
    return f'<i>{pages:,}</i><i class="wide">{requests:,}</i><i class="wide">{failed:,}</i><i>{text.size(size)}</i>'
