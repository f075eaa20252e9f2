"""Tallies and snapshots for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webcrawl.frontier.tally import Snapshot

QUIET = Snapshot(
    queued=0,
    known_hosts=0,
    active_hosts=0,
    ready_hosts=0,
    waiting_hosts=0,
    parked_hosts=0,
    given_up_hosts=0,
    in_flight=0,
    unsettled=0,
    next_ready_at=None,
    stalled=None,
)


def snapshot(**changed: Any) -> Snapshot:
    """A snapshot of nothing, but for what is named."""
    return replace(QUIET, **changed)
