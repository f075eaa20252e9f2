"""A web whose sites have their pages under several URLs, with truth: a shop, a forum, a wiki, an archive of mail, two
hostile sites, and documentation that has each page once. The unit tests of DUST rules crawl the same sites in memory.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tests.fakeweb.answer import Answer, Request, http_answer
from tests.fakeweb.ports import Ports
from tests.fakeweb.robots import ALLOW_ALL

Look = Callable[[str], "tuple[str, list[str]] | None"]
"""Returns the text and the links of a URL; None if there is no page."""


@dataclass
class MadeSite:
    """A site: its first URL, and the pages that it has. ``truth``: the texts of all pages that differ."""

    seed: str
    look: Look
    truth: set[str] = field(default_factory=set)
    prose: Callable[[str, str], str] = lambda url, text: text
    """Returns the prose of a page, by its URL and its text."""


def shop(base: str, size: int) -> MadeSite:
    """Products below each of several categories, with the parameters ``ref``, ``sid`` and ``view``; lists have pages,
    which differ, and an order, which counts. Lists of the view ``grid`` are those without it."""
    categories = [f"cat-{letter}" for letter in "abcd"]
    per_page = 20
    pages = -(-size // per_page)

    def product_urls(number: int) -> list[str]:
        path = f"{base}/shop/{categories[number % 4]}/product-{number}"
        other = f"{base}/shop/{categories[(number + 1) % 4]}/product-{number}"
        session = "".join(random.Random(number).choices("0123456789abcdef", k=16))
        return [
            path,
            other,
            f"{path}?ref=list{number % 11}",
            f"{path}?sid={session}",
            f"{path}?ref=top&sid={session}",
        ]

    links_of = {number: product_urls(number) for number in range(size)}

    def look(url: str) -> tuple[str, list[str]] | None:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        words = parts.path.strip("/").split("/")
        if words[0] == "list":
            page, order = int(query.get("page", ["1"])[0]), query.get("order", ["name"])[0]
            if not 1 <= page <= pages:
                return "no such list", []
            shown = range((page - 1) * per_page, min(page * per_page, size))
            links = [link for number in shown for link in links_of[number]]
            links += [f"{base}/list?page={page + 1}", f"{base}/list?page={page}&order=price"]
            links += [f"{base}/list?page={page}&view=grid", f"{base}/list?order=name&page={page}"]
            # Both spellings of the same parameters.
            links += [f"{base}/list?page={page}&order=name"]
            return f"list {page} {order}", links
        if words[0] == "shop" and len(words) == 3 and words[2].startswith("product-"):
            number = int(words[2].removeprefix("product-"))
            return (f"product {number}", [f"{base}/list?page=1"]) if number < size else None
        return None

    truth = {f"product {number}" for number in range(size)}
    truth |= {f"list {page} {order}" for page in range(1, pages + 1) for order in ("name", "price")}
    return MadeSite(f"{base}/list?page=1", look, truth)


def forum(base: str, size: int) -> MadeSite:
    """Threads of pages by number, with ``highlight`` and sessions that change nothing and ``start`` that does."""

    def look(url: str) -> tuple[str, list[str]] | None:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        if parts.path == "/viewforum.php":
            start = int(query.get("start", ["0"])[0])
            links = []
            for number in range(start, min(start + 25, size)):
                thread = f"{base}/viewtopic.php?t={number}"
                session = "".join(random.Random(number).choices("0123456789abcdef", k=32))
                links += [thread, f"{thread}&highlight=word{number % 30}", f"{thread}&sid={session}"]
                links += [
                    f"{thread}&start=10",
                    f"{thread}&start=10&highlight=w{number % 7}",
                    f"{thread}&start=0",
                ]
            if start + 25 < size:
                links.append(f"{base}/viewforum.php?start={start + 25}")
            return f"forum {start}", links
        if parts.path == "/viewtopic.php" and "t" in query and int(query["t"][0]) < size:
            return f"thread {query['t'][0]} {query.get('start', ['0'])[0]}", [f"{base}/viewforum.php?start=0"]
        # An error page with the status 200.
        return "The requested topic does not exist", []

    truth = {f"thread {number} {start}" for number in range(size) for start in (0, 10)}
    truth |= {f"forum {start}" for start in range(0, size, 25)}
    return MadeSite(f"{base}/viewforum.php?start=0", look, truth)


def wiki(base: str, size: int) -> MadeSite:
    """Articles in any case, with a slash at the end, or from ``index.php``; their histories and old versions
    differ, but for the version that is current."""

    def look(url: str) -> tuple[str, list[str]] | None:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        name = parts.path.lower().removeprefix("/wiki/").strip("/")
        if not parts.path.lower().startswith("/wiki/article-"):
            return None
        number = int(name.removeprefix("article-"))
        if number >= size:
            return None
        if query.get("show") == ["changes"]:
            return f"history {number}", [f"{base}/wiki/Article-{number}?version={old}" for old in (1, 2)]
        old = int(query.get("version", ["2"])[0])
        links = [
            f"{base}/wiki/Article-{number}?show=changes",
            f"{base}/wiki/Article-{number}?skin=plain",
        ]
        for other in {(number * 3 + 1) % size, (number + 1) % size, (number * 7 + 2) % size}:
            links += [
                f"{base}/wiki/Article-{other}",
                f"{base}/wiki/article-{other}",
                f"{base}/wiki/Article-{other}/",
            ]
            links.append(f"{base}/wiki/Article-{other}?from=no")
        return f"article {number} version {old}", links

    truth = {f"article {number} version {old}" for number in range(size) for old in (1, 2)}
    truth |= {f"history {number}" for number in range(size)}
    return MadeSite(f"{base}/wiki/Article-0", look, truth)


def mail(base: str, size: int) -> MadeSite:
    """Messages below a list and its month, with and without ``www.`` and ``index.html``, and with https where the
    site has no port."""
    per_month = 50
    months = -(-size // per_month)
    host = base.partition("//")[2]
    origins = [f"http://{host}", f"http://www.{host}", *([f"https://{host}"] if ":" not in host else [])]

    def look(url: str) -> tuple[str, list[str]] | None:
        words = urlsplit(url).path.removesuffix("index.html").strip("/").split("/")
        if words[0] != "list" or len(words) not in (2, 3):
            return None
        month = int(words[1].removeprefix("month"))
        if len(words) == 3:
            return f"message {words[2]}", [f"{base}/list/month{month}/"]
        numbers = range(month * per_month, min((month + 1) * per_month, size))
        links = [f"{origin}/list/month{month}/{number:05}.html" for number in numbers for origin in origins]
        if month + 1 < months:
            links += [f"{base}/list/month{month + 1}/", f"{base}/list/month{month + 1}/index.html"]
        return f"month {month}", links

    truth = {f"message {number:05}.html" for number in range(size)} | {
        f"month {month}" for month in range(months)
    }
    return MadeSite(f"{base}/list/month0/", look, truth)


def liar(base: str, size: int) -> MadeSite:
    """A hostile site: the first items have one page for all values of ``v``, the others have one for each."""

    def look(url: str) -> tuple[str, list[str]] | None:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        if parts.path.startswith("/list/"):
            number = int(parts.path.removeprefix("/list/"))
            links = [f"{base}/item/i{number}"] + [
                f"{base}/item/i{number}?v={number * 7 + turn}" for turn in range(4)
            ]
            return f"list {number}", [*links, *([f"{base}/list/{number + 1}"] if number + 1 < size else [])]
        number, value = int(parts.path.removeprefix("/item/i")), query.get("v", [""])[0]
        return (f"item {number}" if number < size * 3 // 5 or not value else f"item {number} {value}"), [
            f"{base}/list/0"
        ]

    truth = {f"list {number}" for number in range(size)} | {f"item {number}" for number in range(size)}
    truth |= {
        f"item {number} {number * 7 + turn}" for number in range(size * 3 // 5, size) for turn in range(4)
    }
    return MadeSite(f"{base}/list/0", look, truth)


def turning(base: str, size: int) -> MadeSite:
    """A hostile site: one page after the other, each under three URLs, which have the same page for the first
    fifth and pages of their own for the others."""

    def look(url: str) -> tuple[str, list[str]] | None:
        number = int(urlsplit(url).path.removeprefix("/page-"))
        value = parse_qs(urlsplit(url).query).get("v", ["0"])[0]
        links = [f"{base}/page-{number + 1}{query}" for query in ("", "?v=1", "?v=2")] * (number + 1 < size)
        return f"page {number} {value if number >= size // 5 else ''}", links

    truth = {f"page {number} {value}" for number in range(size // 5, size) for value in range(3)}
    return MadeSite(f"{base}/page-0", look, truth | {f"page {number} " for number in range(size // 5)})


def impostor(base: str, size: int) -> MadeSite:
    """A hostile site: the first topics have one page with and without their names, the others have one for each."""

    def look(url: str) -> tuple[str, list[str]] | None:
        words = urlsplit(url).path.strip("/").split("/")
        if words[0] == "list":
            number = int(words[1])
            links = [f"{base}/t/{number}"] + [
                f"{base}/t/name-{number * 7 + turn}-x/{number}" for turn in range(4)
            ]
            return f"list {number}", [*links, *([f"{base}/list/{number + 1}"] if number + 1 < size else [])]
        name, number = words[1] if len(words) == 3 else "", int(words[-1])
        return f"topic {number} {name if number >= size * 3 // 5 else ''}", [f"{base}/list/0"]

    truth = {f"list {number}" for number in range(size)} | {f"topic {number} " for number in range(size)}
    late = range(size * 3 // 5, size)
    truth |= {f"topic {number} name-{number * 7 + turn}-x" for number in late for turn in range(4)}
    return MadeSite(f"{base}/list/0", look, truth)


def drifting(base: str, size: int) -> MadeSite:
    """Items with ``ref=a`` and without, which are the same for four requests an item, and differ later.
    It is for crawls that visit pages again."""
    asked = 0

    def look(url: str) -> tuple[str, list[str]] | None:
        nonlocal asked
        parts = urlsplit(url)
        if parts.path == "/list":
            items = [f"{base}/item-{number}{query}" for number in range(size) for query in ("", "?ref=a")]
            return "list", items
        number = int(parts.path.removeprefix("/item-"))
        asked += 1
        mark = " of its own" if parts.query and asked > 4 * size else ""
        return f"item {number}{mark}", [f"{base}/list"]

    return MadeSite(f"{base}/list", look)


def daily(base: str, size: int) -> MadeSite:
    """A site whose URLs carry the day, of which there are ten: the same page is linked with ever other days."""
    first, days = 20260101, 10

    def look(url: str) -> tuple[str, list[str]] | None:
        number = int(urlsplit(url).path.removeprefix("/page-"))
        day = int(parse_qs(urlsplit(url).query).get("day", [str(first)])[0])
        if not (number < size and first <= day < first + days):
            return None
        links = [
            f"{base}/page-{(number + step) % size}?day={first + (number * 7 + step) % days}"
            for step in range(6)
        ]
        return f"page {number}", links

    return MadeSite(f"{base}/page-0?day={first}", look, {f"page {number}" for number in range(size)})


def counted(base: str, size: int) -> MadeSite:
    """Articles under four URLs each, with a visitor counter in their text."""

    def look(url: str) -> tuple[str, list[str]] | None:
        number = int(urlsplit(url).path.removeprefix("/article-"))
        if number >= size:
            return None
        links = [
            f"{base}/article-{other}{query}"
            for other in {(number + 1) % size, number * 3 % size, number * 7 % size}
            for query in ("", "?from=top", "?from=list", "?from=feed")
        ]
        return f"article {number}", links

    def prose(url: str, text: str) -> str:
        words, visitors = random.Random(text), random.Random(url)
        body = " ".join("".join(words.choices("abcdefghijklm", k=words.randint(3, 9))) for _ in range(300))
        return f"{text} {body}. This article was read {visitors.randrange(10_000)} times."

    return MadeSite(f"{base}/article-0", look, {f"article {number}" for number in range(size)}, prose)


def repository(base: str, size: int) -> MadeSite:
    """A viewer of commits like gitweb and hgweb: parameters behind semicolons in any order, a default action, default
    values, and names that stand for the last commit. Half of the pages take a name in the path."""

    def read(query: str) -> dict[str, str]:
        return dict(piece.partition("=")[::2] for piece in re.split("[;&]", query) if piece)

    def named(name: str) -> int:
        if name in ("", "HEAD", "tip", "master"):
            return size - 1
        number = int(name[1:], 16)
        if not 0 <= number < size:
            raise KeyError(name)
        return number

    def links(commit: int) -> list[str]:
        near = [f"c{each:07x}" for each in (commit - 1, commit - 2) if each >= 0]
        script = f"{base}/git?p=work.git"
        urls = [f"{script};a=summary", f"{script};a=log", f"{base}/log", f"{base}/file/tip/part1.txt"]
        urls += [f"{script};a=tree", f"{script};a=tree;hb=HEAD", f"{base}/rev/tip", f"{base}/rev/master"]
        for name in near:
            file = commit % 7
            urls += [
                f"{script};a=commit;h={name}",
                f"{script};h={name};a=commit",
                f"{script};a=commitdiff;h={name}",
            ]
            urls += [f"{base}/git?a=commit;p=work.git;h={name}", f"{script};a=tree;h={name};hb={name}"]
            urls += [f"{script};a=tree;h={name}", f"{script};a=blob;f=part{file}.txt;hb={name}"]
            urls += [f"{base}/rev/{name}", f"{base}/rev/{name}?revcount=30", f"{base}/rev/{name}?revcount=60"]
            urls += [f"{base}/file/{name}/part{file}.txt", f"{base}/file/{name}/part{file}.txt?style=paper"]
            urls += [f"{base}/log/{name}", f"{base}/log/{name}?revcount=30", f"{base}/shortlog/{name}"]
        return urls

    def script(query: dict[str, str]) -> tuple[str, int]:
        action, commit = query.get("a", "summary"), named(query.get("h", query.get("hb", "")))
        return f"{action} {query.get('f', '') if action == 'blob' else ''}", commit

    def viewer(words: list[str], query: dict[str, str]) -> tuple[str, int]:
        if words[0] not in ("rev", "log", "file", "shortlog") or len(words) > 2 + (words[0] == "file"):
            raise KeyError(words[0])
        count = query.get("revcount", "30") if words[0] == "log" else ""
        return f"hg {words[0]} {words[2] if words[0] == 'file' else ''} {count}", named("".join(words[1:2]))

    def look(url: str) -> tuple[str, list[str]] | None:
        parts = urlsplit(url)
        words, query = parts.path.strip("/").split("/"), read(parts.query)
        try:
            text, commit = script(query) if words[0] == "git" else viewer(words, query)
        except (KeyError, ValueError, IndexError):
            return None
        return f"{text} {commit}", links(commit)

    return MadeSite(f"{base}/git?p=work.git;a=summary", look)


def board(base: str, size: int) -> MadeSite:
    """Topics like those of Discourse: with and without their names, with the numbers of posts, which have the page
    of 20 posts around them, and with the number of the first page. One topic in five has 45 posts, the others 9."""

    def posts(number: int) -> int:
        return 45 if number % 5 == 0 else 9

    def look(url: str) -> tuple[str, list[str]] | None:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        words = parts.path.strip("/").split("/")
        shown = int(query.get("page", ["1"])[0])
        if words[0] == "latest":
            links = []
            for number in range(25 * (shown - 1), min(25 * shown, size)):
                topic = f"{base}/t/topic-{number}-about/{number}"
                links += [topic, f"{topic}/1", f"{topic}/{posts(number)}", f"{base}/t/{number}"]
                links += [f"{topic}?page=1", f"{topic}/{number % 7 + 2}", f"{topic}?u=user{number % 9}"]
            links += [
                f"{base}/latest?page={shown + 1}",
                f"{base}/latest?no_definitions=true&page={shown + 1}",
            ]
            return (f"latest {shown}", [*links, f"{base}/latest"]) if 0 < shown <= -(-size // 25) else None
        numbers = [int(word) for word in words[1:] if word.isdigit()]
        if words[0] != "t" or not 1 <= len(numbers) <= 2 or numbers[0] >= size:
            return None
        number, last = numbers[0], (posts(numbers[0]) - 1) // 20
        block = min(((numbers[1] if len(numbers) == 2 else 20 * (shown - 1) + 1) - 1) // 20, last)
        links = [
            f"{base}/t/topic-{other}-about/{other}/{(number + other) % 7 + 2}"
            for other in ((number * 3 + 1) % size, (number + 1) % size)
        ]
        links += [f"{base}/t/topic-{number}-about/{number}?page={block + 2}"] if block < last else []
        return f"topic {number} block {block}", links

    truth = {
        f"topic {number} block {block}" for number in range(size) for block in range(posts(number) // 20 + 1)
    }
    return MadeSite(f"{base}/latest", look, truth | {f"latest {page + 1}" for page in range(-(-size // 25))})


def encyclopedia(base: str, size: int) -> MadeSite:
    """Articles like those of MediaWiki: under their names, from ``index.php``, with parameters that change nothing,
    and by the number of the current version, which is another one for each article. Some parameters have other names
    than MediaWiki's: crawls refuse links to edit pages, histories and old versions."""

    def look(url: str) -> tuple[str, list[str]] | None:
        parts, query = urlsplit(url), {name: last[-1] for name, last in parse_qs(urlsplit(url).query).items()}
        name = (
            parts.path.removeprefix("/wiki/") if parts.path.startswith("/wiki/") else query.get("title", "")
        )
        if parts.path != "/index.php" and not parts.path.startswith("/wiki/"):
            return None
        if not name.startswith("Topic_"):
            return None
        number = int(name.removeprefix("Topic_"))
        if not 0 <= number < size:
            return None
        mode, current = query.get("mode", "view"), 1000 + 3 * number
        script = f"{base}/index.php?title={name}"
        links = [f"{script}&mode=changes", f"{script}&version={current}", f"{script}&mode=view"]
        links += [f"{base}/wiki/{name}?redirect=no"]
        links += [f"{script}&printable=yes", f"{script}&mode=source", f"{script}&mode=source&section=0"]
        for other in ((number * 3 + 1) % size, (number + 1) % size):
            links += [f"{base}/wiki/Topic_{other}", f"{base}/index.php?title=Topic_{other}"]
            links += [
                f"{base}/index.php?title=Topic_{other}&redirect=no",
                f"{base}/wiki/Topic_{other}?useskin=old",
            ]
        if mode == "changes":
            old = [f"{script}&version={current - 1 - back}" for back in range(2)]
            return f"history {number}", [
                *old,
                f"{script}&version={current}",
                f"{script}&mode=changes&limit=50",
            ]
        if mode == "source":
            return f"edit {number} {query.get('section', 'all')}", links
        version = int(query.get("version", current))
        return (f"article {number} {version}", links) if current - 3 < version <= current else None

    truth = {f"article {number} {1000 + 3 * number - back}" for number in range(size) for back in range(3)}
    truth |= {f"history {number}" for number in range(size)}
    return MadeSite(f"{base}/wiki/Topic_0", look, truth)


