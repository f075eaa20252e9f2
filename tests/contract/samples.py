"""URL entries and records for tests of the frontier, in as few words as each test needs."""

from __future__ import annotations

import itertools

from webcrawl.frontier.records import QUEUED, State, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.contract import Batch, Settled
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host

NOW = 1_700_000_000.0

_positions = itertools.count(1)


def entry(url: str, level: int = 0, position: int | None = None, **fields: object) -> UrlEntry:
    """A placed entry of ``url``; its key is the host."""
    made = UrlEntry(url, get_host(url), fingerprint(url), level)
    made.position = next(_positions) if position is None else position
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def pages(key: str, count: int, level: int = 0) -> list[UrlEntry]:
    """``count`` entries of one key, in their order."""
    return [entry(f"http://{key}/{number}", level) for number in range(count)]


def found(*entries: UrlEntry) -> Batch:
    return Batch(discovered=list(entries))


def settled(one: UrlEntry, state: State = State.DONE, rule: str | None = None) -> Batch:
    return Batch(settled=[Settled(one, UrlRecord(state, rule))])


def again(one: UrlEntry, position: int | None = None) -> Batch:
    """The batch that puts a leased entry back into its queue, at a new place."""
    other = entry(one.url, one.level, position, key=one.key, repeat=one.repeat, attempts=one.attempts + 1)
    return Batch(settled=[Settled(one, QUEUED, again=other)])


def robots(origin: str, text: str = "", expires_at: float = NOW + 86_400) -> RobotsRecord:
    return RobotsRecord(origin, RobotsState.RULES, NOW, expires_at, text)


def urls(entries: list[UrlEntry]) -> list[str]:
    return [one.url for one in entries]
