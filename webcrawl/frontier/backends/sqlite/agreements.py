"""What must agree in a crawl's database, as statements: each finds what does not, and puts it right.

In the order in which they are repaired: what comes later relies on what came before.
"""

from __future__ import annotations

from dataclasses import dataclass

from webcrawl.frontier.backends.findings import Kind


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two things that must agree."""

    kind: Kind
    find: str
    """Selects subject and detail of what does not."""
    mend: str
    exact: bool = False
    """Whether it holds only where the seen test keeps the state of each URL."""


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
        Kind.STRAY,
        "SELECT url, 'queued for a host that is not there' FROM queue WHERE host_id NOT IN (SELECT id FROM hosts)",
        "DELETE FROM queue WHERE host_id NOT IN (SELECT id FROM hosts)",
    ),
    Agreement(
        Kind.STRAY,
        "SELECT 'fingerprint ' || fingerprint, 'known of a host that is not there' FROM seen "
        "WHERE host_id NOT IN (SELECT id FROM hosts)",
        "DELETE FROM seen WHERE host_id NOT IN (SELECT id FROM hosts)",
    ),
    Agreement(
        Kind.UNREADABLE,
        "SELECT 'fingerprint ' || fingerprint || ' of ' || key, 'state ' || state FROM seen "
        "JOIN hosts ON id = host_id WHERE state NOT IN (0, 1, 2, 3)",
        "DELETE FROM seen WHERE state NOT IN (0, 1, 2, 3)",
    ),
    Agreement(
        Kind.UNREADABLE,
        "SELECT 'the record of ' || key, 'no JSON' FROM hosts WHERE NOT json_valid(coalesce(record, '{}'))",
        "UPDATE hosts SET record = NULL WHERE NOT json_valid(coalesce(record, '{}'))",
    ),
    Agreement(
        Kind.SETTLED,
        "SELECT url, 'state ' || state FROM queue JOIN seen USING (host_id, fingerprint) "
        "WHERE repeat = 0 AND state != 0",
        "DELETE FROM queue WHERE repeat = 0 AND EXISTS (SELECT 1 FROM seen WHERE seen.host_id = queue.host_id "
        "AND seen.fingerprint = queue.fingerprint AND state != 0)",
        exact=True,
    ),
    Agreement(
        Kind.TWICE,
        f"SELECT url, 'again at level ' || -rank || ', position ' || position FROM ({_TWICE})",
        "DELETE FROM queue WHERE (host_id, rank, position) IN "
        f"(SELECT host_id, rank, position FROM ({_TWICE}))",
    ),
    Agreement(
        Kind.UNKNOWN,
        "SELECT url, '' FROM queue JOIN hosts ON id = host_id WHERE repeat = 0 AND NOT EXISTS (SELECT 1 FROM seen "
        "WHERE seen.host_id = queue.host_id AND seen.fingerprint = queue.fingerprint)",
        "INSERT OR IGNORE INTO seen (host_id, fingerprint) SELECT host_id, fingerprint FROM queue WHERE repeat = 0",
        exact=True,
    ),
    Agreement(
        Kind.NOWHERE,
        f"SELECT 'fingerprint ' || fingerprint || ' of ' || key, '' FROM ({_NOWHERE}) JOIN hosts ON id = host_id",
        f"DELETE FROM seen WHERE state = 0 AND (host_id, fingerprint) IN ({_NOWHERE})",
        exact=True,
    ),
    Agreement(
        Kind.LENGTH,
        f"SELECT key, 'says ' || queued || ', is ' || {_LENGTH} FROM hosts WHERE queued != {_LENGTH}",
        f"UPDATE hosts SET queued = {_LENGTH} WHERE queued != {_LENGTH}",
    ),
    Agreement(
        Kind.PLACE,
        "SELECT key, CASE WHEN idle THEN 'is idle, and should not be' ELSE 'is not idle, and should be' END "
        f"FROM hosts WHERE idle != {_IDLE}",
        f"UPDATE hosts SET idle = {_IDLE} WHERE idle != {_IDLE}",
    ),
    Agreement(
        Kind.LEVEL,
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
"""What the running totals must say; the second only where the seen test keeps states."""
