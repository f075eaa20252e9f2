"""The service's record of a crawl: what was ordered, what is wanted, and its state."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from webcrawl.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_FORM = "a letter or digit, then up to 63 letters, digits, dots, hyphens and underscores"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}").fullmatch


class OrderState(StrEnum):
    """The state of what was ordered: whether it has a process, or when it gets one."""

    WAITING = "waiting"
    """It runs as soon as there is room."""
    RUNNING = "running"
    STOPPING = "stopping"
    """It was told to stop, and finishes its open requests."""
    RESTARTING = "restarting"
    """It has crashed, and is started again after a pause."""
    STOPPED = "stopped"
    """An operator stopped it. It can be started again, and goes on."""
    ENDED = "ended"
    """It has ended by itself: nothing was left, or a limit was reached."""
    FAILED = "failed"
    """It could not start, or crashed too often."""


LIVE = frozenset((OrderState.RUNNING, OrderState.STOPPING))
"""States in which there is a process."""
WANTED = frozenset((OrderState.WAITING, OrderState.RUNNING, OrderState.RESTARTING))
"""States of crawls that go on after a restart of the service."""


@dataclass(frozen=True, slots=True)
class CrawlOrder:
    """A crawl as an operator ordered it."""

    name: str
    spider: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    at: float = 0.0
    """Epoch seconds."""
    schedule: str = ""
    """The schedule that has ordered it; empty for an operator."""
    schedule_created_at: float = 0.0
    """The time at which that schedule was made: another one may get its name later."""


@dataclass(slots=True)
class CrawlRecord:
    """A crawl of the service. Times are epoch seconds."""

    order: CrawlOrder
    state: OrderState
    since: float
    """The time of the state."""
    ticket: int
    """Its place among those that wait; lower is earlier."""
    reason: str = ""
    """The reason for this state, as a sentence; empty if it is plain."""
    has_begun: bool = False
    """True once a process was started: then its folder must be there."""
    started_at: float | None = None
    """The last start of its process."""
    crashes: int = 0
    """The number of crashes in a row."""
    due_at: float | None = None
    """The time at which it is started again after a crash, or is forced to stop."""


def name_problem(name: str) -> Problem | None:
    """Return what is wrong with the name of a crawl, which is that of its folder, too."""
    return None if _NAME(name) else Problem("name", f"must be {NAME_FORM}, not {name[:80]!r}")


def as_text(record: CrawlRecord) -> bytes:
    """Return a record as it is kept."""
    return json.dumps(asdict(record), indent=1).encode() + b"\n"


def read(content: bytes) -> CrawlRecord:
    """Read what ``as_text`` wrote. :raises ValueError: it is something else"""
    try:
        found: dict[str, Any] = json.loads(content)
        order = CrawlOrder(**found.pop("order"))
        state = OrderState(found.pop("state"))
        record = CrawlRecord(order=order, state=state, **found)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(str(error)) from error
    if name_problem(order.name) is not None:
        raise ValueError("it has no valid name")
    return record
