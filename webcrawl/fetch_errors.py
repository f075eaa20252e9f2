"""Anticipated errors: the usual failures of single URLs, one line each in a log of their own.

A server that does not answer, a name that does not resolve, a body that is not gzip: the crawl expects them,
continues and counts them in its figures. They do not belong in the main log, so this logger does not propagate: its
lines are dropped until a handler is added (by the extension ``webcrawl.extensions.errors``).
"""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("webcrawl.fetch_errors")
LOGGER.propagate = False
LOGGER.addHandler(logging.NullHandler())
LOGGER.setLevel(logging.INFO)

_keepers: list[logging.Handler] = []


def note(word: str, url: str, *, via: str | None = None, detail: str = "") -> None:
    """Log that ``url`` ended in the error ``word`` (as in the fetch log), or was refused by that rule.

    ``detail`` may hold any text, even from a server: characters that could end the line or control a terminal are
    escaped.
    """
    LOGGER.info("%s %s%s%s", word, _plain(url), f" via {_plain(via)}" if via else "", _remark(detail))


def named_in(record: logging.LogRecord) -> tuple[str, str]:
    """Return the error and the URL that a record of ``note`` names."""
    assert isinstance(record.args, tuple)
    return str(record.args[0]), str(record.args[1])


def is_kept() -> bool:
    """Return True if the lines are kept by a handler."""
    return bool(_keepers)


def keep(handler: logging.Handler) -> None:
    """Send every line to ``handler`` from now on."""
    _keepers.append(handler)
    LOGGER.addHandler(handler)


def leave(handler: logging.Handler) -> None:
    """Remove ``handler``, and close it."""
    _keepers.remove(handler)
    LOGGER.removeHandler(handler)
    handler.close()


def _remark(detail: str) -> str:
    return f" ({_plain(detail[:500])})" if detail else ""


def _plain(text: str) -> str:
    """Return ``text`` without control characters."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
