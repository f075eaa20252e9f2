"""The judges, by subject. Each looks at the server's log, files, processes and exit statuses; the crawler's
words are only compared with them.
"""

from __future__ import annotations

from tests.gauntlet.promises.judges import (
    accidents,
    archive,
    dashboard,
    dust,
    ends,
    figures,
    identity,
    live_politeness,
    live_scope,
    mirrors,
    moves,
    near_duplicates,
    protocols,
    refusals,
    schemes,
    service,
    site_fields,
    starts,
    steering,
    tools,
    usage,
    workers,
)

__all__ = [
    "accidents",
    "archive",
    "dashboard",
    "dust",
    "ends",
    "figures",
    "identity",
    "live_politeness",
    "live_scope",
    "mirrors",
    "moves",
    "near_duplicates",
    "protocols",
    "refusals",
    "schemes",
    "service",
    "site_fields",
    "starts",
    "steering",
    "tools",
    "usage",
    "workers",
]
