"""A host for each state that a robots.txt can be in. Each has pages below /open/ and /private/."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Cut, http_answer
from tests.fakeweb.robots import ALLOW_ALL, KEEP_PRIVATE, ROBOTS
from tests.gauntlet.web.site import Host, Respond, Site, page, pages, played, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request
    from tests.fakeweb.config import Option

PRIVATE = frozenset({"/private/", "/private/1"})
OPEN = frozenset({"/", "/open/1", "/open/2"})


@dataclass(frozen=True, slots=True)
class State:
    """A state: the fake web's robots.txt that shows it, and what it allows."""

    name: str
    promise: str
    part: str
    allows: str
    """``all``, ``open`` (but not what is below /private/), or ``nothing``."""
    options: dict[str, Option] = field(default_factory=dict)


ALL, SOME, NOTHING = "all", "open", "nothing"
STATES = (
    State("rules", "Rules with status 200 are obeyed.", "robots-private", SOME),
    State(
        "forbid",
        "A site that forbids everything gets no request but that for robots.txt.",
        "robots-forbid",
        NOTHING,
    ),
    State("missing", "Without a robots.txt (404) everything is allowed.", "robots-missing", ALL),
    State(
        "forbidden",
        "With 403 for robots.txt everything is allowed (RFC 9309, section 2.3.1.3).",
        "robots-missing",
        ALL,
        {"status": 403},
    ),
    State("empty", "An empty robots.txt allows everything.", "robots-empty", ALL),
    State("error", "With 500 for robots.txt no page is requested.", "robots-error", NOTHING),
    State(
        "unavailable",
        "With 503 for robots.txt no page is requested.",
        "robots-error",
        NOTHING,
        {"status": 503},
    ),
    State("silent", "Without an answer to robots.txt no page is requested.", "robots-silent", NOTHING),
    State(
        "reset", "If the connection is reset for robots.txt, no page is requested.", "robots-reset", NOTHING
    ),
    State(
        "cut", "If robots.txt breaks off, what was lost is not taken for permission.", "robots-cut", NOTHING
    ),
    State("redirects-1", "A redirect of robots.txt is followed.", "robots-redirect", SOME, {"hops": 1}),
    State("redirects-5", "Five redirects of robots.txt are followed.", "robots-redirect", SOME, {"hops": 5}),
    State(
        "redirects-6",
        "Behind six redirects of robots.txt no private page is requested (RFC 9309 allows either).",
        "robots-redirect",
        "not private",
        {"hops": 6},
    ),
    State(
        "loop",
        "With a robots.txt that redirects to itself no private page is requested (RFC 9309 allows either).",
        "robots-loop",
        "not private",
    ),
    State("huge", "A rule behind 490 KiB of a robots.txt of 600 KiB is obeyed.", "robots-huge", SOME),
    State("endless", "A robots.txt without end is obeyed as far as it was read.", "robots-endless", SOME),
    State("bom", "A byte order mark hides no rule.", "robots-bom", SOME),
    State("utf16", "Rules in UTF-16 are obeyed.", "robots-utf16", SOME),
    State("html", "An HTML page in place of robots.txt forbids nothing.", "robots-html", ALL),
    State("bare-cr", "Lines that end in a bare CR are lines.", "robots-cr", SOME),
    State("nul", "NUL bytes hide no rule.", "robots-nul", SOME),
    State("gzip", "A compressed robots.txt is read.", "robots-gzip", SOME),
    State("mime", "Rules are obeyed whatever Content-Type they have.", "robots-mime", SOME),
    State("wildcard", "* and $ are obeyed, and the longer rule decides.", "robots-wildcard", "wildcard"),
)


def build(number: int) -> Site:
    """Return the site."""
    site = Site("robots", number)
    for state in STATES:
        if state.allows == "wildcard":
            site.add(_wildcard(site, state))
            continue
        contents = {"/": page(f"{state.name} home", ["/private/", "/open/1", "/open/2", "/private/1"])}
        contents |= {path: page(f"{state.name} {path}") for path in OPEN | PRIVATE if path != "/"}
        wanted = {ALL: OPEN | PRIVATE, SOME: OPEN}.get(state.allows, frozenset())
        never = {ALL: (), SOME: ("/private/",), "not private": ("/private/",)}.get(state.allows, ("/",))
        robots = _robots(site, state)
        rest = played(ROBOTS["robots-redirect"], site, state.name, options=state.options)
        site.add(
            Host(
                state.name,
                _with_hops(pages(contents), state, site, rest),
                robots,
                wanted=wanted,
                forbidden=never,
            )
        )
    return site


def _robots(site: Site, state: State) -> Respond:
    if state.name == "cut":
        # It would allow everything: the rule that forbids comes after the cut.
        return lambda request, visit: Answer(
            200,
            http_answer(200, ALLOW_ALL + b"# " + b"x" * 5000, mime="text/plain").wire[:-2000],
            iter([Cut.RESET]),
        )
    if state.name == "huge":
        return text(_huge())
    body = page("A front page", ["/private/"]) if state.name == "html" else KEEP_PRIVATE
    return played(ROBOTS[state.part], site, state.name, body, options=state.options)


def _huge() -> bytes:
    """Return 600 KiB with one rule that matters near the end of what a crawler must read (RFC 9309, section 2.5)."""
    line = b"Disallow: /filler/of/a/long/file\n"
    before, after = 490 * 1024 // len(line), 110 * 1024 // len(line)
    return b"User-agent: *\n" + line * before + b"Disallow: /private/\n" + line * after


def _with_hops(respond: Respond, state: State, site: Site, rest: Respond) -> Respond:
    """The places to which a robots.txt is redirected: /x/robots-redirect?hops=N."""

    def either(request: Request, visit: int) -> Answer | None:
        if request.path.startswith("/x/robots-redirect?hops="):
            left = int(request.path.partition("hops=")[2].partition("&")[0])
            return played(ROBOTS["robots-redirect"], site, state.name, options={"hops": left})(request, visit)
        return respond(request, visit)

    return either


def _wildcard(site: Site, state: State) -> Host:
    allowed = {"/", "/page", "/news/a.html", "/x.htmlx"}
    banned = {"/a.html", "/list?view=2"}
    contents = {path: page(f"wildcard {path}") for path in allowed | banned}
    contents["/"] = page("wildcard", sorted((allowed | banned) - {"/"}))
    return Host(
        state.name,
        pages(contents),
        played(ROBOTS[state.part], site, state.name),
        wanted=frozenset(allowed),
        forbidden=tuple(banned),
    )
