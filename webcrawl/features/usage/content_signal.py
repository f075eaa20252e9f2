"""``Content-Signal``, the line of robots.txt and the field of Cloudflare's Content Signals.

Followed: the policy of https://contentsignals.org (CC0, 24 September 2025). The signals ``search``, ``ai-input`` and
``ai-train`` are ``yes`` or ``no``. The later signal ``use`` (``immediate``, ``reference``, ``full``) is kept in the
text and decides nothing. The policy has no grammar: names and values are compared without case, and of a signal that
is given twice ``no`` counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.features.usage.statements import Statement, statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.features.usage.statements import Meaning

NAME = "Content-Signal"
SIGNALS = {"search": "search", "ai-input": "ai-input", "ai-train": "train-ai"}
"""The signals and the purposes that they are."""

LENGTH_MAX = 8_192
"""Characters of a value that are read."""


def parse_meaning(value: str) -> Meaning:
    """Return what a value says. Never raises."""
    stated: dict[str, bool] = {}
    for part in value[:LENGTH_MAX].replace(";", ",").split(","):
        name, _, signal = part.partition("=")
        purpose = SIGNALS.get(name.strip().lower())
        signal = signal.strip().lower()
        if purpose is not None and signal in ("yes", "no"):
            stated[purpose] = stated.get(purpose, True) and signal == "yes"
    return tuple(stated.items())


def in_header(lines: Iterable[str]) -> list[Statement]:
    """Return the statement of the field's lines."""
    value = ", ".join(lines)
    return [statement(NAME, "header", f"{NAME}: {value}", parse_meaning(value))]
