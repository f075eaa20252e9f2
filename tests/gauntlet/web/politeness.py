"""Hosts that ask for patience, each in its own way. Each has few pages, and all are worth a request."""

from __future__ import annotations

from email.utils import formatdate
from time import time
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Pause, http_answer, redirect
from tests.gauntlet.web.site import Host, Respond, Site, page, pages, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

CRAWL_DELAY_SECONDS = 1.0
RETRY_AFTER_SECONDS = 2
SLOW_SECONDS = 0.6
ALLOW = "User-agent: *\nDisallow: /private/\n"


def build(number: int) -> Site:
    """Return the site."""
    site = Site("politeness", number)
    listed = [f"/p{n}" for n in range(10)]
    plain = {"/": page("plain", listed), **{path: page(f"plain {path}") for path in listed}}
    site.add(Host("plain", pages(plain), text(ALLOW), wanted=frozenset(plain)))
    few = [f"/p{n}" for n in range(4)]
    delayed = {"/": page("delayed", few), **{path: page(f"delayed {path}") for path in few}}
    asked = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY_SECONDS:g}\nDisallow: /private/\n"
    site.add(Host("crawl-delay", pages(delayed), text(asked), wanted=frozenset(delayed)))
    site.add(Host("slow", _slow(few), text(ALLOW), wanted=frozenset({"/", *few})))
    site.add(
        Host(
            "mixed", _mixed, text(ALLOW), wanted=frozenset({"/", "/missing", "/moved", "/goal", "/p0", "/p1"})
        )
    )
    for name, status, as_date in (("too-many", 429, False), ("unavailable", 503, True)):
        site.add(
            Host(name, _busy(status, as_date), text(ALLOW), wanted=frozenset({"/", "/busy", "/p0", "/p1"}))
        )
    return site


def _slow(paths: list[str]) -> Respond:
    """Answer late, so that a delay counted from the start of a request shows."""
    contents = {"/": page("slow", paths), **{path: page(f"slow {path}") for path in paths}}

    def respond(request: Request, visit: int) -> Answer | None:
        body = contents.get(request.path)
        if body is None:
            return None
        return Answer(200, steps=iter([Pause(SLOW_SECONDS), http_answer(200, body).wire]))

    return respond


def _mixed(request: Request, visit: int) -> Answer | None:
    """Redirects and errors among pages: each counts as a request."""
    match request.path:
        case "/":
            return http_answer(200, page("mixed", ["/missing", "/moved", "/p0", "/gone", "/p1"]))
        case "/moved":
            return redirect(301, "/goal")
        case "/goal" | "/p0" | "/p1":
            return http_answer(200, page(f"mixed {request.path}"))
    return None


def _busy(status: int, as_date: bool) -> Respond:
    """Refuse one page at its first visit, and say for how long."""

    def respond(request: Request, visit: int) -> Answer | None:
        if request.path == "/":
            return http_answer(200, page("busy", ["/busy", "/p0", "/p1"]))
        if request.path == "/busy" and visit == 1:
            # A date has whole seconds: one more, so that it is not nearer than stated.
            when = (
                formatdate(time() + RETRY_AFTER_SECONDS + 1, usegmt=True)
                if as_date
                else str(RETRY_AFTER_SECONDS)
            )
            return http_answer(status, b"Later.\n", [("Retry-After", when)], "text/plain")
        if request.path in ("/busy", "/p0", "/p1"):
            return http_answer(200, page(f"busy {request.path}"))
        return None

    return respond
