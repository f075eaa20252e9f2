"""A web with traps beside real sections, and the truth about each URL: what is worth a request, and what never ends.

Every host has the same sections. Those of ``REAL`` are finite, and each of their pages has something of its own;
those of ``TRAPS`` go on for ever. What a page says is drawn from few words, so that single words are no news for
long.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from tests.fakeweb.answer import Answer, Request, http_answer
from tests.fakeweb.content import word
from tests.fakeweb.names import host_names, numbers
from tests.fakeweb.ports import Ports
from tests.fakeweb.robots import ALLOW_ALL

WORDS = 400
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]

Query = dict[str, str]


@dataclass(slots=True)
class Leaf:
    """A page before it is HTML: a title, what it says, where it leads (text and path)."""

    title: str
    says: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    images: list[str] = field(default_factory=list)


class Sight(NamedTuple):
    """The path below a section's root, the query, and what makes texts differ: host and section."""

    path: str
    query: Query
    seed: str
    visit: int


Section = Callable[[Sight], Leaf | None]
REAL: dict[str, Section] = {}
TRAPS: dict[str, Section] = {}


def section(registry: dict[str, Section], name: str) -> Callable[[Section], Section]:
    """Enter the decorated function: all URLs that begin with ``/name/`` are its."""

    def enter(function: Section) -> Section:
        registry[name] = function
        return function

    return enter


def prose(seed: str, words: int) -> str:
    """Return so many words that depend on ``seed``."""
    return " ".join(word(number % WORDS) for number in numbers(seed, words)).capitalize() + "."


