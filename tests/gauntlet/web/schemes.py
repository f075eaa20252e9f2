"""Links and redirects to schemes that a crawl of the web does not fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer, redirect
from tests.gauntlet.web.site import Host, Respond, Site, Wire, page, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

FTP, PIPE = "ftp", "pipe"
CANARY = "canary.html"
TOKEN = "token-of-the-canary-7f3a9"
"""What the file says that a ``file:`` link names: it must be in no file of the crawl."""


def build(number: int) -> Site:
    """Return the site."""
    site = Site("schemes", number)
    site.wires = [Wire(FTP, f"127.77.{number}.1"), Wire(PIPE, "")]
    site.add(
        Host(
            "links",
            _links(site),
            text("User-agent: *\nDisallow:\n"),
            wanted=frozenset({"/", "/after", "/same-scheme"}),
        )
    )
    return site


def targets(site: Site) -> list[str]:
    """Return the URLs that must not be fetched."""
    here, ftp = site.folder.resolve(), site.wires[0]
    return [
        f"file://{here}/{CANARY}",
        f"file://localhost{here}/{CANARY}",
        f"file:{here}/{PIPE}",
        f"ftp://{ftp.address}:{ftp.bound}/file.html",
        f"FTP://{ftp.address}:{ftp.bound}/other.html",
        f"sftp://{ftp.address}:{ftp.bound}/x",
        f"gopher://{ftp.address}:{ftp.bound}/1",
        f"ws://{ftp.address}:{ftp.bound}/x",
        f"view-source:http://{ftp.address}:{ftp.bound}/x",
        "data:text/html,<a href='/from-data'>x</a>",
        "about:blank",
    ]


def _links(site: Site) -> Respond:
    def respond(request: Request, visit: int) -> Answer | None:
        urls = targets(site)
        if request.path == "/":
            moved = [f"/moved/{n}" for n in range(len(urls))]
            same = f"//{site.address('links')}:{site.ports.http}/same-scheme"
            return http_answer(200, page("schemes", [*urls, *moved, same, "/after"]))
        if request.path.startswith("/moved/"):
            return redirect(302, urls[int(request.path[7:])])
        return http_answer(200, page(request.path)) if request.path in ("/after", "/same-scheme") else None

    return respond
