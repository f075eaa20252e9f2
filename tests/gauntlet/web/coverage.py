"""An ordinary site on three hosts whose every page is known: what a complete crawl requests, once each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer
from tests.gauntlet.web.site import Host, Respond, Site, page, pages, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

ROBOTS = "User-agent: *\nDisallow: /private/\n"
ARTICLES = 24


def build(number: int) -> Site:
    """Return the site."""
    site = Site("coverage", number)
    site.add(Host("front", _front(site), text(ROBOTS), wanted=_front_wanted(), forbidden=("/private/",)))
    for name in ("second", "third"):
        contents = {"/": page(f"{name} home", [f"/p{n}" for n in range(8)])}
        contents |= {f"/p{n}": page(f"{name} page {n}", [f"/p{(n + 1) % 8}", "/"]) for n in range(8)}
        # Only the links of the front host lead here.
        site.add(Host(name, pages(contents), text(ROBOTS), seeds=(), wanted=frozenset(contents)))
    return site


def _front_wanted() -> frozenset[str]:
    articles = {f"/articles/{n}.html" for n in range(ARTICLES)}
    return frozenset(
        {"/", "/articles/", "/map", "/base/", "/base/in/relative", "/late", "/upper", *articles, *ODD}
    )


ODD = frozenset(
    {"/a%20b", "/q?x=1&y=2", "/deep/down/page", "/area", "/unquoted", "/single", "/entity?a=1&b=2"}
)
_FORMS = b"""<!DOCTYPE html><title>Links in all forms</title><p>Each of these is a link of its own form.</p>
<a href="/a b">blank</a> <a href="/q?x=1&amp;y=2#part">query and fragment</a> <a href=/unquoted>unquoted</a>
<a href='/single'>single</a> <a href="/deep/./wrong/../down/page">dots</a> <A HREF="/upper">upper case</A>
<a href="/entity?a=1&#38;b=2">entity</a> <a href="  /late
">white space</a> <map><area href="/area"></map>
<a href="mailto:someone@example.org">mail</a> <a href="javascript:void(0)">script</a> <a name="x">anchor</a>
<!-- <a href="/commented-out">no link</a> --> <a href="#top">top</a>
<a href="">self</a> <a href="/private/x">private</a>
"""
_BASE = b"""<!DOCTYPE html><head><base href="/base/in/"><title>Base</title></head><p>A page with a base.</p>
<a href="relative">relative to the base</a>"""


def _front(site: Site) -> Respond:
    articles = [f"/articles/{n}.html" for n in range(ARTICLES)]
    contents = {
        "/articles/": page("Articles", articles),
        "/map": _FORMS,
        "/base/": _BASE,
        "/base/in/relative": page("Relative"),
        **{path: page(f"Odd {path}") for path in ODD | {"/late", "/upper"}},
        **{path: page(path, [articles[(n * 5 + 1) % ARTICLES], "../map"]) for n, path in enumerate(articles)},
    }

    def home(request: Request, visit: int) -> Answer | None:
        if request.path != "/":
            return None
        away = [site.url("second"), site.url("third")]
        return http_answer(200, page("Front", ["articles/", "/map", "/base/", *away]))

    return pages(contents, home)