def natural(text: str, most: int) -> int | None:
    """Return a number from 1 to ``most``; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most else None


# -- what is real --------------------------------------------------------------------------------------------

ARTICLES, PRODUCTS, TOPICS, PHOTOS, MODULES, EVENTS, POSTS, ITEMS = 120, 90, 30, 60, 40, 12, 60, 40
PER_LIST = 10


@section(REAL, "articles")
def articles(sight: Sight) -> Leaf | None:
    """Numbered articles, and a list of them in pages."""
    if sight.path in ("", "index.html"):
        page = natural(sight.query.get("page", "1"), ARTICLES // PER_LIST)
        if page is None:
            return None
        first = (page - 1) * PER_LIST + 1
        links = [
            (prose(f"{sight.seed} title {n}", 4), f"/articles/{n}.html")
            for n in range(first, first + PER_LIST)
        ]
        if page < ARTICLES // PER_LIST:
            links.append(("older", f"/articles/?page={page + 1}"))
        return Leaf("Articles", [], links)
    number = natural(sight.path.removesuffix(".html"), ARTICLES)
    if number is None or not sight.path.endswith(".html"):
        return None
    near = [("next", f"/articles/{number % ARTICLES + 1}.html"), ("all", "/articles/")]
    return Leaf(prose(f"{sight.seed} title {number}", 4), [prose(f"{sight.seed} {number}", 80)], near)


@section(REAL, "products")
def products(sight: Sight) -> Leaf | None:
    """Products in one template that say little, by an id in the query, each with others that go with it."""
    number = natural(sight.query.get("id", ""), PRODUCTS)
    if number is None:
        if sight.query:
            return None
        return Leaf("Products", [], [("Product", f"/products/?id={n}") for n in range(1, PRODUCTS + 1)])
    near = [("goes with it", f"/products/?id={(number * 7 + n) % PRODUCTS + 1}") for n in range(3)]
    says = [
        "Add to basket",
        "Delivery within 3 days",
        "In stock",
        prose(f"{sight.seed} {number}", 12),
        f"{number}.95",
    ]
    return Leaf(prose(f"{sight.seed} name {number}", 2), says, near)


@section(REAL, "forum")
def forum(sight: Sight) -> Leaf | None:
    """Topics of two pages each, with ``f``, ``t`` and ``start``."""
    if sight.path == "":
        return Leaf("Forum", [], [("Board", f"/forum/viewforum.php?f={f}") for f in (1, 2, 3)])
    f = natural(sight.query.get("f", ""), 3)
    if f is None:
        return None
    if sight.path == "viewforum.php":
        mine = range(f, TOPICS + 1, 3)
        names = [(prose(f"{sight.seed} topic {t}", 3), f"/forum/viewtopic.php?f={f}&t={t}") for t in mine]
        return Leaf(f"Board {f}", [], names)
    t = natural(sight.query.get("t", ""), TOPICS)
    start = sight.query.get("start", "0")
    if sight.path != "viewtopic.php" or t is None or start not in ("0", "20"):
        return None
    posts = [prose(f"{sight.seed} {t} {start} {n}", 25) for n in range(3)]
    return Leaf(
        "Topic",
        posts,
        [("page 2", f"/forum/viewtopic.php?f={f}&t={t}&start=20"), ("board", f"/forum/viewforum.php?f={f}")],
    )


@section(REAL, "gallery")
def gallery(sight: Sight) -> Leaf | None:
    """Pages that show a picture and say nothing, one behind the other."""
    number = natural(sight.path or "1", PHOTOS)
    if number is None:
        return None
    links = [("next", f"/gallery/{number + 1}")] if number < PHOTOS else []
    return Leaf("Gallery", [], links, [f"/pictures/{number:04}.jpg", "/pictures/logo.png"])


@section(REAL, "api")
def api(sight: Sight) -> Leaf | None:
    """Documentation in one template, below folders that are called the same again and again."""
    if sight.path == "":
        return Leaf(
            "API",
            [],
            [(f"module {n}", f"/api/core/lib/v{n % 3}/core/m{n}/index.html") for n in range(1, MODULES + 1)],
        )
    parts = sight.path.split("/")
    number = natural(parts[4].removeprefix("m"), MODULES) if len(parts) == 6 else None
    if number is None or sight.path != f"core/lib/v{number % 3}/core/m{number}/index.html":
        return None
    return Leaf(
        f"Module {number}", ["Parameters", "Returns", prose(f"{sight.seed} {number}", 15)], [("up", "/api/")]
    )


@section(REAL, "events")
def events(sight: Sight) -> Leaf | None:
    """A calendar of a year with an event in every month; before and behind it there is nothing."""
    if sight.path.startswith("show/"):
        number = natural(sight.path.removeprefix("show/"), EVENTS)
        return number and Leaf("Event", [prose(f"{sight.seed} {number}", 30)], [("calendar", "/events/")])  # type: ignore[return-value]
    parts = (sight.path.strip("/") or "2024/01").split("/")
    if len(parts) != 2 or parts[0] != "2024" or natural(parts[1], 12) is None:
        return None
    month = int(parts[1])
    links = [(prose(f"{sight.seed} name {month}", 3), f"/events/show/{month}")]
    links += [("next", f"/events/2024/{month + 1:02}/")] if month < 12 else []
    return Leaf(f"{MONTHS[month - 1]} 2024", [str(day) for day in range(1, 31)], links)


@section(REAL, "blog")
def blog(sight: Sight) -> Leaf | None:
    """Posts under the day they are of, found by endless scrolling through archives of months."""
    parts = sight.path.strip("/").split("/")
    if sight.path == "":
        return Leaf("Blog", [], [("archive", "/blog/2023/01/")])
    if parts[0] not in ("2023",) or len(parts) < 2 or natural(parts[1], 12) is None:
        return None
    month = int(parts[1])
    mine = range(month, POSTS + 1, 12)
    if len(parts) == 2:
        links = [
            (prose(f"{sight.seed} title {n}", 4), f"/blog/2023/{month:02}/{n % 28 + 1:02}/post-{n}")
            for n in mine
        ]
        links += [("next", f"/blog/2023/{month + 1:02}/")] if month < 12 else []
        return Leaf("Archive", [prose(f"{sight.seed} {n}", 10) for n in mine], links)
    number = natural(parts[-1].removeprefix("post-"), POSTS)
    if len(parts) != 4 or number not in mine:
        return None
    return Leaf(
        prose(f"{sight.seed} title {number}", 4),
        [prose(f"{sight.seed} {number}", 60)],
        [("archive", f"/blog/2023/{month:02}/")],
    )


@section(REAL, "items")
def items(sight: Sight) -> Leaf | None:
    """Pages with nothing but a number, that a list names."""
    if sight.path == "":
        return Leaf("Items", [], [(f"Item {n}", f"/items/{n}") for n in range(1, ITEMS + 1)])
    number = natural(sight.path, ITEMS)
    return (
        None
        if number is None
        else Leaf(
            f"Item {number}",
            [f"This is item {number}."],
            [("all", "/items/"), ("next", f"/items/{number % ITEMS + 1}")],
        )
    )


@section(REAL, "shop")
def shop(sight: Sight) -> Leaf | None:
    """Products by numbers of ten digits, one template and a name each, found only by way of each other."""
    number = _place(sight.path or _id(sight.seed, 0), sight.seed, OFFERS)
    if number is None:
        return None
    near = [_id(sight.seed, n) for n in (number + 1, number * 3 % OFFERS) if n < OFFERS]
    links = [("goes with it", f"/shop/{one}") for one in near]
    return Leaf(
        prose(f"{sight.seed} name {number}", 2), [*TEMPLATE, f"{number * 7 % 90},{number % 10}0 EUR"], links
    )


@section(REAL, "threads")
def threads(sight: Sight) -> Leaf | None:
    """Threads by numbers of ten digits in the query, each with one short line, and a link to the next."""
    number = _place(sight.query.get("t", _id(sight.seed, 0)), sight.seed, THREADS)
    if number is None:
        return None
    links = [("newer", f"/threads/?t={_id(sight.seed, number + 1)}")] if number + 1 < THREADS else []
    return Leaf("Thread", [*TEMPLATE, prose(f"{sight.seed} {number}", 5)], links)


@section(REAL, "notes")
def notes(sight: Sight) -> Leaf | None:
    """Documents by a token in the path, that say a line each; also by way of each other alone."""
    number = next((n for n in range(NOTES) if sight.path in ("" if n == 0 else _token(sight.seed, n),)), None)
    if number is None:
        return None
    links = [("next", f"/notes/{_token(sight.seed, number + 1)}")] if number + 1 < NOTES else []
    return Leaf("Note", [*TEMPLATE, prose(f"{sight.seed} {number}", 6)], links)


@section(REAL, "levels")
def levels(sight: Sight) -> Leaf | None:
    """A measurement under each number of ten digits, and the link to the next: two numbers of difference."""
    number = _place(sight.path or _id(sight.seed, 0), sight.seed, LEVELS)
    if number is None:
        return None
    [level] = numbers(f"{sight.seed} {number}", 1)
    links = [("next", f"/levels/{_id(sight.seed, number + 1)}")] if number + 1 < LEVELS else []
    return Leaf("Level", [*TEMPLATE, f"Water stood at {level % 997} centimetres"], links)


OFFERS, THREADS, NOTES, LEVELS = 140, 140, 60, 140
TEMPLATE = [
    "Add to your list",
    "Delivery within a few days to all countries of the world but two",
    "All prices with taxes, without the costs of delivery",
    "Tell us what you think of this page",
]


def _id(seed: str, number: int) -> str:
    """Return a number of ten digits, as databases that are shared among many give them."""
    return str(1_000_000_000 + numbers(f"{seed} id {number}", 1)[0] % 1_999_999_999)


def _token(seed: str, number: int) -> str:
    return "".join(f"{one:08x}" for one in numbers(f"{seed} token {number}", 3))


def _place(text: str, seed: str, most: int) -> int | None:
    """Return which of the first ``most`` numbers of ten digits a text is."""
    return next((number for number in range(most) if _id(seed, number) == text), None)


@section(REAL, "about")
def about(sight: Sight) -> Leaf | None:
    """Pages that can be read under any session, and their printed form."""
    number = natural(sight.path, 15)
    if number is None:
        return (
            Leaf("About", [], [("about", f"/about/{n}") for n in range(1, 16)]) if sight.path == "" else None
        )
    return Leaf(f"About {number}", [prose(f"{sight.seed} {number}", 40)], [("all", "/about/")])


# -- traps -----------------------------------------------------------------------------------------------------


@section(TRAPS, "calendar")
def calendar(sight: Sight) -> Leaf:
    """Months and days in the path, without an event, for ever."""
    parts = [part for part in sight.path.split("/") if part]
    year, month = (int(parts[0]), int(parts[1])) if len(parts) >= 2 else (2024, 1)
    around = [f"/calendar/{y}/{m:02}/" for y, m in (_month(year, month, 1), _month(year, month, -1))]
    if len(parts) > 2:
        return Leaf(
            f"{parts[2]} {MONTHS[month - 1]} {year}",
            ["No events."],
            [("month", f"/calendar/{year}/{month:02}/")],
        )
    days = [(str(day), f"/calendar/{year}/{month:02}/{day:02}/") for day in range(1, 29)]
    return Leaf(
        f"{MONTHS[month - 1]} {year}",
        ["Mo", "Tu", "We", "No events."],
        [("next", around[0]), ("previous", around[1]), *days],
    )


@section(TRAPS, "agenda")
def agenda(sight: Sight) -> Leaf:
    """The same in queries: a view, and a date."""
    date = sight.query.get("date", "2024-01")
    year, month = int(date[:4]), int(date[5:7])
    links = []
    for text, by in (("next", 1), ("previous", -1)):
        y, m = _month(year, month, by)
        links.append((text, f"/agenda/?view=month&date={y}-{m:02}"))
    links += [(str(day), f"/agenda/?view=day&date={year}-{month:02}-{day:02}") for day in range(1, 29)]
    links += [("enter an event", f"/agenda/enter?date={year}-{month:02}-{day:02}") for day in (1, 15)]
    return Leaf(f"Agenda of {date}", ["Nothing planned."], links)


@section(TRAPS, "days")
def days(sight: Sight) -> Leaf:
    """A day by its number, with the next and the one before."""
    day = int(sight.query.get("day", "20000"))
    return Leaf(
        f"Day {day}",
        ["Nothing planned."],
        [("next", f"/days/?day={day + 1}"), ("previous", f"/days/?day={day - 1}")],
    )


@section(TRAPS, "visit")
def visit(sight: Sight) -> Leaf:
    """Ten pages under a session that is new at each visit, in the query, the path, or under an unknown name."""
    way, _, page = sight.path.partition(";")[0].partition("/")
    page = str(natural(page, 10) or 1)
    links = []
    for number, way in enumerate(("q", "p", "u")):
        a, b, c, d = numbers(f"{sight.seed} {sight.path} {sight.visit} {number}", 4)
        token = f"{a:08x}{b:08x}"
        for n in range(1, 11):
            url = {
                "q": f"q/{n}?PHPSESSID={token}",
                "p": f"p/{n};jsessionid={token.upper()}",
                "u": f"u/{n}?k={c:08x}{d:08x}a1",
            }[way]
            links.append((f"page {n}", f"/visit/{url}"))
    return Leaf(f"Welcome {page}", [prose(f"{sight.seed} visit {page}", 30)], links)


@section(TRAPS, "folders")
def folders(sight: Sight) -> Leaf:
    """Relative links that make the path longer by a folder with each click."""
    base = "/folders/" + sight.path.rstrip("/") + "/" * bool(sight.path)
    return Leaf(
        "Folder", [f"Index of {base}"], [(name, f"{base}{name}/") for name in ("images", "files", "old")]
    )


@section(TRAPS, "maze")
def maze(sight: Sight) -> Leaf:
    """Paths of very many words, each a click longer."""
    base = "/maze/" + sight.path.rstrip("/") + "/" * bool(sight.path)
    names = [word(number % WORDS) for number in numbers(f"{sight.seed} {sight.path}", 4)]
    return Leaf("Maze", ["Go on."], [("door", f"{base}{name}/") for name in names])


@section(TRAPS, "filter")
def filters(sight: Sight) -> Leaf:
    """A shop's filters in every combination and order, each with some of the same forty products."""
    query = {name: value for name, value in sight.query.items() if name in FILTERS}
    drawn = numbers(f"{sight.seed} {sorted(query.items())}", 12)
    shown = [f"{word(n % 40)} {word(n % 40 + 41)} {n % 40},50 EUR" for n in drawn]
    links = []
    for name, values in FILTERS.items():
        links += [(f"{name} {value}", f"/filter/?{urlencode({**query, name: value})}") for value in values]
    return Leaf("Shop", [f"{len(query)} filters: {' '.join(query.values())}", *shown], links)


