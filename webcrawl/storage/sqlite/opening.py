"""Opening of a crawl's database, with one sentence why it cannot be used."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path

from webcrawl.errors import JobdirDamaged, JobdirUnusable, JobdirVersion
from webcrawl.storage.contract import Counted
from webcrawl.storage.sqlite.entries import COLUMNS, missing_columns, queue_columns

SCHEMA_VERSION = "4"
SPIDER = "spider"
"""The part of an identity that is no setting: the spider whose crawl it is."""
COUNTED = "counted "
"""The beginning of the names in ``meta`` of what processes have counted."""
_BETWEEN = (COUNTED, "counted!")
"""The bounds of these names: ``!`` comes after the blank."""
_ADD_STATUS = "ALTER TABLE seen ADD COLUMN status INTEGER;"
_UPGRADES = {"2": _ADD_STATUS, "3": _ADD_STATUS}
"""The statements that upgrade an earlier version to this one. Columns of carried values need none: those that are
missing are added to a database of any version."""
_UNUSABLE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def open_database(path: Path, cache_bytes: int, identity: Mapping[str, str]) -> sqlite3.Connection:
    """Open or create ``path``. ``identity``: settings that the state depends on and that must not change.

    :raises JobdirDamaged: it is no database, or a broken one
    :raises JobdirVersion: another version made it
    :raises JobdirUnusable: it cannot be opened, or an ``identity`` differs
    """
    try:
        connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=30, cached_statements=256
        )
        try:
            # The check comes before the pragmas: a refused file stays as it is.
            new = is_new(connection, path, identity, earlier=_UPGRADES)
            _tune(connection, cache_bytes)
            if new:
                _create(connection, identity)
            else:
                _upgrade(connection)
        except BaseException:
            connection.close()
            raise
    except sqlite3.DatabaseError as error:
        raise translate_opening(error, path) from error
    return connection


def read_only(path: Path) -> sqlite3.Connection:
    """Open a connection that cannot change anything.

    :raises sqlite3.OperationalError: there is nothing to read
    :raises sqlite3.DatabaseError: it is no database
    """
    quoted = path.resolve().as_uri()
    connection = sqlite3.connect(f"{quoted}?mode=ro", uri=True, isolation_level=None, timeout=30)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
    except BaseException as error:
        connection.close()
        # A stopped crawl on a read-only medium: SQLite cannot make the files that it shares with a writer.
        if not isinstance(error, sqlite3.OperationalError) or path.with_name(f"{path.name}-wal").exists():
            raise
        return sqlite3.connect(f"{quoted}?immutable=1", uri=True, isolation_level=None)
    return connection


@contextmanager
def open_stored(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database of a crawl, also while it runs, in a transaction that cannot change it: it shows one moment.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    if not path.is_file():
        raise JobdirUnusable(f"{path.parent} is no crawl with a frontier on disk: it has no {path.name}")
    try:
        with closing(read_only(path)) as connection:
            connection.execute("BEGIN")
            if is_new(connection, path, {}):
                raise JobdirUnusable(f"there is no crawl in {path} yet")
            yield connection
    except sqlite3.DatabaseError as error:
        raise translate_opening(error, path) from error


def _tune(connection: sqlite3.Connection, cache_bytes: int) -> None:
    """Set the pragmas that a crawl needs."""
    connection.execute("PRAGMA journal_mode = WAL")
    # A killed process loses nothing. A power cut may take the last commits: their pages, which the archive made
    # durable before, are fetched again. FULL would cost a flush of the disk for each group.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{max(cache_bytes // 1024, 1024)}")
    connection.execute("PRAGMA temp_store = MEMORY")
    # In pages, 64 MB: a page that many commits change is copied into the database once for all of them.
    connection.execute("PRAGMA wal_autocheckpoint = 16000")
    connection.execute("PRAGMA journal_size_limit = 67108864")


def read_counted(connection: sqlite3.Connection) -> list[Counted]:
    """Return what processes have counted."""
    rows = connection.execute("SELECT name, value FROM meta WHERE name >= ? AND name < ?", _BETWEEN)
    counts = (Counted.read(name.removeprefix(COUNTED), value) for name, value in rows)
    return [counted for counted in counts if counted is not None]


def merge_counted(connection: sqlite3.Connection) -> None:
    """Store what the processes of earlier runs have counted as that of one, so that a crawl may be resumed often."""
    if len(known := read_counted(connection)) < 2:
        return
    connection.execute("DELETE FROM meta WHERE name >= ? AND name < ?", _BETWEEN)
    merged = Counted.merge(known)
    connection.execute("INSERT INTO meta VALUES (?, ?)", (f"{COUNTED}{merged.name}", merged.packed()))


def _create(connection: sqlite3.Connection, identity: Mapping[str, str]) -> None:
    schema = resources.files(__package__).joinpath("schema.sql").read_text("utf-8")
    values = {"schema_version": SCHEMA_VERSION, **identity}
    connection.executescript(f"BEGIN IMMEDIATE;\n{schema}\n")
    connection.executemany("INSERT INTO meta VALUES (?, ?)", list(values.items()))
    connection.execute("COMMIT")


def _upgrade(connection: sqlite3.Connection) -> None:
    [version] = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    upgrade = _UPGRADES.get(version, "") + missing_columns(connection)
    if upgrade:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{upgrade}\n"
            f"UPDATE meta SET value = '{SCHEMA_VERSION}' WHERE name = 'schema_version';\nCOMMIT;"
        )


def translate_opening(error: sqlite3.DatabaseError, path: Path) -> JobdirDamaged | JobdirUnusable:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _UNUSABLE:
        return JobdirDamaged(
            f"{path} is damaged ({error}); start from a checkpoint of this crawl, or try "
            f"`sqlite3 {path.name} .recover` on a copy, or begin anew with another JOBDIR"
        )
    return JobdirUnusable(f"{path} cannot be opened: {error}")


def is_new(
    connection: sqlite3.Connection, path: Path, identity: Mapping[str, str], earlier: Container[str] = ()
) -> bool:
    """Return True if the database is empty; raise if the crawl in it cannot be continued.

    ``earlier``: versions that can be upgraded to this one.
    """
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return True
    if "meta" not in tables:
        raise JobdirUnusable(f"{path} is a database of something else; give another JOBDIR")
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    if meta.get("schema_version") != SCHEMA_VERSION and meta.get("schema_version") not in earlier:
        raise JobdirVersion(
            f"{path} was made by a webcrawl with state version {meta.get('schema_version')}, this one has "
            f"{SCHEMA_VERSION}; go on with the version that made it, or give another JOBDIR"
        )
    unknown = queue_columns(connection).difference(COLUMNS)
    if unknown:
        raise JobdirVersion(
            f"{path} was made by a later webcrawl, which stores '{min(unknown)}' with queued URLs; go on with the "
            f"version that made it, or give another JOBDIR"
        )
    for name, value in identity.items():
        if name == SPIDER and meta.get(name, value) != value:
            raise JobdirUnusable(
                f"JOBDIR {path.parent} is a crawl of the spider {meta[name]}, and {value} cannot process "
                f"its queued requests; give another JOBDIR"
            )
        if meta.get(name, value) != value:
            raise JobdirUnusable(
                f"the crawl in {path.parent} was started with {name}={meta[name]} and cannot go on with "
                f"{name}={value}; give {name}={meta[name]}, or another JOBDIR"
            )
    return False
