"""The check of a crawl's books in its database: every URL known is in exactly one state, and every count agrees."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from webcrawl.errors import StorageFull, StorageLost
from webcrawl.frontier.backends.findings import LISTED, Checked, Finding, Findings, Kind
from webcrawl.frontier.backends.sqlite.agreements import AGREEMENTS, COUNTS, EXACT_COUNTS, Agreement
from webcrawl.frontier.backends.sqlite.standing import looking_at
from webcrawl.frontier.seen import Seen

_KNOWN_WITHOUT_STATES = (
    "SELECT done + failed + refused + (SELECT count(*) FROM queue WHERE repeat = 0) FROM totals"
)
_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def check(path: Path) -> Checked:
    """Look at ``path`` as of one moment, also while its crawl runs; nothing is changed.

    Its write-ahead log cannot be reset meanwhile, and grows.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    checked = Checked()
    with looking_at(path) as connection:
        _look(connection, path, checked)
    return checked


def mend(path: Path) -> Checked:
    """Repair ``path`` in one transaction, and look at what came of it. Its crawl must not be running.

    A damaged file is left as it is.

    :raises webcrawl.errors.StartRefused: as ``check``
    :raises StorageFull, StorageLost: it cannot be written
    """
    before = check(path)
    if before.agrees or Kind.DAMAGED in before.left.counts:
        return before
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            mended = _repair(connection, path)
            connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        full = getattr(error, "sqlite_errorcode", 0) & 0xFF in _FULL
        raise (StorageFull if full else StorageLost)(f"{path}: {error}") from error
    checked = check(path)
    checked.mended = mended
    return checked


def _look(connection: sqlite3.Connection, path: Path, checked: Checked) -> None:
    exact = _is_exact(connection)
    if not _is_sound(connection, checked.left):
        return
    for agreement in _applicable(exact):
        _find(connection, agreement, checked.left)
    if not exact:
        checked.unchecked.append("states of single URLs, which FRONTIER_SEEN=bloom does not keep")
        for url, _ in _unknown_to_filter(connection, path, checked.left):
            checked.left.add(Finding(Kind.UNKNOWN, url))
    for name, told, counted in _wrong_totals(connection, exact):
        checked.left.add(Finding(Kind.TOTAL, name, f"says {told}, is {counted}"))
    checked.queued, checked.hosts = (
        connection.execute(COUNTS[name]).fetchone()[0] for name in ("queued", "hosts")
    )
    known = "SELECT count(*) FROM seen" if exact else _KNOWN_WITHOUT_STATES
    [checked.urls] = connection.execute(known).fetchone()


def _repair(connection: sqlite3.Connection, path: Path) -> Findings:
    mended = Findings()
    exact = _is_exact(connection)
    for agreement in _applicable(exact):
        if _find(connection, agreement, mended):
            connection.execute(agreement.mend)
    if not exact:
        for url, fingerprint in list(_unknown_to_filter(connection, path, Findings())):
            connection.execute("INSERT INTO seen_journal VALUES (?)", (fingerprint,))
            mended.add(Finding(Kind.UNKNOWN, url))
    for name, told, counted in list(_wrong_totals(connection, exact)):
        connection.execute(f"UPDATE totals SET {name} = ?", (counted,))
        mended.add(Finding(Kind.TOTAL, name, f"says {told}, is {counted}"))
    return mended


def _is_exact(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT value FROM meta WHERE name = 'FRONTIER_SEEN'").fetchone()
    return row is None or row[0] != "bloom"


def _applicable(exact: bool) -> Iterator[Agreement]:
    return (agreement for agreement in AGREEMENTS if exact or not agreement.exact)


def _is_sound(connection: sqlite3.Connection, findings: Findings) -> bool:
    """Whether the file is whole; what is not cannot be judged further."""
    try:
        rows = connection.execute("PRAGMA integrity_check(20)").fetchall()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
            raise
        rows = [(str(error),)]
    for (line,) in rows:
        if line != "ok":
            findings.add(Finding(Kind.DAMAGED, " ".join(line.split())))
    return not findings


def _find(connection: sqlite3.Connection, agreement: Agreement, findings: Findings) -> bool:
    """Add what does not agree; whether there was anything."""
    examples: list[Finding] = []
    number = 0
    for subject, detail in connection.execute(agreement.find):
        number += 1
        if number <= LISTED:
            examples.append(Finding(agreement.kind, subject, detail))
    findings.extend(agreement.kind, examples, number)
    return number > 0


def _wrong_totals(connection: sqlite3.Connection, exact: bool) -> Iterator[tuple[str, int, int]]:
    """Name, what is told and what is."""
    counts = {**COUNTS, **(EXACT_COUNTS if exact else {})}
    told = connection.execute(f"SELECT {', '.join(counts)} FROM totals").fetchone()
    for (name, statement), number in zip(counts.items(), told, strict=True):
        [counted] = connection.execute(statement).fetchone()
        if counted != number:
            yield name, number, counted


def _unknown_to_filter(
    connection: sqlite3.Connection, path: Path, findings: Findings
) -> Iterator[tuple[str, int]]:
    """Queued URLs, with their fingerprints, that neither the Bloom filter nor its journal has."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'bloom_generation'").fetchone()
    seen = None
    if row and int(row[0]):
        try:
            seen = Seen.load(path.with_name(f"seen-{int(row[0])}.bloom"))
        except (OSError, ValueError) as error:
            findings.add(Finding(Kind.DAMAGED, f"the seen filter: {error}"))
            return
    journal = {fingerprint for (fingerprint,) in connection.execute("SELECT fingerprint FROM seen_journal")}
    for url, fingerprint in connection.execute("SELECT url, fingerprint FROM queue WHERE repeat = 0"):
        if fingerprint not in journal and (seen is None or seen.add(fingerprint)):
            yield url, fingerprint