FILTERS = {
    "colour": ("red", "green", "blue", "black"),
    "size": ("s", "m", "l", "xl"),
    "sort": ("price", "name", "age"),
    "stock": ("1",),
    "brand": ("acme", "umbrella", "initech"),
}


@section(TRAPS, "more")
def more(sight: Sight) -> Leaf | None:
    """A list with a next page for ever, whose last entries were on its third."""
    page = natural(sight.query.get("key", "k1").removeprefix("k"), 10**8)
    if page is None:
        return None
    said = (
        [prose(f"{sight.seed} {n}", 8) for n in range(page * 5, page * 5 + 5)]
        if page <= 3
        else ["Nothing found."]
    )
    return Leaf("More", said, [("next", f"/more/?key=k{page + 1}")])


@section(TRAPS, "login")
def login(sight: Sight) -> Leaf:
    """A login that remembers where one came from, which was a login."""
    here = "/login/?" + urlencode(sight.query)
    return Leaf(
        "Login",
        ["Name", "Password"],
        [
            ("register", "/login/?" + urlencode({"next": here[-150:], "n": len(here)})),
            ("help", "/login/?" + urlencode({"back": here[-150:]})),
        ],
    )


@section(TRAPS, "missing")
def missing(sight: Sight) -> Leaf:
    """Whatever number is asked for, the same page says that there is nothing, and offers others."""
    return _not_found(sight.path or "0", sight, "/missing/")


