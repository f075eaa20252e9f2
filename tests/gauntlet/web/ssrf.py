"""Links, redirects, robots.txt and sitemaps that lead into the machine's own network.

The web is on loopback itself: seeds, and the web's network, are allowed. Everything else on loopback is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer, redirect
from tests.gauntlet.web.site import Host, Respond, Site, Wire, page, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

OUTSIDE = "127.78.0.1"
SERVICES = (22, 25, 110, 6379, 11211)
"""Ports of other services, on the seed's own address."""
ALLOW = "User-agent: *\nDisallow: /private/\n"
NAMED, REBOUND = "inside.gauntlet.test", "seed.gauntlet.test"


def build(number: int) -> Site:
    """Return the site."""
    site = Site("ssrf", number)
    site.add(Host("links", _links(site), text(ALLOW), wanted=frozenset({"/", "/after"})))
    site.add(
        Host("robots", _plain("robots"), lambda request, visit: redirect(301, outside(site, "/robots.txt")))
    )
    site.add(Host("sitemap", _plain("sitemap"), _sitemap(site), wanted=frozenset({"/", "/after"})))
    own = site.address("links")
    site.wires = [Wire("outside", OUTSIDE), Wire("loopback", "127.0.0.1"), Wire("loopback6", "::1")]
    site.wires += [Wire(f"port-{port}", own, port) for port in SERVICES]
    site.names = {NAMED: OUTSIDE}
    return site


def outside(site: Site, path: str) -> str:
    """Return a URL of a machine that is no part of the web."""
    return f"http://{OUTSIDE}:{site.wires[0].bound}{path}"


def inward(site: Site) -> dict[str, str]:
    """Return what must not be contacted, by the way in which it is written."""
    wires = {wire.name: wire.bound for wire in site.wires}
    port, port6 = wires["loopback"], wires["loopback6"]
    urls = {
        "address": outside(site, "/address"),
        "name": f"http://{NAMED}:{wires['outside']}/name",
        "localhost": f"http://localhost:{port}/localhost",
        "below localhost": f"http://internal.localhost:{port}/below-localhost",
        "127.0.0.1": f"http://127.0.0.1:{port}/dotted",
        "decimal": f"http://2130706433:{port}/decimal",
        "hex": f"http://0x7f000001:{port}/hex",
        "short": f"http://127.1:{port}/short",
        "octal": f"http://0177.0.0.1:{port}/octal",
        "zero": f"http://0.0.0.0:{port}/zero",
        "mapped": f"http://[::ffff:127.0.0.1]:{port}/mapped",
        "full width": f"http://\uff11\uff12\uff17.0.0.1:{port}/full-width",
        "user": f"http://{site.address('links')}@127.0.0.1:{port}/user",
    }
    if port6 is not None:
        urls["IPv6"] = f"http://[::1]:{port6}/ipv6"
    return urls


def _links(site: Site) -> Respond:
    def respond(request: Request, visit: int) -> Answer | None:
        urls = list(inward(site).values())
        if request.path == "/":
            moved = [f"/moved/{n}" for n in range(len(urls))]
            ports = [f"http://{site.address('links')}:{port}/service" for port in SERVICES]
            return http_answer(200, page("inward", [*urls, *moved, *ports, "/after"]))
        if request.path.startswith("/moved/"):
            return redirect(302, urls[int(request.path[7:])] + "-moved")
        return http_answer(200, page(request.path)) if request.path == "/after" else None

    return respond


def _plain(name: str) -> Respond:
    def respond(request: Request, visit: int) -> Answer | None:
        if request.path == "/":
            return http_answer(200, page(name, ["/after"]))
        return http_answer(200, page(f"{name} after")) if request.path == "/after" else None

    return respond


def _sitemap(site: Site) -> Respond:
    return lambda request, visit: http_answer(
        200, f"{ALLOW}\nSitemap: {outside(site, '/sitemap.xml')}\n".encode(), mime="text/plain"
    )
