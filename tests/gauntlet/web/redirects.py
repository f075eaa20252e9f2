"""Redirects: chains, loops, and those that lead where a crawler must not go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer, redirect
from tests.gauntlet.web.site import Host, Respond, Site, page, pages, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

CHAINS = range(2, 7)
ALLOW = "User-agent: *\nDisallow: /private/\n"


def build(number: int) -> Site:
    """Return the site."""
    site = Site("redirects", number)
    wanted = {"/", "/chain/2/0", "/chain/3/0", "/relative/goal", "/from-307", "/after"}
    site.add(Host("start", _start(site), text(ALLOW), wanted=frozenset(wanted), forbidden=("/private/",)))
    site.add(
        Host(
            "goal",
            pages({"/": page("goal home"), "/landed": page("landed")}),
            text(ALLOW),
            seeds=(),
            wanted=frozenset({"/landed"}),
            forbidden=("/private/",),
        )
    )
    site.add(
        Host(
            "closed",
            pages({"/landed": page("closed")}),
            text("User-agent: *\nDisallow: /\n"),
            seeds=(),
            forbidden=("/",),
        )
    )
    site.add(Host("excluded", pages({"/landed": page("excluded")}), text(ALLOW), seeds=(), forbidden=("/",)))
    site.excluded = ("excluded",)
    return site


def _start(site: Site) -> Respond:
    def respond(request: Request, visit: int) -> Answer | None:
        path = request.path
        if path == "/":
            links = [f"/chain/{n}/{n}" for n in CHAINS] + [
                "/loop/a",
                "/self",
                "/grow?n=1",
                "/relative/from",
                "/to-private",
            ]
            links += [
                "/to-goal",
                "/to-closed",
                "/to-excluded",
                "/to-goal-private",
                "/nowhere",
                "/bad",
                "/307",
                "/after",
            ]
            return http_answer(200, page("redirects", links))
        if path.startswith("/chain/"):
            _, _, length, left = path.split("/")
            return (
                http_answer(200, page(path))
                if left == "0"
                else redirect(301, f"/chain/{length}/{int(left) - 1}")
            )
        if path.startswith("/grow?n="):
            return redirect(302, f"/grow?n={int(path[8:]) + 1}")
        targets = {
            "/loop/a": "/loop/b",
            "/loop/b": "/loop/a",
            "/self": "/self",
            "/relative/from": "goal#part",
            "/to-private": "/private/1",
            "/to-goal": site.url("goal", "/landed"),
            "/to-closed": site.url("closed", "/landed"),
            "/to-excluded": site.url("excluded", "/landed"),
            "/to-goal-private": site.url("goal", "/private/1"),
            "/nowhere": "",
            "/bad": "http://[::bad/",
        }
        if path in targets:
            return redirect(302, targets[path])
        if path == "/307":
            return redirect(307, "/from-307")
        if path in ("/relative/goal", "/from-307", "/after", "/private/1"):
            return http_answer(200, page(path))
        return None

    return respond
