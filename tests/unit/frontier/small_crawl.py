"""A frontier with everything around it made small and still: nothing moves unless the test says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.contract.samples import NOW
from tests.properties.simulation import Clock, Disk, Loop, Slow
from tests.properties.world import key_of, page
from webcrawl.archive.capture import ArchiveEntry, FetchRecord
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.lease import FetchEnd, Lease, Outcome, Result
from webcrawl.frontier.order import LevelSampler, Order, Scorer
from webcrawl.frontier.policies import FrontierLimits, Policies, RobotsPolicy
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.robots_requests import RobotsReply
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.health import Health
from webcrawl.robots.rules import RulesCache
from webcrawl.storage.memory.frontier import MemoryBackend

if TYPE_CHECKING:
    from collections.abc import Callable

DELAY = 5.0


class SmallCrawl:
    """Hosts of one domain share a key, and each is owed five seconds."""

    def __init__(
        self,
        *,
        admit: Callable[[UrlEntry], str | None] | None = None,
        scorer: Scorer | None = None,
        best_first: float | None = None,
        **limits: Any,
    ) -> None:
        self.scorer, self.best_first = scorer, best_first
        self.loop, self.clock, self.disk = Loop(), Clock(NOW), Disk()
        self.backend = MemoryBackend(delay_seconds=DELAY)
        self.limits = FrontierLimits(**{"commit_interval_seconds": 0.0, "reordering_share": 0.0} | limits)
        self.admit = admit or (lambda entry: None)
        self.troubles: list[BaseException] = []
        self.changes = 0
        self.frontier = self.opened()

    def opened(self) -> Frontier:
        frontier = Frontier(
            Slow(self.backend, self.disk),
            self.disk,
            self.policies(),
            self.limits,
            self.clock,
            changed=self._changed,
            broken=self.troubles.append,
        )
        self.loop.run(frontier.open())
        return frontier

    def policies(self) -> Policies:
        return Policies(
            order=Order("breadth_first", None, self.clock.now, scorer=self.scorer),
            best_first=self.best_first,
            sampler=LevelSampler(2.0, seed=1),
            politeness=Politeness("fixed", DELAY, 50.0, 0.0, crawl_delay_max=300.0),
            health=Health(failures_to_park=2, park_seconds=60.0),
            robots=RobotsPolicy(agents=("webcrawl",), rules=RulesCache(10, "webcrawl")),
            get_key=key_of,
            admit=self.admit,
            retry_times=1,
        )

    def _changed(self) -> None:
        self.changes += 1

    # -- what happens ----------------------------------------------------------------------------------------

    def add(self, *urls: str, **fields: Any) -> None:
        """Queue pages, given as ``host/path``."""
        entries = [page(*url.split("/", 1)) for url in urls]
        for entry in entries:
            for name, value in fields.items():
                setattr(entry, name, value)
        self.loop.call(self.frontier.add_entries, entries)
        self.rest()

    def rest(self) -> None:
        self.loop.settle_down(lambda: self.frontier.snapshot().stalled is not None)

    def lease(self) -> Lease | None:
        """What there is to fetch now."""
        for _ in range(3):
            lease = self.loop.call(self.frontier.next_lease)
            if lease is not None:
                return lease
            self.rest()
        return None

    def wait_for_lease(self) -> Lease:
        """What there is to fetch next; the clock moves on to it."""
        for _ in range(20):
            lease = self.lease()
            if lease is not None:
                return lease
            at = self.frontier.next_at()
            assert at is not None, "nothing will ever come"
            self.clock.now = max(self.clock.now, at)
        raise AssertionError("nothing comes")

    def end(self, lease: Lease, status: int | None = 200, **words: Any) -> None:
        """The response has ended."""
        self.loop.call(self.frontier.ended, lease, FetchEnd(self.clock.now, self.clock.now, status, **words))

    def settle(
        self, lease: Lease, result: Result = Result.FETCHED, status: int | None = 200, **words: Any
    ) -> None:
        """What the response gave was processed."""
        now = self.clock.now
        entry = lease.entry
        record = FetchRecord(
            now, now, entry.url, entry.key, None, "page", status, None, None, 0, None, None, 0, "w"
        )
        self.loop.call(self.frontier.settle, lease, Outcome(result, entry=ArchiveEntry(record), **words))
        self.rest()

    def fetch(self, lease: Lease, status: int = 200, result: Result = Result.FETCHED, **words: Any) -> None:
        self.end(lease, status)
        self.settle(lease, result, status, **words)

    def answer_robots(self, lease: Lease, status: int = 404, text: str = "", **words: Any) -> None:
        """A robots.txt came back."""
        assert lease.entry.kind == "robots"
        self.end(lease, status or None, error=words.get("error"))
        reply = RobotsReply(status, text.encode(), **words)
        self.settle(lease, robots=reply)

    def allow(self, host: str) -> None:
        """Let the crawl fetch a host's robots.txt, and find that there is none."""
        lease = self.wait_for_lease()
        assert lease.entry.url == f"http://{host}/robots.txt"
        self.answer_robots(lease)

    def redirect_robots(self, lease: Lease, location: str) -> None:
        self.answer_robots(lease, 301, location=location, location_key=key_of(location))

    def is_finished(self) -> bool:
        for _ in range(3):
            if self.loop.call(self.frontier.is_finished):
                return True
            self.rest()
        return False

    def restart(self) -> None:
        """End the crawl cleanly, and take it up again."""
        self.loop.run(self.frontier.close())
        self.frontier = self.opened()

    def dispose(self) -> None:
        self.loop.kill()
        self.loop.close()
        for trouble in self.troubles:
            raise trouble
