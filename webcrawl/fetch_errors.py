"""Anticipated errors: what is bound to go wrong on the web with single URLs, one line each in a log of its
own.

A server that does not answer, a name that does not resolve, a body that is no gzip: the crawl expects them,
goes on and has them in its figures. They do not belong in the log that a person watches, so the logger
stays beside it: its lines go nowhere until someone keeps them (the extension ``webcrawl.extensions.errors``
does).
"""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("webcrawl.fetch_errors")
LOGGER.propagate = False
LOGGER.addHandler(logging.NullHandler())
LOGGER.setLevel(logging.INFO)

_keepers: list[logging.Handler] = []


def note(word: str, url: str, *, via: str | None = None, detail: str = "") -> None:
    """Write down that ``url`` ended in the error ``word`` (as in the fetch log), or was refused by that rule.

    ``detail`` may hold anything, also what a server sent: what could end the line or steer a terminal is
    escaped.
    """
    LOGGER.info("%s %s%s%s", word, _plain(url), f" via {_plain(via)}" if via else "", _remark(detail))


def is_kept() -> bool:
    """Whether anyone keeps what is noted."""
    return bool(_keepers)


def keep(handler: logging.Handler) -> None:
    """Give every note to ``handler`` from now on."""
    _keepers.append(handler)
    LOGGER.addHandler(handler)


def leave(handler: logging.Handler) -> None:
    """Give ``handler`` no more notes, and close it."""
    _keepers.remove(handler)
    LOGGER.removeHandler(handler)
    handler.close()


def _remark(detail: str) -> str:
    return f" ({_plain(detail[:500])})" if detail else ""


def _plain(text: str) -> str:
    """``text`` without control characters."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