@section(TRAPS, "absent")
def absent(sight: Sight) -> Leaf:
    """The same with the number in the query."""
    return _not_found(sight.query.get("id", "0"), sight, "/absent/?id=")


def _not_found(asked: str, sight: Sight, to: str) -> Leaf:
    """Near the same each time: it says what was asked for, the time of day, and a number of the visit."""
    offered = [10_000_000 + n % 900_000_000 for n in numbers(f"{sight.seed} {asked}", 4)]
    second = sight.visit % 86_400
    return Leaf(
        "Sorry",
        [
            f"There is nothing under the number {asked}. It was moved, or it never was there.",
            "Go back to where you came from, write to us, or try one of these:",
            f"Request id: {_token(sight.seed, sight.visit)}, 10:{second // 60 % 60:02}:{second % 60:02}",
        ],
        [(f"number {n}", f"{to}{n}") for n in offered],
    )


@section(TRAPS, "noise")
def noise(sight: Sight) -> Leaf:
    """Twelve pages below a token that is new at each visit; of all words a tenth is another each time."""
    page = natural(sight.path.partition("/")[2], NOISY) or 1
    stream = iter(numbers(f"{sight.seed} noise {sight.visit}", 1000))

    def noisy(text: str) -> str:
        return " ".join(f"q{next(stream):07x}" if next(stream) % 10 == 0 else one for one in text.split())

    token = _token(sight.seed, sight.visit)
    links = [(noisy(prose(f"{sight.seed} title {n}", 3)), f"/noise/{token}/{n}") for n in range(1, NOISY + 1)]
    says = [noisy(prose(f"{sight.seed} {page} {n}", 12)) for n in range(4)]
    return Leaf(noisy(prose(f"{sight.seed} title {page}", 3)), [*map(noisy, TEMPLATE), *says], links)


