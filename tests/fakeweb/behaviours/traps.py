"""Pages whose links never come to an end. All their URLs begin with ``/x/trap-``."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour
from tests.fakeweb.names import numbers

TRAPS: Registry = {}
_PAGE = Outcome(size=None)


def _trap(stage: Stage, title: str, links: list[str]) -> Answer:
    anchors = "".join(f'<li><a href="{link}">{title} {place}</a></li>\n' for place, link in enumerate(links))
    page = f"<!DOCTYPE html>\n<title>{title}</title>\n<ul>\n{anchors}</ul>\n<a href='/'>Home</a>\n"
    return http_answer(200, page.replace("&", "&amp;").encode())


@behaviour(TRAPS, "trap-path", _PAGE)
def growing_path(stage: Stage) -> Answer:
    """Relative links that make the path longer by a folder with each click."""
    path = urlsplit(stage.url).path
    if not path.startswith("/x/trap-path/"):
        return _trap(stage, "Folders", ["/x/trap-path/images/", "/x/trap-path/files/"])
    return _trap(stage, "Folders", ["images/", "files/", "images/files/"])


@behaviour(TRAPS, "trap-calendar", _PAGE)
def calendar(stage: Stage) -> Answer:
    """A calendar with a link to the next month, the one before, and each of the days."""
    month = int(stage.number("month", 24300))
    day = f"/x/trap-calendar?month={month}&day="
    around = [f"/x/trap-calendar?month={month + 1}", f"/x/trap-calendar?month={month - 1}"]
    return _trap(stage, f"{month // 12}-{month % 12 + 1:02d}", around + [f"{day}{n}" for n in range(1, 29)])


@behaviour(TRAPS, "trap-session", _PAGE)
def session(stage: Stage) -> Answer:
    """Ten pages under a session id that is new at each visit."""
    fresh = numbers(f"{stage.url} {stage.visit}", 4)
    links = [f"/x/trap-session/{page}?sid={fresh[page % 4]:08x}" for page in range(10)]
    return _trap(stage, "Session", links)


@behaviour(TRAPS, "trap-query", _PAGE)
def facets(stage: Stage) -> Answer:
    """A shop's filters: each link adds one more, in every order."""
    path, _, query = stage.url.removeprefix(stage.origin).partition("?")
    base = "/x/trap-query?" + (query + "&" if query and path.startswith("/x/trap-query") else "")
    return _trap(
        stage, "Filter", [f"{base}{name}={value}" for name in ("size", "colour") for value in (1, 2)]
    )


def is_trap(url: str) -> bool:
    """Return whether a URL lies inside a trap."""
    return "/x/trap-" in url
