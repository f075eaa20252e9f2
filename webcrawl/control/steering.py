"""Changes of a crawl from outside, while it runs or for its next run: settings, exclusions, delays, URLs.

The commands and the dashboard use the same methods. Every method may raise a CrawlError: the crawl cannot be reached,
or does not take the change; then nothing was changed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from webcrawl.config import SETTINGS, Configuration
from webcrawl.config.readers import real
from webcrawl.config.setting import DAY
from webcrawl.control.operating import find_state, this_operator
from webcrawl.errors import ConfigurationError, CrawlError, Problem
from webcrawl.features.beliefs.belief import ENDED, Belief
from webcrawl.features.steering.failures import FailureStore, Selection
from webcrawl.features.steering.kept_settings import settings_of_crawl
from webcrawl.features.steering.live_settings import LIVE, as_text, find_problems, normal, values_at_start
from webcrawl.features.steering.store import KEYS_MOST, Operation, Place, SteeringStore
from webcrawl.reports.text import second
from webcrawl.scope.exclusion import ExclusionError
from webcrawl.scope.exclusion_file import Exclusion
from webcrawl.storage.inspection import Activity
from webcrawl.urls.lists import hostname, printable
from webcrawl.urls.seeds import BadSeed, read_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.control.adding import Added
    from webcrawl.control.stored import StoredCrawl
    from webcrawl.explain.account import Explanation
    from webcrawl.features.beliefs.store import BeliefStore
    from webcrawl.features.steering.store import (
        ChangeNumbers,
        Excluded,
        HostDelay,
        JournalEntry,
        Override,
        WorkerState,
    )
    from webcrawl.features.traps.quarantine import Trap
    from webcrawl.storage.inspection import UrlSnapshot

Held = TypeVar("Held", bound=Belief)

ADDED_MOST = 1000
"""URLs that are judged and added at a time."""
URL_MOST = 8192
"""Characters of a URL that is added."""

ALL = "all"
"""The word that stands for all hosts or all traps."""
OBEY_SECONDS = 8.0
"""Time within which processes obey, unless they hang."""
EFFECT_POLL_SECONDS = 0.25
"""Interval at which the crawl is asked whether its processes have applied a change."""

_DEFAULTS = {item.name: item.default for item in SETTINGS}
_DELAY = real(0, DAY)


@dataclass(frozen=True, slots=True)
class SettingState:
    """A setting that can be changed while the crawl runs. Values are text, as on the command line."""

    name: str
    group: str
    value: str
    """The present value."""
    default: str | None
    """None for an argument of the spider."""
    started_with: str
    override: Override | None
    refused: Mapping[str, str]
    """The reasons why workers do not apply the override, by the names of the workers."""
    unit: str
    meaning: str
    allowed: str
    """Completes the sentence 'must be ...'."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that was made. ``old`` and ``new``: values as text."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Delayed:
    """The delay of a politeness key, in seconds. ``least``: the minimum of all keys, which holds if it is longer."""

    key: str
    seconds: float | None
    least: float


@dataclass(frozen=True, slots=True)
class SteeringState:
    """The changes that operators have made to a crawl, and those that its processes have applied."""

    overlay: Mapping[str, Override]
    excluded: Sequence[Excluded]
    delays: Mapping[str, HostDelay]
    waiting_urls: int
    """Added URLs that no process has queued yet."""
    is_paused: bool
    workers: Sequence[WorkerState]


def read_situation(crawl: StoredCrawl) -> SteeringState:
    """Return what operators have changed of a crawl."""
    return crawl.read_store(SteeringStore, _situation)


