"""The robots.txt of each host, in every state and shape, and what it forbids; the default: nothing."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.fakeweb.answer import Answer, Cut, Pause, Step, head, http_answer, redirect
from tests.fakeweb.behaviours.stage import Stage
from tests.fakeweb.config import Option

ALLOW_ALL = b"User-agent: *\nDisallow:\n"
KEEP_PRIVATE = b"User-agent: *\nDisallow: /private/\n"
MOST_HOPS = 5
"""Redirects that are followed to a robots.txt (RFC 9309, section 2.3.1.2), and no more than these."""
LIMIT_BYTES = 500 * 1024
"""What a crawler parses at least (RFC 9309, section 2.5); ours parses no more."""

_SETTLE = Pause(0.02)
"""Time for what was sent to be read before a reset would overtake it."""

Forbids = Callable[[str, Mapping[str, Option]], bool]
Play = Callable[[Stage], Answer]


@dataclass(frozen=True, slots=True)
class Robots:
    """One kind of robots.txt: what is sent, and the paths (with query) that it keeps every crawler from.

    Where no answer comes, or none that counts, everything is forbidden: doubt means no.
    """

    name: str
    about: str
    play: Play
    forbids: Forbids
    """Given a path with its query and the placement's options."""


ROBOTS: dict[str, Robots] = {}


def nothing(path: str, options: Mapping[str, Option]) -> bool:
    """Forbid no path."""
    return False


def everything(path: str, options: Mapping[str, Option]) -> bool:
    """Forbid every path."""
    return True


def private(path: str, options: Mapping[str, Option]) -> bool:
    """Forbid what is below /private/."""
    return path.startswith("/private/")


def robots(name: str, forbids: Forbids) -> Callable[[Play], Play]:
    """Enter the decorated function as the robots.txt called ``name``."""

    def enter(play: Play) -> Play:
        ROBOTS[name] = Robots(name, (play.__doc__ or "").strip().partition("\n")[0], play, forbids)
        return play

    return enter


def _text(body: bytes, mime: str | None = "text/plain") -> Answer:
    return http_answer(200, body, mime=mime)


@robots("robots-allow", nothing)
def allow(stage: Stage) -> Answer:
    """Everything is allowed: what hosts have unless told otherwise."""
    return _text(ALLOW_ALL)


@robots("robots-missing", nothing)
def missing(stage: Stage) -> Answer:
    """A ``status`` (404) of the 4xx class: everything is allowed."""
    return http_answer(int(stage.number("status", 404)), b"Not found.\n", mime="text/plain")


@robots("robots-empty", nothing)
def empty(stage: Stage) -> Answer:
    """Not a single byte: everything is allowed."""
    return _text(b"")


@robots("robots-forbid", everything)
def forbid(stage: Stage) -> Answer:
    """Everything is forbidden."""
    return _text(b"User-agent: *\nDisallow: /\n")


@robots("robots-private", private)
def keep_private(stage: Stage) -> Answer:
    """/private/ is forbidden."""
    return _text(KEEP_PRIVATE)


@robots("robots-delay", private)
def delay(stage: Stage) -> Answer:
    """Crawl-delay of ``seconds`` (1); /private/ is forbidden."""
    text = f"User-agent: *\nCrawl-delay: {stage.text('seconds', '1')}\nDisallow: /private/\n"
    return _text(text.encode())


@robots("robots-challenge", lambda path, options: True)
def challenge(stage: Stage) -> Answer:
    """A challenge in its place, with status 403: nobody knows what it says."""
    return http_answer(403, b"<p>A check.</p>", [("CF-Mitigated", "challenge")])


@robots("robots-delay-splits", private)
def delay_splits(stage: Stage) -> Answer:
    """A Crawl-delay between two User-agent lines, which must not split their group."""
    return _text(b"User-agent: somebody\nCrawl-delay: 1\nUser-agent: *\nDisallow: /private/\n")


@robots("robots-agent", lambda path, options: path.startswith("/private/"))
def for_an_agent(stage: Stage) -> Answer:
    """Forbids all to everyone, /private/ alone to the product token ``agent`` (webcrawl)."""
    agent = stage.text("agent", "webcrawl")
    return _text(f"User-agent: *\nDisallow: /\n\nUser-agent: {agent}\nDisallow: /private/\n".encode())


_WILD = re.compile(r"(/[^?]*\.html$)|(/.*\?view=)")