@section(TRAPS, "printed")
def printed(sight: Sight) -> Leaf:
    """Nine pages under a visit that is new each time and printed in every link's text: in the query, or the path."""
    way, _, rest = sight.path.partition("/")
    page = natural(rest.rpartition("/")[2], 9) or 1
    token = _token(sight.seed, sight.visit)
    short = token[:8]
    links = [(f"page {n} of visit {token}", f"/printed/q/{n}?sid={token}") for n in range(1, 10)]
    links += [(f"page {n} of visit {short}", f"/printed/p/{short}/{n}") for n in range(1, 10)]
    return Leaf(f"Visit {token}", [f"You are {short}", prose(f"{sight.seed} {way} {page}", 30)], links)


NOISY = 12


def _month(year: int, month: int, by: int) -> tuple[int, int]:
    count = year * 12 + month - 1 + by
    return count // 12, count % 12 + 1


# -- the web -----------------------------------------------------------------------------------------------------


class Labyrinth:
    """A Site; see the top of this module. ``sections``: names, all where there are none."""

    def __init__(self, hosts: int = 1, *, suffix: str = "localhost", sections: tuple[str, ...] = ()) -> None:
        self.hosts = host_names(hosts, suffix)
        self.ports = Ports()
        every = {**REAL, **TRAPS}
        self._sections = {name: every[name] for name in sections or every}
        self._visits = 0

    @property
    def seeds(self) -> list[str]:
        """The roots of all hosts."""
        return [f"http://{name}:{self.ports.http}/" for name in self.hosts]

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        self.ports = ports

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt or a page; 404 for what is not on the map."""
        if request.path == "/robots.txt":
            return http_answer(200, ALLOW_ALL, mime="text/plain")
        leaf = self.leaf(request.host, request.path)
        if leaf is None:
            return http_answer(404, b"<title>Not found</title>\n")
        return http_answer(200, self._html(leaf))

    def leaf(self, host: str, path: str) -> Leaf | None:
        """What there is at a path with query."""
        self._visits += 1
        name, _, rest = path[1:].partition("/")
        if path == "/":
            return Leaf("Home", [], [(name, f"/{name}/") for name in self._sections])
        found = self._sections.get(name)
        if found is None:
            return None
        below, _, query = rest.partition("?")
        return found(
            Sight(below, dict(parse_qsl(query, keep_blank_values=True)), f"{host} {name}", self._visits)
        )

    def _html(self, leaf: Leaf) -> bytes:
        parts = [
            "<!DOCTYPE html>\n"
            f"<title>{html.escape(leaf.title)} - A site</title>\n<h1>{html.escape(leaf.title)}</h1>\n<ul>\n"
        ]
        parts += [f'<li><a href="/{name}/">{name}</a></li>\n' for name in self._sections]
        parts.append("</ul>\n")
        parts += [f"<p>{html.escape(text)}</p>\n" for text in leaf.says]
        parts += [f'<img src="{image}">\n' for image in leaf.images]
        parts += [f'<a href="{html.escape(to)}">{html.escape(text)}</a>\n' for text, to in leaf.links]
        parts.append("<footer>A site of 2024, made in 0.0123 s</footer>\n")
        return "".join(parts).encode()

    def truth(self) -> set[str]:
        """The URLs of all real pages, found by following every link of the real sections."""
        found: set[str] = set()
        for host, root in zip(self.hosts, self.seeds, strict=True):
            paths = ["/", *(f"/{name}/" for name in self._sections if name in REAL)]
            known = set(paths)
            while paths:
                path = paths.pop()
                leaf = self.leaf(host, path)
                if leaf is None:
                    continue
                found.add(root[:-1] + path)
                new = {to for _, to in leaf.links if not is_trap(to) and to not in known}
                known |= new
                paths += sorted(new)
        return found


def is_trap(path: str) -> bool:
    """Whether a path, or a URL, lies in a trap: behind its entrance."""
    path = path.partition("://")[2].partition("/")[2] if "://" in path else path[1:]
    name, _, rest = path.partition("/")
    return name in TRAPS and bool(rest)


__all__ = ["REAL", "TRAPS", "Labyrinth", "Leaf", "is_trap"]
