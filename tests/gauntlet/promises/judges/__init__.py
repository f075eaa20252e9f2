"""The judges, by subject. Each looks at the server's log, files, processes and exit statuses; the crawler's
words are only compared with them.
"""

from __future__ import annotations

from tests.gauntlet.promises.judges import (
    archive,
    dashboard,
    ends,
    figures,
    live_politeness,
    live_scope,
    service,
    starts,
    steering,
    tools,
)

__all__ = [
    "archive",
    "dashboard",
    "ends",
    "figures",
    "live_politeness",
    "live_scope",
    "service",
    "starts",
    "steering",
    "tools",
]