class Steering:
    """Changes one crawl, running or not."""

    def __init__(
        self,
        crawl: StoredCrawl,
        settings: BaseSettings,
        spider: str = "broad",
        arguments: Mapping[str, str] | None = None,
        allowed_domains: object = None,
    ) -> None:
        """``settings`` and the rest are for a crawl that has not said yet with which values it was started."""
        self._crawl = crawl
        self._settings = settings
        self._spider = spider
        self._given: dict[str, Any] = {"allowed_domains": allowed_domains, **(arguments or {})}

    def situation(self) -> SteeringState:
        """Return what operators have changed."""
        return read_situation(self._crawl)

    def journal(self, most: int = 100) -> list[JournalEntry]:
        """Return the last changes, the latest first."""
        return self._crawl.read_store(SteeringStore, lambda store: store.journal(most))

    def not_obeyed(
        self, kind: Literal["overlay", "excluded", "delays"], seconds: float = OBEY_SECONDS
    ) -> list[str]:
        """Wait until all processes that run have applied the last change of a kind; return the names of those that
        have not in ``seconds``: they hang, or are of a version that does not know such changes."""
        end = time.monotonic() + seconds
        while True:
            numbers, workers = self._crawl.read_store(SteeringStore, _versions)
            late = [
                worker.name
                for worker in self._crawl.running_workers()
                if (state := find_state(worker, workers)) is None
                or getattr(state, kind) < getattr(numbers, kind)
            ]
            if not late or time.monotonic() > end:
                return late
            time.sleep(EFFECT_POLL_SECONDS)

    # -- settings ----------------------------------------------------------------------------------------------

    def settings(self) -> list[SettingState]:
        """Return all settings that can be changed, in the order of their table."""
        steering = self.situation()
        start = self._start(steering)
        rows = []
        for name, item in LIVE.items():
            override = steering.overlay.get(name)
            default = None if item.is_argument else as_text(_DEFAULTS.get(name, self._settings.get(name)))
            rows.append(
                SettingState(
                    name,
                    item.group,
                    start.get(name, "") if override is None else override.value,
                    default,
                    start.get(name, ""),
                    override,
                    {
                        state.worker: state.refused[name]
                        for state in steering.workers
                        if name in state.refused
                    },
                    item.unit,
                    item.meaning,
                    item.reader.allowed,
                )
            )
        return rows

    def set(self, changes: Mapping[str, str | None], by: str | None = None) -> list[Changed]:
        """Change settings, all of them or none; None takes a change back. Return what was changed.

        :raises ConfigurationError: naming every name and value that is wrong
        """
        steering = self.situation()
        start = self._start(steering)
        overlay = {name: override.value for name, override in steering.overlay.items()}
        changes = {name: _normal(name, value) for name, value in changes.items()}
        unknown = [name for name in changes if name not in LIVE and changes[name] is None and name in overlay]
        asked = {name: value for name, value in changes.items() if name not in unknown}
        if problems := find_problems(asked, settings_of_crawl(self._settings, steering.workers), overlay):
            raise ConfigurationError(problems)
        who = by or this_operator()
        self._crawl.change_store(SteeringStore, lambda store, now: store.set_all(changes, who, now))
        return [
            Changed(
                name,
                overlay.get(name, start.get(name, "")),
                start.get(name, "") if value is None else value,
            )
            for name, value in changes.items()
        ]

    def _start(self, steering: SteeringState) -> Mapping[str, str]:
        """Return the values with which the crawl was started last."""
        started = [worker for worker in steering.workers if worker.start]
        if started:
            return max(started, key=attrgetter("at")).start
        configuration = Configuration.from_settings(self._settings)
        return values_at_start(self._settings, configuration, SimpleNamespace(**self._given)).texts()

    # -- exclusions and delays ---------------------------------------------------------------------------------

    def exclude(self, entry: str, reason: str = "", by: str | None = None) -> bool:
        """Exclude a domain or a URL prefix; return False if that was done before.

        :raises ConfigurationError: it is neither
        """
        text, who = _entry(entry), by or this_operator()
        return bool(
            self._crawl.change_store(SteeringStore, lambda store, now: store.exclude(text, who, now, reason))
        )

    def readmit(self, entry: str, by: str | None = None) -> bool:
        """Take an exclusion back; return False if there is none."""
        text, who = _entry(entry), by or this_operator()
        return bool(self._crawl.change_store(SteeringStore, lambda store, now: store.readmit(text, who, now)))

    def set_delay(self, host: str, seconds: float | str | None, by: str | None = None) -> Delayed:
        """Set the minimum delay of the politeness key of a host; None takes it back. A delay that is shorter than
        another minimum changes nothing.

        :raises ConfigurationError: the host or the delay is wrong
        """
        problems = []
        name = hostname(host.strip()) if len(host) <= URL_MOST else None
        if name is None:
            problems.append(
                Problem("", f"must be a host such as www.example.org, not {printable(host[:80])!r}")
            )
        if seconds is not None and (why := _DELAY.problem(seconds)):
            problems.append(Problem("", f"the delay {why} seconds"))
        if problems or name is None:
            raise ConfigurationError(problems)
        key = self._explained(f"http://{name}/").key
        value = None if seconds is None else float(seconds)
        who = by or this_operator()
        self._crawl.change_store(SteeringStore, lambda store, now: store.set_delay(key, value, who, now))
        least = next(setting.value for setting in self.settings() if setting.name == "POLITENESS_MIN_DELAY")
        return Delayed(key, value, float(least or 0))

    # -- hosts, failed URLs and traps --------------------------------------------------------------------------

    def parked(self) -> list[str]:
        """Return the hosts that are parked or given up, and have URLs; at most as many as one command takes."""
        keys: list[str] = []
        for some in self._crawl.hosts():
            at_rest = (host for host in some if host.is_parked or host.activity is Activity.GIVEN_UP)
            keys += [host.key for host in at_rest if host.queued]
            if len(keys) >= KEYS_MOST:
                break
        return keys[:KEYS_MOST]

    def unpark(
        self,
        hosts: Sequence[str],
        tell: Callable[[str], None],
        *,
        seconds: float | None = None,
        by: str | None = None,
    ) -> None:
        """Contact hosts again that are parked or given up, after their delays; see ``Health.unpark``. ``hosts`` may
        be ``all`` alone. ``tell`` gets sentences. ``seconds``: the time for which the processes are waited for; None
        for as long as it takes.

        :raises ConfigurationError: one is no host of the crawl :raises NotObeyed: see ``operating.operate``
        """
        # It imports the frontier.
        from webcrawl.frontier.unparking import rests

        if len(hosts) > KEYS_MOST:
            raise CrawlError(f"at most {KEYS_MOST:,} hosts at a time, not {len(hosts):,}")
        if list(hosts) == [ALL] and not (hosts := self.parked()):
            tell("no host is parked or given up")
        snapshots = {host: self._host(host) for host in hosts}
        if unknown := [host for host, snapshot in snapshots.items() if snapshot.key is None]:
            raise ConfigurationError(
                [Problem("", f"{printable(host[:200])} is no host of this crawl") for host in unknown]
            )
        keys = []
        for snapshot in snapshots.values():
            key = snapshot.key
            assert key is not None
            name, now = printable(key.record.key), snapshot.now
            if not key.queued:
                tell(f"{name} has no URLs in its queue")
            elif key.activity is not Activity.GIVEN_UP and not rests(key.record, now):
                tell(f"{name} is not parked")
            else:
                keys.append(key.record.key)
                if key.record.asked_until > now:
                    until = second(key.record.asked_until)
                    tell(f"{name} has asked to be left alone until {until} UTC: it is contacted then")
        if keys:
            self._crawl.command(Operation.UNPARK, tell=tell, arguments={"keys": keys}, seconds=seconds, by=by)

    def _host(self, host: str) -> UrlSnapshot:
        """Return what is known of a host, given by its name or by its politeness key."""
        key = host.strip()
        snapshot = self._crawl.snapshot(lambda settings: key, 0, f"http://{key}")
        name = hostname(key) if snapshot.key is None and len(key) <= URL_MOST else None
        if name is None:
            return snapshot
        key = self._explained(f"http://{name}/").key
        return self._crawl.snapshot(lambda settings: key, 0, f"http://{key}")

    def retry(
        self,
        host: str,
        error: str,
        tell: Callable[[str], None],
        *,
        seconds: float | None = None,
        by: str | None = None,
    ) -> int:
        """Fetch URLs again whose fetch failed; return how many are chosen. ``host`` and ``error``: see
        ``failures.Selection``; the rest is as for ``unpark``."""
        selection = Selection(host.strip().lower(), error.strip())
        number: int = self._crawl.read_store(FailureStore, lambda store: store.count(selection))
        if number:
            arguments = {"host": selection.host, "error": selection.error}
            self._crawl.command(Operation.RETRY, tell=tell, arguments=arguments, seconds=seconds, by=by)
            with self._crawl.url_states() as reader:
                keeps_states = reader.states_kept
            if not keeps_states:
                tell(
                    "FRONTIER_SEEN=bloom stores no results of URLs: those that are fetched now still count as failed"
                )
        else:
            tell("no URL that failed is chosen")
        return number

    def release(self, names: Sequence[str], by: str | None = None, *, is_trial: bool = False) -> list[Trap]:
        """Release traps, given by their ids or patterns, or all with ``all``; return those that were in quarantine.
        Their URLs are queued within seconds, or when the crawl runs again. ``is_trial``: change nothing.

        :raises ConfigurationError: one is unknown
        """
        # A crawl without traps does not need this import.
        from webcrawl.features.traps.store import TrapStore

        traps = self._crawl.read_store(TrapStore, TrapStore.beliefs)
        known = {name for trap in traps for name in (trap.id, trap.pattern)}
        if unknown := [name for name in names if name not in known and list(names) != [ALL]]:
            raise ConfigurationError(
                [Problem("", f"no trap of this crawl is called {printable(name[:500])}") for name in unknown]
            )
        chosen = [
            trap
            for trap in traps
            if trap.released_at is None and (list(names) == [ALL] or {trap.id, trap.pattern} & set(names))
        ]
        if is_trial or not chosen:
            return chosen
        patterns = [trap.pattern for trap in chosen]
        self._crawl.change_store(TrapStore, lambda store, now: store.undo(patterns, now))
        who = by or this_operator()
        self._crawl.change_store(SteeringStore, lambda store, now: store.note("release", patterns, who, now))
        after = {trap.pattern: trap for trap in self._crawl.read_store(TrapStore, TrapStore.beliefs)}
        return [after[pattern] for pattern in patterns]

    def undo_beliefs(
        self, store: type[BeliefStore[Held]], noun: str, names: Sequence[str], by: str | None = None
    ) -> list[Held]:
        """Undo DUST rules or mirrors, given by their ids, or all with ``all``; return those that were applied or
        being proved. Their URLs are queued within seconds, or when the crawl runs again. ``store``: the class of
        their store; ``noun``: what one is called.

        :raises ConfigurationError: one is unknown
        """
        beliefs = self._crawl.read_store(store, store.beliefs)
        are_all, known = list(names) == [ALL], {belief.id for belief in beliefs}
        if unknown := [name for name in names if name not in known and not are_all]:
            raise ConfigurationError(
                [
                    Problem("", f"no {noun} of this crawl is called {printable(name[:500])}")
                    for name in unknown
                ]
            )
        ids = [
            belief.id for belief in beliefs if belief.state not in ENDED and (are_all or belief.id in names)
        ]
        if not ids:
            return []
        self._crawl.change_store(store, lambda opened, now: opened.undo(ids, now))
        who = by or this_operator()
        self._crawl.change_store(SteeringStore, lambda opened, now: opened.note("undo", ids, who, now))
        return [belief for belief in self._crawl.read_store(store, store.beliefs) if belief.id in ids]

    # -- URLs --------------------------------------------------------------------------------------------------

    def add(self, urls: Sequence[str], by: str | None = None, *, are_first: bool = False) -> list[Added]:
        """Add URLs to the queue of the crawl, those that its rules allow and that it does not know; return what comes
        of each. A process of the crawl queues them within seconds; they do not allow private addresses.
        ``are_first``: they come before all others of their hosts, also those that are queued already.

        :raises CrawlError: there are too many
        """
        if len(urls) > ADDED_MOST:
            raise CrawlError(f"at most {ADDED_MOST:,} URLs at a time, not {len(urls):,}")
        places: dict[str, Place] = {}
        rows = [self._judge(url, places if are_first else None) for url in urls]
        queued = [row.url for row in rows if row.verdict == "queued"]
        who = by or this_operator()
        if queued:
            self._crawl.change_store(
                SteeringStore,
                lambda store, now: store.inject(queued, who, now, are_first=are_first, places=places),
            )
        return rows

    def _judge(self, text: str, places: dict[str, Place] | None) -> Added:
        """Judge a URL that is to be added. ``places``: gets its place, if it is queued and is to come first; None for
        one that waits for its turn."""
        # A change of a setting explains no URL.
        from webcrawl.control.adding import Added, added

        shown = printable(text, 200)
        if len(text) > URL_MOST:
            sentence = f"it has {len(text):,} characters; at most {URL_MOST:,} are allowed"
            return Added(shown, "invalid", None, "unknown", sentence)
        seed = read_seed(text.strip())
        if isinstance(seed, BadSeed):
            return Added(shown, "invalid", None, "unknown", seed.reason)
        explanation = self._explained(seed.url)
        return added(explanation, places)

    def _explained(self, url: str) -> Explanation:
        # It imports the parts of a crawl.
        from webcrawl.control.inquiry import WRONG, Inquiry, Question

        arguments = dict(self._given)
        domains = arguments.pop("allowed_domains")
        question = Question(url, spider=self._spider, arguments=arguments, allowed_domains=domains)
        try:
            configuration = Configuration.from_settings(self._settings)
            return Inquiry(self._settings, configuration, question).of_link(self._crawl)
        except WRONG as error:
            raise CrawlError(" ".join(str(error).split())) from error


async def _versions(store: SteeringStore) -> tuple[ChangeNumbers, list[WorkerState]]:
    return await store.numbers(), await store.workers()


async def _situation(store: SteeringStore) -> SteeringState:
    numbers = await store.numbers()
    return SteeringState(
        await store.overlay(),
        await store.excluded(),
        await store.delays(),
        await store.waiting(),
        numbers.is_paused,
        await store.workers(),
    )


def _entry(text: str) -> str:
    try:
        return Exclusion.read(text[: URL_MOST + 1]).text
    except ExclusionError as error:
        raise ConfigurationError([Problem("", str(error))]) from error


def _normal(name: str, value: str | None) -> str | None:
    return value if value is None or len(value) > URL_MOST else normal(name, value)
