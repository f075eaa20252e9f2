"""The clocks that a URL's fetch shares with those of other keys, as far as a storage or a log tells of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webcrawl.explanation.clocks import Clock
from webcrawl.frontier.backends.sighting import Use
from webcrawl.hosts.record import Pauses
from webcrawl.hosts.shared_clocks import SharedClocks


def shared_clocks_of(
    policy: SharedClocks, pauses: Pauses, uses: Mapping[str, Use], address: str | None, now: float
) -> Iterator[Clock]:
    """``pauses``: the clocks of the URL at ``address``, if that is known; ``uses``: of which something is known."""
    for name, pause in pauses.items():
        use = uses.get(name)
        if use is None:
            yield Clock(name, now, "no request is known that used it")
        elif use.holder is not None:
            yield Clock(
                name, use.free_at, f"{use.holder} is using it; {pause:g} s after that request it is free"
            )
        else:
            yield Clock(name, use.free_at, f"{pause:g} s after the last request that used it")
    if policy.needs_address and address is None:
        yield Clock(
            "address", now, "the host was not contacted yet, so it is not known here whose clock this is"
        )


def uses_in_log(lines: Iterable[Mapping[str, Any]], pauses: Pauses) -> dict[str, Use]:
    """The last uses of clocks that lines of fetch logs name."""
    free_at: dict[str, float] = {}
    for line in lines:
        end, named = line.get("end"), line.get("clocks")
        if isinstance(end, int | float) and isinstance(named, dict):
            for name in named.keys() & pauses.keys():
                free_at[name] = max(free_at.get(name, 0.0), end + pauses[name])
    return {name: Use(at) for name, at in free_at.items()}
