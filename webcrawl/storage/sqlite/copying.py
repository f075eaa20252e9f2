"""Copies of a crawl's databases as of one moment, also while the crawl runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from webcrawl.atomic_file import link_or_copy, sync_file
from webcrawl.errors import JobdirDamaged, StorageLost
from webcrawl.storage.sqlite.opening import read_only
from webcrawl.storage.sqlite.tables import SUFFIX

_PAGES = 5000
"""Database pages copied between two reports of progress: about 20 MB."""
_TRIES = 5


def copy_databases(
    frontier: Path, target: Path, progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Copy ``frontier.db``, its Bloom filter and the databases of features to the folder ``target``; return the new
    files, which are durable. See ``Technology.copy_state``."""
    try:
        return _copy(frontier, target, progress)
    except sqlite3.Error as error:
        raise StorageLost(str(error)) from error


def _copy(frontier: Path, target: Path, progress: Callable[[int, int], None] | None) -> list[Path]:
    for _ in range(_TRIES):
        copied = [_copy_database(frontier, target / frontier.name, progress)]
        try:
            copied += _copy_filter(frontier.parent, copied[0])
            break
        except FileNotFoundError:
            # A newer filter has replaced the one that the copied database names.
            continue
    else:
        raise JobdirDamaged(f"the seen filter that {frontier} names is not there")
    for path in sorted(frontier.parent.glob(f"*{SUFFIX}")):
        if path.name != frontier.name:
            copied.append(_copy_database(path, target / path.name, None))
    return copied


def _copy_database(source: Path, target: Path, progress: Callable[[int, int], None] | None) -> Path:
    """Copy as of one moment. Readers do not block the crawl's writer: the database is in WAL mode."""
    target.unlink(missing_ok=True)
    with closing(read_only(source)) as reader, closing(sqlite3.connect(target)) as writer:
        # Without its own transaction, the copy would restart with each commit of a running crawl.
        reader.execute("BEGIN")
        reader.execute("SELECT 1 FROM sqlite_master").fetchall()
        reader.backup(
            writer,
            pages=_PAGES,
            progress=(lambda _, left, total: progress(total - left, total)) if progress else None,
        )
        reader.execute("ROLLBACK")
    sync_file(target)
    return target


def _copy_filter(source: Path, database: Path) -> list[Path]:
    """Add the Bloom filter that the copied database names, if it names one. Raises FileNotFoundError."""
    with closing(sqlite3.connect(database)) as connection:
        row = connection.execute("SELECT value FROM meta WHERE name = 'bloom_generation'").fetchone()
    if row is None or int(row[0]) == 0:
        return []
    copy = database.with_name(f"seen-{int(row[0])}.bloom")
    link_or_copy(source / copy.name, copy)
    return [copy]
