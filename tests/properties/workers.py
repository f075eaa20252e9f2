"""Workers of one crawl on one Redis, in one process: their time, their turns and their accidents are the test's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.contract.driven import IDENTITY
from tests.properties.redis_exchanges import Line
from tests.properties.world import key_of
from webcrawl.frontier.frontier import Frontier
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.leases import ServerClock
from webcrawl.storage.redis.names import RedisOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from redis import Redis

    from tests.properties.journal import Journal
    from tests.properties.shared_world import Flight
    from webcrawl.frontier.committer import Store
    from webcrawl.frontier.policies import FrontierLimits, Policies

PATIENT_TURNS = 20_000
"""After so many turns of a loop without coming to rest something runs in circles."""


class Time:
    """Seconds that pass when they are told to: the server's clock, and the uptime of the machine."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class LateClock(ServerClock):
    """What a worker knows of the server's clock: it is late by ``slack_seconds``."""

    def __init__(self, time: Time, slack_seconds: float) -> None:
        super().__init__()
        self._time = time
        self.slack_seconds = slack_seconds

    def __call__(self) -> float:
        return self._time.now - self.slack_seconds

    @property
    def given(self) -> float | None:
        return self._time.now

    def update(self, server_time: float, sent_at: float, received_at: float) -> None:
        """What the server's clock shows is of no interest."""


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, time: Time) -> None:
        self._given_time, self._began = time, time.now
        super().__init__()

    def time(self) -> float:
        # Small enough for the clock's resolution not to get lost in it.
        return self._given_time.now - self._began

    @property
    def rests(self) -> bool:
        """Whether nothing is left to be done before time passes."""
        waits: list[asyncio.TimerHandle] = self._scheduled
        due = any(
            wait.when() < self.time() + self._clock_resolution for wait in waits if not wait.cancelled()
        )
        return not self._ready and not due


class Turns:
    """An event loop that goes by a given time and takes turns only when it is told to."""

    def __init__(self, time: Time) -> None:
        self._loop = _Loop(time)
        self._runner = asyncio.Runner(loop_factory=lambda: self._loop)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        async def calling() -> Any:
            return function(*args)

        return self._runner.run(calling())

    def turn(self, turns: int) -> None:
        async def turning() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self._runner.run(turning())

    def settle_down(self) -> None:
        """Take turns until everything waits for time to pass."""

        async def settling() -> None:
            for _ in range(PATIENT_TURNS):
                await asyncio.sleep(0)
                if self._loop.rests:
                    return
            raise AssertionError(f"it does not come to rest: {asyncio.all_tasks()}")

        self._runner.run(settling())

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = self.call(lambda: asyncio.get_running_loop().create_task(work))
        return task

    def kill(self) -> None:
        """End everything that is under way where it stands, and the loop with it."""
        tasks = asyncio.all_tasks(self._runner.get_loop())
        for task in tasks:
            task.cancel()

        async def ending() -> None:
            await asyncio.gather(*tasks, return_exceptions=True)

        self._runner.run(ending())
        self._runner.close()


class Worker:
    """One process of the crawl: a frontier with its loop, its line to Redis and the requests it has open."""

    def __init__(
        self,
        name: str,
        time: Time,
        client: Redis,
        journal: Journal,
        options: RedisOptions,
        slack_seconds: float,
        make: Callable[[Worker], tuple[Store, Policies, FrontierLimits]],
    ) -> None:
        self.name = name
        self.turns = Turns(time)
        self.line = Line(client, journal)
        self.clock = LateClock(time, slack_seconds)
        self.frozen = self.gone = False
        self.flights: dict[int, Flight] = {}
        self.settled: set[int] = set()
        """Leases that were settled; some of them are not durable yet."""
        self.troubles: list[BaseException] = []
        self.backend = RedisBackend(
            {"line": self.line}, options, IDENTITY, lambda origin: key_of(f"{origin}/"), self.clock
        )
        store, policies, limits = make(self)
        self.frontier = Frontier(
            self.backend,
            store,
            policies,
            limits,
            self.clock,
            broken=self.troubles.append,
        )

    @property
    def is_well(self) -> bool:
        return not self.frozen and not self.gone

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.turns.call(function, *args)

    def let_go(self) -> None:
        """Leases whose outcome is durable are over."""
        for lease_id in self.settled & self.flights.keys():
            if lease_id not in self.frontier._unsettled:
                del self.flights[lease_id]
