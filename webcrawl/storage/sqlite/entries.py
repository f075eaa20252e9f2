"""The columns of the table ``queue``, and entries from its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from webcrawl.frontier.records import CARRIED, UrlEntry

COLUMNS = (
    "host_id",
    "rank",
    "position",
    "fingerprint",
    "url",
    "depth",
    "via",
    "kind",
    "redirects",
    "attempts",
    "repeat",
    *CARRIED.values(),
)
_EXPRESSIONS = {"level": "-rank", **CARRIED}
"""The expressions that are selected for fields of an entry that are no columns of their names."""


def entry_columns(connection: sqlite3.Connection, key: str = "key") -> str:
    """Return what a statement on ``queue`` selects for ``row_to_entry``.

    ``key``: the expression for the politeness key. A database that only earlier code has written may lack columns:
    their values are None.
    """
    missing = set(CARRIED.values()) - queue_columns(connection)
    expressions = (_EXPRESSIONS.get(item.name, item.name) for item in fields(UrlEntry))
    return ", ".join(
        key if expression == "key" else f"NULL AS {expression}" if expression in missing else expression
        for expression in expressions
    )


def row_to_entry(row: Sequence[Any]) -> UrlEntry:
    """Return the entry of a row with the columns of ``entry_columns``."""
    entry = UrlEntry(*row)
    entry.repeat = bool(entry.repeat)
    return entry


def queue_columns(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the columns of ``queue``."""
    return {row[1] for row in connection.execute("PRAGMA table_info(queue)")}


def missing_columns(connection: sqlite3.Connection) -> str:
    """Return the statements that add the columns of carried values that ``queue`` lacks; nothing if it has all."""
    there = queue_columns(connection)
    return "".join(
        f"ALTER TABLE queue ADD COLUMN {name} TEXT;" for name in CARRIED.values() if name not in there
    )
