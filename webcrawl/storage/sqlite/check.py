"""The consistency check of a crawl's database: every known URL is in exactly one state, and every count agrees.

Each agreement is a statement that finds the rows that violate it, and one that repairs them. They are listed in the
order of repair: later ones rely on earlier ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from webcrawl.errors import StorageFull, StorageLost
from webcrawl.frontier.seen import Seen
from webcrawl.storage.inspection import LISTED, CheckResult, Finding, FindingKind, Findings
from webcrawl.storage.sqlite.opening import open_stored


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two things that must agree."""

    kind: FindingKind
    find: str
    """Selects subject and detail of what does not agree."""
    repair: str
    exact: bool = False
    """True if it holds only if the seen test keeps the state of each URL."""


_TWICE = (
    "SELECT host_id, rank, position, url FROM (SELECT host_id, rank, position, url, row_number() OVER "
    "(PARTITION BY host_id, fingerprint ORDER BY rank, position) AS nth FROM queue WHERE repeat = 0) WHERE nth > 1"
)
_NOWHERE = (
    "SELECT host_id, fingerprint FROM seen WHERE state = 0 "
    "EXCEPT SELECT host_id, fingerprint FROM queue WHERE repeat = 0"
)
_LENGTH = "(SELECT count(*) FROM queue WHERE host_id = hosts.id)"
_LEVEL = "(SELECT -rank FROM queue WHERE host_id = hosts.id ORDER BY rank LIMIT 1)"
_IDLE = "(queued > 0 AND NOT active AND NOT given_up)"

AGREEMENTS = (
    Agreement(
        FindingKind.STRAY,
        "SELECT url, 'queued for a host that is not there' FROM queue WHERE host_id NOT IN (SELECT id FROM hosts)",
        "DELETE FROM queue WHERE host_id NOT IN (SELECT id FROM hosts)",
    ),
    Agreement(
        FindingKind.STRAY,
        "SELECT 'fingerprint ' || fingerprint, 'known of a host that is not there' FROM seen "
        "WHERE host_id NOT IN (SELECT id FROM hosts)",
        "DELETE FROM seen WHERE host_id NOT IN (SELECT id FROM hosts)",
    ),
    Agreement(
        FindingKind.UNREADABLE,
        "SELECT 'fingerprint ' || fingerprint || ' of ' || key, 'state ' || state FROM seen "
        "JOIN hosts ON id = host_id WHERE state NOT IN (0, 1, 2, 3)",
        "DELETE FROM seen WHERE state NOT IN (0, 1, 2, 3)",
    ),
    Agreement(
        FindingKind.UNREADABLE,
        "SELECT 'the record of ' || key, 'no JSON' FROM hosts WHERE NOT json_valid(coalesce(record, '{}'))",
        "UPDATE hosts SET record = NULL WHERE NOT json_valid(coalesce(record, '{}'))",
    ),
    Agreement(
        FindingKind.SETTLED,
        "SELECT url, 'state ' || state FROM queue JOIN seen USING (host_id, fingerprint) "
        "WHERE repeat = 0 AND state != 0",
        "DELETE FROM queue WHERE repeat = 0 AND EXISTS (SELECT 1 FROM seen WHERE seen.host_id = queue.host_id "
        "AND seen.fingerprint = queue.fingerprint AND state != 0)",
        exact=True,
    ),
    Agreement(
        FindingKind.TWICE,
        f"SELECT url, 'again at level ' || -rank || ', position ' || position FROM ({_TWICE})",
        "DELETE FROM queue WHERE (host_id, rank, position) IN "
        f"(SELECT host_id, rank, position FROM ({_TWICE}))",
    ),
    Agreement(
        FindingKind.UNKNOWN,
        "SELECT url, '' FROM queue JOIN hosts ON id = host_id WHERE repeat = 0 AND NOT EXISTS (SELECT 1 FROM seen "
        "WHERE seen.host_id = queue.host_id AND seen.fingerprint = queue.fingerprint)",
        "INSERT OR IGNORE INTO seen (host_id, fingerprint) SELECT host_id, fingerprint FROM queue WHERE repeat = 0",
        exact=True,
    ),
    Agreement(
        FindingKind.NOWHERE,
        f"SELECT 'fingerprint ' || fingerprint || ' of ' || key, '' FROM ({_NOWHERE}) JOIN hosts ON id = host_id",
        f"DELETE FROM seen WHERE state = 0 AND (host_id, fingerprint) IN ({_NOWHERE})",
        exact=True,
    ),
    Agreement(
        FindingKind.LENGTH,
        f"SELECT key, 'says ' || queued || ', is ' || {_LENGTH} FROM hosts WHERE queued != {_LENGTH}",
        f"UPDATE hosts SET queued = {_LENGTH} WHERE queued != {_LENGTH}",
    ),
    Agreement(
        FindingKind.PLACE,
        "SELECT key, CASE WHEN idle THEN 'is idle, and should not be' ELSE 'is not idle, and should be' END "
        f"FROM hosts WHERE idle != {_IDLE}",
        f"UPDATE hosts SET idle = {_IDLE} WHERE idle != {_IDLE}",
    ),
    Agreement(
        FindingKind.LEVEL,
        f"SELECT key, 'says ' || level || ', is ' || {_LEVEL} FROM hosts WHERE idle = 1 AND level != {_LEVEL}",
        f"UPDATE hosts SET level = {_LEVEL} WHERE idle = 1 AND level != {_LEVEL}",
    ),
)

