"""Clocks that politeness keys share, run again by what the fetch log tells: address, host, domain, group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.reports.clocks import Clock, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.hosts.record import Pauses
    from webcrawl.hosts.shared_clocks import SharedClocks
    from webcrawl.reports.requests import Request


@dataclass(slots=True)
class SharedClocksKept:
    """Takes requests in the order of their starts. A clock is forgotten when nothing has to wait for it any more.

    A request is held against the clocks that its line names, and those that ``policy`` gives its host and address,
    with the longer of the two pauses.
    """

    policy: SharedClocks
    tolerance_seconds: float
    _clocks: dict[str, Clock] = field(default_factory=dict)

    def take(self, request: Request) -> Iterator[Violation]:
        """What the request broke, a violation a clock."""
        for name, pause in self._pauses(request).items():
            clock = self._clocks.get(name)
            if clock is None:
                self._clocks[name] = Clock.after(request, pause, name)
                continue
            if request.start < clock.open.start:
                found = clock.judged_late(request, pause, self.tolerance_seconds)
            else:
                found = clock.judged(request, 0.0, self.tolerance_seconds)
            clock.take(request, pause)
            if found is not None:
                yield found

    def forget(self, now: float) -> None:
        """Let go of the clocks that had run out long before ``now``."""
        before = now - self.tolerance_seconds - 1.0
        self._clocks = {name: clock for name, clock in self._clocks.items() if clock.ready_at >= before}

    def __len__(self) -> int:
        return len(self._clocks)

    def _pauses(self, request: Request) -> Pauses:
        if not self.policy or not request.host:
            return request.clocks
        pauses = dict(self.policy.of(request.host, request.ip))
        for name, pause in request.clocks.items():
            pauses[name] = max(pause, pauses.get(name, 0.0))
        return pauses