def tables(base: str, size: int) -> MadeSite:
    """Tables like those of Datasette: facets, sorts and hidden columns in any order, the default sort among them."""

    def look(url: str) -> tuple[str, list[str]] | None:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        words = parts.path.strip("/").split("/")
        if words[0] != "base" or len(words) < 2 or not words[1].startswith("table"):
            return None
        table = int(words[1].removeprefix("table"))
        if table >= size // 4:
            return None
        if len(words) == 3:
            row = int(words[2])
            table_url = f"{base}/base/table{table}"
            return (f"row {table} {row}", [table_url, f"{table_url}?_sort=id"]) if row < 8 else None
        facets = "+".join(sorted(query.get("_facet", [])))
        sort, hidden = query.get("_sort", ["id"])[0], "+".join(sorted(query.get("_nocol", [])))
        one = f"{base}/base/table{table}"
        links = [f"{one}/{row}" for row in range(8)] + [f"{base}/base/table{table + 1}"]
        links += [f"{one}?_sort=id", f"{one}?_sort=name", f"{one}?_facet=kind", f"{one}?_facet=maker"]
        links += [
            f"{one}?_facet=kind&_sort=id",
            f"{one}?_sort=id&_facet=kind",
            f"{one}?_facet=kind&_facet=maker",
        ]
        links += [f"{one}?_facet=maker&_facet=kind", f"{one}?_sort=name&_facet=kind", f"{one}?_nocol=kind"]
        links += [
            f"{one}?_nocol=kind&_sort=id",
            f"{one}?_facet=maker&_nocol=kind",
            f"{one}?_nocol=kind&_facet=maker",
        ]
        links += [f"{one}?_facet_size=max", f"{one}?_facet=kind&_facet_size=max", f"{one}?_size=100"]
        return f"table {table} {facets} {sort} {hidden}", links

    truth = {f"row {table} {row}" for table in range(size // 4) for row in range(8)}
    return MadeSite(f"{base}/base/table0", look, truth)


def statics(base: str, size: int) -> MadeSite:
    """Documentation: each URL has a page of its own, and pages of several versions share their names."""

    def look(url: str) -> tuple[str, list[str]] | None:
        words = urlsplit(url).path.strip("/").split("/")
        if len(words) != 3:
            return None
        number = int(words[2].removeprefix("page-").removesuffix(".html"))
        links = [
            f"{base}/docs/{version}/page-{(number * 2 + more) % size}.html"
            for version in ("1.0", "2.0")
            for more in (1, 2)
        ]
        # Most pages did not change between the versions.
        return f"page {number} {words[1] if number % 9 == 0 else ''}", [
            *links,
            f"{base}/docs/{words[1]}/page-0.html",
        ]

    return MadeSite(f"{base}/docs/1.0/page-1.html", look)


SITES: dict[str, Callable[[str, int], MadeSite]] = {
    "shop": shop,
    "forum": forum,
    "wiki": wiki,
    "mail": mail,
    "liar": liar,
    "turning": turning,
    "impostor": impostor,
    "drifting": drifting,
    "docs": statics,
    "daily": daily,
    "counted": counted,
    "repository": repository,
    "board": board,
    "encyclopedia": encyclopedia,
    "tables": tables,
}


class Copies:
    """A Site; see the top of this module. ``size``: of each of its sites; ``names``: those that it has."""

    def __init__(self, size: int = 200, *, suffix: str = "localhost", names: tuple[str, ...] = ()) -> None:
        self._names = names or tuple(name for name in SITES if name != "drifting")
        self._size = size
        self._suffix = suffix
        self.hosts = [f"{name}.{suffix}" for name in self._names]
        self.ports = Ports()
        self.sites: dict[str, MadeSite] = {}

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        self.ports = ports
        self.sites = {
            name: SITES[name](f"http://{name}.{self._suffix}:{ports.http}", self._size)
            for name in self._names
        }

    @property
    def seeds(self) -> list[str]:
        """The first page of each site."""
        return [site.seed for site in self.sites.values()]

    def text(self, url: str) -> str | None:
        """Return the text of the page that a URL has; None if there is none."""
        name, shown = self._look(url)
        return None if shown is None else f"{name}: {shown[0]}"

    def _look(self, url: str) -> tuple[str, tuple[str, list[str]] | None]:
        name = urlsplit(url).netloc.removeprefix("www.").partition(".")[0]
        try:
            return name, self.sites[name].look(url)
        except (KeyError, ValueError):
            return name, None

    def truth(self, name: str) -> set[str]:
        """Return the texts of all pages of a site."""
        return {f"{name}: {text}" for text in self.sites[name].truth}

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt or a page; 404 for URLs that have none."""
        if request.path == "/robots.txt":
            return http_answer(200, ALLOW_ALL, mime="text/plain")
        url = f"http://{request.host}:{self.ports.http}{request.path}"
        name, shown = self._look(url)
        if shown is None:
            return http_answer(404, b"<title>Not found</title>\n")
        text = f"{name}: {shown[0]}"
        links = "".join(f'<a href="{html.escape(link)}">page</a>\n' for link in shown[1])
        prose = self.sites[name].prose(url, text)
        return http_answer(200, f"<!DOCTYPE html>\n<title>{text}</title>\n<p>{prose}</p>\n{links}".encode())