COUNTS = {
    "queued": "SELECT count(*) FROM queue",
    "hosts": "SELECT count(*) FROM hosts",
    "robots": "SELECT count(*) FROM robots",
}
EXACT_COUNTS = {
    "done": "SELECT count(*) FROM seen WHERE state = 1",
    "failed": "SELECT count(*) FROM seen WHERE state = 2",
    "refused": "SELECT count(*) FROM seen WHERE state = 3",
}
"""The values of the running totals; the second only if the seen test keeps states."""


_KNOWN_WITHOUT_STATES = (
    "SELECT done + failed + refused + (SELECT count(*) FROM queue WHERE repeat = 0) FROM totals"
)
_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def check(path: Path) -> CheckResult:
    """Check ``path`` as of one moment, also while its crawl runs; nothing is changed.

    Its write-ahead log cannot be reset meanwhile, and grows.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    checked = CheckResult()
    with open_stored(path) as connection:
        _look(connection, path, checked)
    return checked


def repair(path: Path) -> CheckResult:
    """Repair ``path`` in one transaction, and check the result. Its crawl must not be running.

    A damaged file is left as it is.

    :raises webcrawl.errors.StartRefused: as ``check``
    :raises StorageFull, StorageLost: it cannot be written
    """
    before = check(path)
    if before.agrees or FindingKind.DAMAGED in before.left.counts:
        return before
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            repaired = _repair(connection, path)
            connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF in _FULL
        raise (StorageFull if full else StorageLost)(f"{path}: {error}") from error
    checked = check(path)
    checked.repaired = repaired
    return checked


def _look(connection: sqlite3.Connection, path: Path, checked: CheckResult) -> None:
    exact = _is_exact(connection)
    if not _is_sound(connection, checked.left):
        return
    for agreement in _applicable(exact):
        _find(connection, agreement, checked.left)
    if not exact:
        checked.unchecked.append("states of single URLs, which FRONTIER_SEEN=bloom does not keep")
        for url, _ in _unknown_to_filter(connection, path, checked.left):
            checked.left.add(Finding(FindingKind.UNKNOWN, url))
    for name, stored, counted in _wrong_totals(connection, exact):
        checked.left.add(Finding(FindingKind.TOTAL, name, f"says {stored}, is {counted}"))
    checked.queued, checked.hosts = (
        connection.execute(COUNTS[name]).fetchone()[0] for name in ("queued", "hosts")
    )
    known = "SELECT count(*) FROM seen" if exact else _KNOWN_WITHOUT_STATES
    [checked.urls] = connection.execute(known).fetchone()


def _repair(connection: sqlite3.Connection, path: Path) -> Findings:
    repaired = Findings()
    exact = _is_exact(connection)
    for agreement in _applicable(exact):
        if _find(connection, agreement, repaired):
            connection.execute(agreement.repair)
    if not exact:
        for url, fingerprint in list(_unknown_to_filter(connection, path, Findings())):
            connection.execute("INSERT INTO seen_journal VALUES (?)", (fingerprint,))
            repaired.add(Finding(FindingKind.UNKNOWN, url))
    for name, stored, counted in list(_wrong_totals(connection, exact)):
        connection.execute(f"UPDATE totals SET {name} = ?", (counted,))
        repaired.add(Finding(FindingKind.TOTAL, name, f"says {stored}, is {counted}"))
    return repaired


def _is_exact(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT value FROM meta WHERE name = 'FRONTIER_SEEN'").fetchone()
    return row is None or row[0] != "bloom"


def _applicable(exact: bool) -> Iterator[Agreement]:
    return (agreement for agreement in AGREEMENTS if exact or not agreement.exact)


def _is_sound(connection: sqlite3.Connection, findings: Findings) -> bool:
    """Return True if the file is not damaged; a damaged file is not checked further."""
    try:
        rows = connection.execute("PRAGMA integrity_check(20)").fetchall()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
            raise
        rows = [(str(error),)]
    for (line,) in rows:
        if line != "ok":
            findings.add(Finding(FindingKind.DAMAGED, " ".join(line.split())))
    return not findings


def _find(connection: sqlite3.Connection, agreement: Agreement, findings: Findings) -> bool:
    """Add what does not agree. Returns True if there was anything."""
    examples: list[Finding] = []
    number = 0
    for subject, detail in connection.execute(agreement.find):
        number += 1
        if number <= LISTED:
            examples.append(Finding(agreement.kind, subject, detail))
    findings.extend(agreement.kind, examples, number)
    return number > 0


def _wrong_totals(connection: sqlite3.Connection, exact: bool) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each wrong total, its stored value and the counted one."""
    counts = {**COUNTS, **(EXACT_COUNTS if exact else {})}
    stored = connection.execute(f"SELECT {', '.join(counts)} FROM totals").fetchone()
    for (name, statement), number in zip(counts.items(), stored, strict=True):
        [counted] = connection.execute(statement).fetchone()
        if counted != number:
            yield name, number, counted


def _unknown_to_filter(
    connection: sqlite3.Connection, path: Path, findings: Findings
) -> Iterator[tuple[str, int]]:
    """Yield the queued URLs, with their fingerprints, that are neither in the Bloom filter nor in its journal."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'bloom_generation'").fetchone()
    seen = None
    if row and int(row[0]):
        try:
            seen = Seen.load(path.with_name(f"seen-{int(row[0])}.bloom"))
        except (OSError, ValueError) as error:
            findings.add(Finding(FindingKind.DAMAGED, f"the seen filter: {error}"))
            return
    journal = {fingerprint for (fingerprint,) in connection.execute("SELECT fingerprint FROM seen_journal")}
    for url, fingerprint in connection.execute("SELECT url, fingerprint FROM queue WHERE repeat = 0"):
        if fingerprint not in journal and (seen is None or seen.add(fingerprint)):
            yield url, fingerprint
