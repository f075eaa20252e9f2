"""TDMRep, the TDM Reservation Protocol: fields, meta elements and ``/.well-known/tdmrep.json``.

Followed: the Final Community Group Report of W3C's Text and Data Mining Reservation Protocol group, in its repository
of 7 December 2025. ``tdm-reservation`` is 1 (reserved) or 0; anything else counts as unset. What is nearer replaces
what is further away, as the report says: a meta element the field, the field the file. A ``tdm-policy`` is kept and
not read.

A reservation is one of Article 4 of Directive (EU) 2019/790, and Article 53 (1) (c) of the AI Act requires it to be
honoured in training: it is a ``no`` for ``train-ai`` too. Its absence permits mining, and nothing is concluded from
that for training.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.usage.statements import Statement, statement
from webcrawl.robots.rules import PathPattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.features.usage.statements import Meaning

NAME = "TDMRep"
PATH = "/.well-known/tdmrep.json"
FILE_BYTES_MAX = 256 * 1024
RULES_MAX = 1_000
FILE, HEADER, META = 0, 1, 2
"""The ranks of the places."""

RESERVATION, POLICY = "tdm-reservation", "tdm-policy"


class FileRule(NamedTuple):
    """A rule of a tdmrep.json."""

    path: PathPattern
    statement: Statement


def parse_meaning(value: object) -> Meaning:
    """Return what a reservation says: as text in a field, or as a number in the file."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, bool):
        return ()
    if text in ("1", 1):
        return (("tdm", False), ("train-ai", False))
    return (("tdm", True),) if text in ("0", 0) else ()


def _combined(values: Iterable[str]) -> Meaning:
    """Return what several values of one place say: a reservation counts."""
    meanings = [meaning for value in values if (meaning := parse_meaning(value))]
    return max(meanings, key=len, default=())


def in_header(reservations: Iterable[str], policies: Iterable[str]) -> list[Statement]:
    """Return the statements of the two fields."""
    values = [part for value in reservations for part in value.split(",")[:10]]
    stated = []
    if values:
        text = f"{RESERVATION}: {', '.join(value.strip() for value in values)}"
        stated.append(statement(NAME, "header", text, _combined(values), HEADER))
    stated += [statement(NAME, "header", f"{POLICY}: {policy}", rank=HEADER) for policy in policies]
    return stated


def in_meta(metas: Iterable[tuple[str, str]]) -> list[Statement]:
    """Return the statements of meta elements, names in lower case and contents."""
    named = [(name, content) for name, content in metas if name in (RESERVATION, POLICY)]
    values = [content for name, content in named if name == RESERVATION]
    meaning = _combined(values)
    return [
        statement(NAME, "meta", f"{name}: {content}", meaning if name == RESERVATION else (), META)
        for name, content in named
    ]


def parse_file(body: str) -> tuple[FileRule, ...]:
    """Return the rules of a tdmrep.json, in their order; none if it is no such file. Never raises."""
    if len(body) > FILE_BYTES_MAX:
        return ()
    try:
        entries = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(entries, list):
        return ()
    rules = []
    for number, entry in enumerate(entries[:RULES_MAX], 1):
        if not isinstance(entry, dict):
            continue
        location, meaning = entry.get("location"), parse_meaning(entry.get(RESERVATION))
        if not isinstance(location, str) or not meaning:
            continue
        location = location if location.startswith(("/", "*")) else f"/{location}"
        text = f"{location} {RESERVATION}: {0 if dict(meaning)['tdm'] else 1}"
        if isinstance(policy := entry.get(POLICY), str):
            text += f", {POLICY}: {policy}"
        place = f"tdmrep.json:{number}"
        rules.append(FileRule(PathPattern(location), statement(NAME, place, text, meaning, FILE)))
    return tuple(rules)


def in_file(rules: Iterable[FileRule], target: str) -> list[Statement]:
    """Return the statement of the first rule that matches a path (``comparable``), as the report orders them."""
    return next(([rule.statement] for rule in rules if rule.path.matches(target)), [])
