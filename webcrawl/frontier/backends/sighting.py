"""What a storage has of one URL, for whoever looks at a crawl from outside: the common words of all backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from webcrawl.frontier.backend import Command
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.hosts.record import HostRecord, RobotsRecord

HOSTS_COUNTED = 100_000
"""So many idle keys are counted at most."""


class Activity(StrEnum):
    """Where a key stands."""

    ACTIVE = "active"
    """A process has it, or had it when it was killed."""
    IDLE = "idle"
    """It has URLs and waits to become active."""
    GIVEN_UP = "given_up"
    EMPTY = "empty"
    """It has no URLs."""


@dataclass(frozen=True, slots=True)
class KeySighting:
    """A politeness key, as it is stored: its holder may know more than it has written yet."""

    record: HostRecord
    queued: int
    """URLs in its queue."""
    activity: Activity
    holder: str | None = None
    """Who has it, where it is active and that is known."""
    held_until: float | None = None
    """When its holder's lease ends unless it is renewed (epoch seconds); None where there are no leases."""
    hosts_before: int | None = None
    """Idle keys of its level whose turn comes before it, counted up to ``HOSTS_COUNTED``; None unless it is idle."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a shared clock stands, for whoever looks from outside."""

    free_at: float
    """Epoch seconds. While somebody has it: when it is free at the earliest."""
    holder: str | None = None
    """Who has it at this moment."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A URL at one moment, or for a storage of several servers at nearly one."""

    now: float
    """Epoch seconds by the crawl's own clock."""
    known: bool
    """Whether the seen test has it; a Bloom filter may say so of a few that it has not."""
    state: State | None
    """None when it is not known, or when the seen test keeps no states and it is not queued."""
    entry: UrlEntry | None
    """Its entry in the queue."""
    before: int
    """Entries of the same queue that come before it."""
    key: KeySighting | None
    """None for a key of which nothing is known."""
    robots: RobotsRecord | None
    """Of its origin."""
    rule: str | None = None
    """By what it was refused or why it failed, where that is stored."""
    rules_kept: bool = True
    """Whether this storage stores such rules."""
    command: Command | None = None
    """What the operator wants; None for a crawl of one process."""
    at_work: tuple[str, ...] = ()
    """Who works on the crawl at this moment."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that the crawl was begun with, as it has written them down."""
