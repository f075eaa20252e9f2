"""The figures of workers: each writes its own into a file of its folder, and the parent reads and adds them up.

A file is one JSON object: ``tally`` and ``frontier`` (the fields of ``Tally`` and ``Snapshot``), ``items``,
``dropped``, ``unanticipated``, ``makes_items``, ``trouble``, and ``errors`` (the last: epoch seconds, word, URL).
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from webcrawl import atomic_file
from webcrawl.frontier.tally import Snapshot, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PREFIX = "figures-"
_GREATEST = frozenset({"longest_hold_seconds"})
_SUMMED = ("active_hosts", "ready_hosts", "in_flight", "unsettled")
"""The figures of a Snapshot that are of one worker alone; the other counts are of the whole crawl."""


@dataclass(slots=True)
class WorkerFigures:
    """The figures of one process, or of all of them together."""

    tally: Tally
    frontier: Snapshot
    items: int = 0
    dropped: int = 0
    unanticipated: int = 0
    makes_items: bool = True
    trouble: str | None = None
    errors: list[tuple[float, str, str]] = field(default_factory=list)


def path_of(folder: Path, process: int) -> Path:
    """Return the file with the figures of a process, in the folder of its worker."""
    return folder / f"{PREFIX}{process}.json"


def forget(folder: Path) -> None:
    """Delete the figures of processes of an earlier run. :raises OSError:"""
    for path in folder.glob(f"{PREFIX}*.json"):
        path.unlink(missing_ok=True)


def write(path: Path, figures: WorkerFigures) -> None:
    """Write figures for the parent. :raises OSError:"""
    tally = {item.name: getattr(figures.tally, item.name) for item in fields(Tally)}
    tally["statuses"] = {str(status): number for status, number in figures.tally.statuses.items()}
    line = {
        "tally": tally,
        "frontier": asdict(figures.frontier),
        "items": figures.items,
        "dropped": figures.dropped,
        "unanticipated": figures.unanticipated,
        "makes_items": figures.makes_items,
        "trouble": figures.trouble,
        "errors": figures.errors,
    }
    atomic_file.replace(path, json.dumps(line).encode())


def read(path: Path) -> WorkerFigures | None:
    """Return the figures of a process; None if it has written none yet, or if they cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        line: dict[str, Any] = json.loads(path.read_bytes())
        return WorkerFigures(
            _tally(line["tally"]),
            _snapshot(line["frontier"]),
            line["items"],
            line["dropped"],
            line["unanticipated"],
            line["makes_items"],
            line["trouble"],
            [(at, word, url) for at, word, url in line["errors"]],
        )
    return None


def _tally(values: dict[str, Any]) -> Tally:
    tally = Tally(**values)
    tally.statuses = Counter({int(status): number for status, number in values["statuses"].items()})
    for name in ("errors", "refused_by_rule", "site_refusals", "disallowed", "mimes"):
        setattr(tally, name, Counter(values[name]))
    if values["last_refusing"] is not None:
        host, kind = values["last_refusing"]
        tally.last_refusing = (host, kind)
    return tally


def _snapshot(values: dict[str, Any]) -> Snapshot:
    oldest = values["oldest_open"]
    return Snapshot(**{**values, "oldest_open": None if oldest is None else tuple(oldest)})


def added(figures: Sequence[WorkerFigures], running: int) -> WorkerFigures | None:
    """Return the figures of all processes together, the last one being the most recent; None if there are none.

    ``running``: how many of the last ones run; the others have ended, and their state is no longer part of the
    frontier's.
    """
    if not figures:
        return None
    live = figures[len(figures) - running :] or figures[-1:]
    return WorkerFigures(
        _add_tallies([one.tally for one in figures]),
        _add_snapshots([one.frontier for one in live], running),
        sum(one.items for one in figures),
        sum(one.dropped for one in figures),
        sum(one.unanticipated for one in figures),
        figures[-1].makes_items,
        next((one.trouble for one in figures if one.trouble is not None), None),
        sorted(error for one in figures for error in one.errors),
    )


def _add_tallies(tallies: Sequence[Tally]) -> Tally:
    total = Tally()
    for item in fields(Tally):
        values = [value for tally in tallies if (value := getattr(tally, item.name)) is not None]
        if item.name in ("worker", "begun_at") or not values:
            continue
        if isinstance(values[0], Counter):
            setattr(total, item.name, sum(values, Counter[Any]()))
        elif isinstance(values[0], dict):
            setattr(total, item.name, {key: one for value in values for key, one in value.items()})
        elif item.name in _GREATEST:
            setattr(total, item.name, max(values))
        elif isinstance(values[0], tuple):
            setattr(total, item.name, values[-1])
        else:
            setattr(total, item.name, sum(values))
    return total


def _add_snapshots(snapshots: Sequence[Snapshot], running: int) -> Snapshot:
    last = snapshots[-1]
    values = {item.name: getattr(last, item.name) for item in fields(Snapshot)}
    values |= {name: sum(getattr(one, name) for one in snapshots) for name in _SUMMED}
    ready = [one.next_ready_at for one in snapshots if one.next_ready_at is not None]
    oldest = [one.oldest_open for one in snapshots if one.oldest_open is not None]
    values |= {
        "next_ready_at": min(ready, default=None),
        "oldest_open": min(oldest, key=lambda one: one[1], default=None),
        "stalled": next((one.stalled for one in snapshots if one.stalled is not None), None),
        "workers": running,
    }
    return Snapshot(**values)