@robots("robots-wildcard", lambda path, options: bool(_WILD.match(path)) and not path.startswith("/news/"))
def wildcard(stage: Stage) -> Answer:
    """Rules with * and $: no ``.html`` and no ``?view=``, but all below /news/, whose rule is longer."""
    return _text(b"User-agent: *\nDisallow: /*.html$\nDisallow: /*?view=\nAllow: /news/***********\n")


@robots("robots-sitemap", private)
def sitemap(stage: Stage) -> Answer:
    """Names the ``sitemaps`` (/x/sitemap), which are parted by ``|``; /private/ is forbidden."""
    named = stage.text("sitemaps", "/x/sitemap").split("|")
    lines = [f"Sitemap: {path if '//' in path else stage.origin + path}\n" for path in named]
    return _text(KEEP_PRIVATE + "".join(lines).encode())


@robots("robots-status", private)
def with_status(stage: Stage) -> Answer:
    """/private/ is forbidden, with a ``status`` (200) of the 2xx class."""
    return http_answer(int(stage.number("status", 200)), KEEP_PRIVATE, mime="text/plain")


@robots("robots-error", everything)
def server_error(stage: Stage) -> Answer:
    """A ``status`` (500) by which nothing may be fetched, perhaps with ``retry_after``."""
    after = stage.text("retry_after", "")
    headers = [("Retry-After", after)] if after else []
    return http_answer(int(stage.number("status", 500)), b"Oops.\n", headers, "text/plain")


@robots("robots-usage", private)
def about_use(stage: Stage) -> Answer:
    """/private/ is forbidden, and ``lines`` follow, parted by ``|``, or ``later`` after ``times`` visits."""
    later = stage.visit > stage.number("times", 1e9)
    lines = stage.text("later" if later else "lines", "").replace("|", "\n")
    return _text(KEEP_PRIVATE + f"{lines}\n".encode())


@robots("robots-lost", private)
def lost(stage: Stage) -> Answer:
    """/private/ is forbidden; after ``times`` (1) nothing but ``status`` (500), ``pause`` seconds (0) late.

    ``across=yes``: all that behind a redirect to another host.
    """
    if stage.text("across", "no") == "yes":
        options = "&".join(f"{name}={value}" for name, value in stage.options.items() if name != "across")
        return redirect(301, f"{stage.elsewhere}/x/robots-lost?{options}")
    if stage.visit <= stage.number("times", 1):
        return _text(KEEP_PRIVATE)
    status = int(stage.number("status", 500))
    wire = http_answer(status, b"Oops.\n", mime="text/plain").wire
    return Answer(status, steps=iter([Pause(stage.number("pause", 0)), wire]))


@robots("robots-slow", private)
def slow(stage: Stage) -> Answer:
    """/private/ is forbidden, said ``seconds`` (1) late."""
    return Answer(200, steps=iter([Pause(stage.number("seconds", 1)), _text(KEEP_PRIVATE).wire]))


@robots("robots-versions", private)
def versions(stage: Stage) -> Answer:
    """/private/ is forbidden, in a text that tells which one it is and is another one each time."""
    return _text(KEEP_PRIVATE + f"# version {stage.visit}\n".encode())


@robots("robots-cut", everything)
def cut(stage: Stage) -> Answer:
    """All is allowed as far as it comes, but it ends early: ``where`` is start, head, body, length, gzip, late."""
    whole = http_answer(200, ALLOW_ALL * 100, mime="text/plain").wire
    text = [("Content-Type", "text/plain")]
    packed = gzip.compress(ALLOW_ALL * 100)[:-12]
    match stage.text("where", "body"):
        case "start":
            return Answer(None, close=True)
        case "head":
            return Answer(200, whole[:30], iter([_SETTLE, Cut.RESET]))
        case "length":
            return Answer(200, head(200, [*text, ("Content-Length", "9999")]) + ALLOW_ALL, close=True)
        case "gzip":
            return http_answer(200, packed, [("Content-Encoding", "gzip")], "text/plain")
        case "late":
            return Answer(200, whole[:-50], iter([Pause(86400.0)]))
        case _:
            return Answer(200, whole[:-50], iter([_SETTLE, Cut.RESET]))


@robots("robots-flaky", private)
def flaky(stage: Stage) -> Answer:
    """503 for the first ``times`` (1), then /private/ is forbidden."""
    if stage.visit <= stage.number("times", 1):
        return http_answer(503, b"Later.\n", mime="text/plain")
    return _text(KEEP_PRIVATE)


