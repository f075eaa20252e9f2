"""A web whose sites have their pages under several URLs, with truth: a shop, a forum, a wiki, an archive of mail, two
hostile sites, and documentation that has each page once. The unit tests of DUST rules crawl the same sites in memory.
"""

from __future__ import annotations

import html
import random
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
    "docs": statics,
    "daily": daily,
    "counted": counted,
}


class Copies:
    """A Site; see the top of this module. ``size``: of each of its sites; ``names``: those that it has."""

    def __init__(self, size: int = 200, *, suffix: str = "localhost", names: tuple[str, ...] = ()) -> None:
        self._names = names or tuple(SITES)
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
        name = urlsplit(url).netloc.removeprefix("www.").partition(".")[0]
        try:
            shown = self.sites[name].look(url)
        except (KeyError, ValueError):
            return None
        return None if shown is None else f"{name}: {shown[0]}"

    def truth(self, name: str) -> set[str]:
        """Return the texts of all pages of a site."""
        return {f"{name}: {text}" for text in self.sites[name].truth}

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt or a page; 404 for URLs that have none."""
        if request.path == "/robots.txt":
            return http_answer(200, ALLOW_ALL, mime="text/plain")
        url = f"http://{request.host}:{self.ports.http}{request.path}"
        text = self.text(url)
        if text is None:
            return http_answer(404, b"<title>Not found</title>\n")
        shown = self.sites[text.partition(":")[0]].look(url)
        assert shown is not None
        links = "".join(f'<a href="{html.escape(link)}">page</a>\n' for link in shown[1])
        prose = self.sites[text.partition(":")[0]].prose(url, text)
        return http_answer(200, f"<!DOCTYPE html>\n<title>{text}</title>\n<p>{prose}</p>\n{links}".encode())
