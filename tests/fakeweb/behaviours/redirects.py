"""Redirects: chains, loops, across hosts, and Locations that are missing or dirty."""

from __future__ import annotations

from urllib.parse import quote

from tests.fakeweb.answer import Answer, http_answer, redirect
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

REDIRECTS: Registry = {}


def _status(stage: Stage) -> int:
    return int(stage.number("status", 302))


def _moved_to(location_of: str) -> Outcome:
    return Outcome(status=302, location=location_of, mime="text/html")


def _chain_location(stage: Stage) -> str:
    left = int(stage.number("hops", 3))
    goal = stage.text("goal", stage.goal)
    if left <= 1:
        return goal
    origin = stage.elsewhere if stage.text("across", "no") == "yes" else stage.origin
    across = "&across=yes" if stage.text("across", "no") == "yes" else ""
    step = f"hops={left - 1}&status={_status(stage)}{across}&goal={quote(goal, safe='')}"
    return f"{origin}/x/redirect-chain?{step}"


def _chain_outcome(stage: Stage) -> Outcome:
    return Outcome(status=_status(stage), location=_chain_location(stage), mime="text/html")


@behaviour(REDIRECTS, "redirect-chain", _chain_outcome)
def redirect_chain(stage: Stage) -> Answer:
    """``hops`` redirects (3) with ``status`` (302) to a good page; ``across=yes``: each on another host."""
    return redirect(_status(stage), _chain_location(stage))


def _loop_location(stage: Stage) -> str:
    return f"{stage.origin}/x/redirect-loop?at={int(stage.number('at', 0) + 1) % 3}"


@behaviour(REDIRECTS, "redirect-loop", lambda stage: _moved_to(_loop_location(stage)))
def redirect_loop(stage: Stage) -> Answer:
    """A circle of three URLs that never ends."""
    return redirect(302, _loop_location(stage))


@behaviour(REDIRECTS, "redirect-self", lambda stage: _moved_to(stage.url))
def redirect_self(stage: Stage) -> Answer:
    """A redirect to its own URL, as sites do that want a cookie first."""
    return redirect(302, stage.url)


@behaviour(REDIRECTS, "redirect-relative", lambda stage: _moved_to(stage.goal))
def redirect_relative(stage: Stage) -> Answer:
    """A relative Location with a fragment."""
    return redirect(302, stage.goal.removeprefix(stage.origin) + "#part")


@behaviour(REDIRECTS, "redirect-dirty", lambda stage: _moved_to(f"{stage.origin}/x/ok?q=%C3%A9%20%7C"))
def redirect_dirty(stage: Stage) -> Answer:
    """A Location with a space, a pipe, raw UTF-8 and blanks around it, which browsers follow."""
    answer = http_answer(302, b"Moved.\n", [("Location", "  /x/./ok?q=@@ |  ")], "text/html")
    answer.wire = answer.wire.replace(b"@@", "é".encode())
    return answer


@behaviour(REDIRECTS, "redirect-missing", Outcome(status=302, location=None))
def redirect_missing(stage: Stage) -> Answer:
    """A 302 without a Location."""
    return http_answer(302, b"<p>Moved, but where?</p>\n")


@behaviour(REDIRECTS, "redirect-foreign", Outcome(status=302, location="mailto:webmaster@example.com"))
def redirect_foreign(stage: Stage) -> Answer:
    """A redirect to a scheme that no crawler fetches."""
    return redirect(302, "mailto:webmaster@example.com")