@robots("robots-silent", everything)
def silent(stage: Stage) -> Answer:
    """The request is taken and never answered."""
    return Answer(None, steps=iter([Pause(86400.0)]))


@robots("robots-reset", everything)
def reset(stage: Stage) -> Answer:
    """The connection is reset."""
    return Answer(None, steps=iter([Cut.RESET]))


@robots("robots-garbage", everything)
def garbage(stage: Stage) -> Answer:
    """Bytes that are no HTTP."""
    return Answer(None, bytes(range(256)), close=True)


def _too_far(path: str, options: Mapping[str, Option]) -> bool:
    return float(options.get("hops", 1)) > MOST_HOPS or private(path, options)


@robots("robots-redirect", _too_far)
def redirected(stage: Stage) -> Answer:
    """``hops`` redirects (1) with ``status`` (301) to one that forbids /private/.

    ``across=yes``: each on another host; ``across=scheme``: from one scheme to the other.
    """
    left = int(stage.number("hops", 1))
    if left == 0:
        return _text(KEEP_PRIVATE)
    across = stage.text("across", "no")
    origin = {"yes": stage.elsewhere, "scheme": stage.other_scheme}.get(across, stage.origin)
    status = int(stage.number("status", 301))
    return redirect(status, f"{origin}/x/robots-redirect?hops={left - 1}&across={across}&status={status}")


@robots("robots-away", everything)
def away(stage: Stage) -> Answer:
    """A redirect to a place that is never to be asked, ``to``."""
    return redirect(301, stage.text("to", "http://"))


@robots("robots-loop", everything)
def loop(stage: Stage) -> Answer:
    """A redirect to itself."""
    return redirect(302, "/robots.txt")


@robots("robots-html", nothing)
def as_html(stage: Stage) -> Answer:
    """An HTML page where a robots.txt should be, as sites do that answer everything with their front page."""
    return http_answer(200, stage.body, mime="text/html")


@robots("robots-mime", private)
def wrong_mime(stage: Stage) -> Answer:
    """A good one that claims to be ``type`` (application/octet-stream)."""
    return _text(KEEP_PRIVATE, stage.text("type", "application/octet-stream"))


@robots("robots-bom", private)
def with_bom(stage: Stage) -> Answer:
    """UTF-8 with a byte order mark before the first line."""
    return _text(b"\xef\xbb\xbf" + KEEP_PRIVATE)


@robots("robots-utf16", private)
def in_utf16(stage: Stage) -> Answer:
    """UTF-16, its ``order`` le (or be), with a byte order ``mark`` (or no)."""
    mark = "\ufeff" if stage.text("mark", "yes") == "yes" else ""
    return _text((mark + KEEP_PRIVATE.decode()).encode(f"utf-16-{stage.text('order', 'le')}"))


@robots("robots-gzip", private)
def in_gzip(stage: Stage) -> Answer:
    """Packed, as its Content-Encoding says."""
    return http_answer(200, gzip.compress(KEEP_PRIVATE), [("Content-Encoding", "gzip")], "text/plain")


@robots("robots-latin1", private)
def in_latin1(stage: Stage) -> Answer:
    """Comments that are no UTF-8."""
    return _text(b"# Caf\xe9\n" + KEEP_PRIVATE)


@robots("robots-nul", private)
def with_nul(stage: Stage) -> Answer:
    """NUL bytes before, between and after the lines."""
    return _text(b"\0\0\n" + KEEP_PRIVATE.replace(b"\n", b"\n\0\n") + b"\0" * 100)


@robots("robots-cr", private)
def with_cr(stage: Stage) -> Answer:
    """Bare CR as the end of each line."""
    return _text(KEEP_PRIVATE.replace(b"\n", b"\r"))


@robots("robots-huge", private)
def huge(stage: Stage) -> Answer:
    """``bytes`` (4,000,000); /private/ is forbidden at its start, everything after the first 500 KiB."""
    size = int(stage.number("bytes", 4_000_000))
    line = b"Disallow: /private/filler/of/a/long/file\n"
    return _text((KEEP_PRIVATE + line * (size // len(line))) + b"Disallow: /\n")


@robots("robots-endless", private)
def endless(stage: Stage) -> Answer:
    """/private/ is forbidden, and comments follow without end."""

    def steps() -> Iterator[Step]:
        yield KEEP_PRIVATE
        while True:
            yield b"# and so on\n" * 1000

    return Answer(200, head(200, [("Content-Type", "text/plain")]), steps(), close=True)
