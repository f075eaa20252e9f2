"""Wiring of steering: looks once a second for what operators asked of the crawl, and obeys."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scrapy.settings import SETTINGS_PRIORITIES

from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import CrawlError
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.steering.commands import CommandError, Commands
from webcrawl.features.steering.effects import Effects
from webcrawl.features.steering.failures import AT_ONCE as FAILURES_AT_ONCE
from webcrawl.features.steering.failures import FailedUrl, FailureStore, is_failure
from webcrawl.features.steering.kept_settings import kept_settings
from webcrawl.features.steering.live_settings import LIVE, changed, find_problems, values_at_start
from webcrawl.features.steering.store import (
    COMMANDS_MOST,
    LASTING,
    ChangeNumbers,
    Place,
    SteeringStore,
    WorkerState,
)
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.storage.contract import SharedBackend, uptime
from webcrawl.urls.lists import printable
from webcrawl.urls.schemes import resolve_any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.steering.live_settings import Values
    from webcrawl.features.steering.store import Excluded, HostDelay, Injected, OperatorRequest, Override
    from webcrawl.storage.contract import Counts

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 1.0
"""Interval between two looks."""
TAKEN_AT_ONCE = 500
"""Injected URLs that are queued together."""
CLAIM_SECONDS = 30.0
"""Time for which one worker alone queues injected URLs; it renews it."""
FIRST_SECONDS = 60.0
"""Time for which it is tried to bring a queued URL forward: it may be in the hands of any worker."""
FAILED_MOST = 10_000
"""URLs that failed and wait for a storage that is away."""
WORKERS_KEPT = 200
"""Workers whose states are kept."""
ANSWER_MOST = 2000
"""Characters of an answer to a command."""
_SHOWN_MOST = 200


class SteeringFeature(Feature):
    """Obeys what operators asked of one crawl: settings, excluded sites, delays of hosts, URLs and commands.

    What the storage had at the start is in force before the first request.
    """

    def __init__(self, parts: Parts) -> None:
        self._worker = parts.configuration.worker_name
        self._clock = parts.clock
        self.store = SteeringStore(parts.backend.tables)
        self._shared = parts.backend if isinstance(parts.backend, SharedBackend) else None
        self._born_at = parts.clock()
        self._failures = FailureStore(parts.backend.tables)
        self._failed: list[FailedUrl] = []
        """URLs that failed, and are not in the store yet."""
        self._early: list[OperatorRequest] = []
        """Commands that were given since this process began, or wait since before."""
        self._lasting: set[asyncio.Task[None]] = set()
        """Commands that are being carried out, for which the crawl stays open."""
        self._ends_with_others = False
        """True if the crawl was stopped, and others still obey."""
        self._looked_at = uptime()
        self._commands: Commands | None = None
        self._obeying: set[asyncio.Task[None]] = set()
        """The commands that are being carried out."""
        self._numbers = ChangeNumbers()
        self._overlay: dict[str, Override] = {}
        self._delays: dict[str, HostDelay] = {}
        self._excluded: list[Excluded] = []
        self._state = WorkerState(self._worker, 0.0, socket.gethostname(), os.getpid())
        self._published: WorkerState | None = None
        self._has_urls = True
        """True if URLs may wait to be taken."""
        self._looking = asyncio.Lock()
        self._quiet_at = float("-inf")
        """The time of the last look at the end of the crawl that found nothing, by the event loop's clock."""
        self._last_look: asyncio.Task[None] | None = None
        self._taking: asyncio.Task[None] | None = None
        self._ticking = PeriodicTask(REFRESH_SECONDS, self._look, at_once=True)

    # -- life --------------------------------------------------------------------------------------------------

    async def open(self, counts: Counts) -> None:
        self._numbers = numbers = await self.store.numbers()
        await self._read(numbers, ChangeNumbers())
        requests = await self.store.requests()
        answered = {number for state in await self.store.workers() for number in state.answers}
        self._early = [
            request
            for request in requests
            if request.at >= self._born_at
            or (request.command in LASTING and str(request.number) not in answered)
        ]
        if numbers.is_stopped and numbers.stopped_at < self._born_at:
            if self._shared is not None and await self._shared.count_workers_before(numbers.stopped_at):
                self._ends_with_others = True
            else:
                await self.store.go_on()

    def begins_paused(self) -> bool:
        if self._numbers.is_paused:
            logger.warning(
                "The crawl is paused by its operator, since before this start: nothing is fetched until "
                "`scrapy resume`"
            )
        return self._numbers.is_paused or self._ends_with_others

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._context, self._scheduler = context, scheduler
        self._settings: BaseSettings = scheduler.crawler.settings
        self._start = values_at_start(self._settings, context.configuration, scheduler.spider)
        self._values = self._start
        self._effects = Effects(context, scheduler)
        self._commands = Commands(context, scheduler, self._failures)
        start = self._start.texts()
        self._state = replace(
            self._state,
            start=start,
            kept=kept_settings(self._settings, start),
            command=self._numbers.commands,
            at=self._clock(),
        )
        if self._overlay or self._delays:
            self._apply_overlay({}, is_start=True)
        self._apply_exclusions()
        self._state = replace(
            self._state,
            overlay=self._numbers.overlay,
            excluded=self._numbers.excluded,
            delays=self._numbers.delays,
        )
        self._looked_at = uptime()
        if self._shared is not None:
            context.frontier.listen(self._is_unheard)
        for request in self._early:
            self._take_up(request)
        if self._ends_with_others:
            logger.warning(
                "The crawl was stopped by its operator, and other workers still obey: this one ends too"
            )
            scheduler.stop()
        self._ticking.begin()

    def _is_unheard(self) -> bool:
        """Return True if it is not known what operators want now, as after a freeze."""
        assert self._shared is not None
        return uptime() - self._looked_at > self._shared.silence_seconds

    async def before_close(self) -> None:
        self._ticking.end()
        await stop(self._last_look)
        # URLs that are not queued by then wait in the storage for the next run.
        await stop(self._taking)
        for task in list(self._obeying):
            await stop(task)
        if self._commands is not None:
            await self._commands.close()

    def settled(self, flight: InFlightRequest) -> None:
        """Note a URL that failed for good."""
        entry, outcome = flight.lease.entry, flight.outcome
        if entry.kind not in (Kind.PAGE, Kind.SITEMAP) or flight.lease.validity.is_over():
            return
        record = None if outcome.entry is None else outcome.entry.record
        status = None if record is None else record.status
        tries_again = outcome.result is Result.RETRY and entry.attempts < self._context.policies.retry_times
        if outcome.result in (Result.FAILED, Result.RETRY) and not tries_again:
            error = outcome.rule or (record and record.error) or str(status or "other")
        elif outcome.result is Result.FETCHED and status is not None and is_failure(status):
            error = str(status)
        else:
            return
        if len(self._failed) < FAILED_MOST:
            self._failed.append(FailedUrl(entry, error, self._clock()))

    async def _keep_failures(self) -> None:
        """Store the URLs that failed. A storage that is away or full gets them at a later look."""
        failed, self._failed = self._failed, []
        try:
            for first in range(0, len(failed), FAILURES_AT_ONCE):
                await self._failures.add(failed[first : first + FAILURES_AT_ONCE])
        except CrawlError:
            self._failed = failed + self._failed

    async def drained(self) -> None:
        await self._keep_failures()

    def keeps_open(self) -> bool:
        """Return whether an idle crawl must wait: until it is known that no URLs wait to be taken."""
        if self._context.frontier.is_closing():
            return False
        if self._lasting:
            return True
        if asyncio.get_running_loop().time() - self._quiet_at < REFRESH_SECONDS:
            return False
        if self._last_look is None or self._last_look.done():
            self._last_look = self._scheduler.run_beside(self._look_at_end())
        return True

    async def _look_at_end(self) -> None:
        with suppress(CrawlError):  # the crawl has other tables, and knows by them whether it can end
            await self._look()
        if self._taking is not None:
            await asyncio.wait([self._taking])
        if not self._has_urls:
            self._quiet_at = asyncio.get_running_loop().time()
        self._scheduler.wake()

    # -- looking -----------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        async with self._looking:
            began_at = uptime()
            numbers = await self.store.numbers()
            if numbers != self._numbers:
                await self._obey(numbers)
            # Commands are tasks: a pause begins before the engine asks again.
            await asyncio.sleep(0)
            was_unheard = self._shared is not None and self._is_unheard()
            self._looked_at = began_at
            if was_unheard:
                self._scheduler.wake()
            if self._has_urls and (self._taking is None or self._taking.done()):
                # A full storage may keep it waiting for long.
                self._taking = self._scheduler.run_beside(self._take_urls())
            if self._published != self._state:
                await self._publish()
            await self._keep_failures()

    async def _obey(self, numbers: ChangeNumbers) -> None:
        before, overlay, delays = self._numbers, self._overlay, self._delays
        has_commands = numbers.commands != before.commands
        requests = await self.store.requests(before.commands) if has_commands else []
        await self._read(numbers, before)
        # All was read: a look that fails before is repeated.
        self._numbers = numbers
        self._has_urls = self._has_urls or numbers.urls != before.urls
        if numbers.overlay != before.overlay:
            self._apply_overlay(overlay)
        if numbers.excluded != before.excluded:
            self._apply_exclusions()
        if numbers.delays != before.delays:
            self._effects.change_frontier(self._values, self._seconds())
            self._tell_delays(delays)
        self._state = replace(
            self._state, overlay=numbers.overlay, excluded=numbers.excluded, delays=numbers.delays
        )
        for request in requests:
            self._take_up(request)

    def _take_up(self, request: OperatorRequest) -> None:
        """Begin to carry out a command. The next one does not wait for its end: a checkpoint takes minutes."""
        name = printable(request.command)
        logger.info("%s asked the crawl to %s", printable(request.by), name)
        self._state = replace(self._state, command=request.number)
        task = asyncio.get_running_loop().create_task(self._carry_out(request))
        self._obeying.add(task)
        task.add_done_callback(self._obeying.discard)
        if request.command in LASTING:
            self._lasting.add(task)
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._lasting.discard(task)
        self._scheduler.wake()

    async def _read(self, numbers: ChangeNumbers, before: ChangeNumbers) -> None:
        """Read what has changed."""
        if numbers.overlay != before.overlay:
            self._overlay = await self.store.overlay()
        if numbers.excluded != before.excluded:
            self._excluded = await self.store.excluded()
        if numbers.delays != before.delays:
            self._delays = await self.store.delays()

    async def _publish(self) -> None:
        if self._published is None:
            await self.store.forget_workers(WORKERS_KEPT - 1)
        # Commands are answered meanwhile.
        state = self._state
        await self.store.acknowledge(replace(state, at=self._clock()))
        self._published = state

    async def _carry_out(self, request: OperatorRequest) -> None:
        """Carry out a command, and publish the result: each way out of this method is an answer, but the end of
        the process."""
        assert self._commands is not None
        result, why = None, ""
        try:
            result = await self._commands.carry_out(request)
        except CommandError as error:
            why = str(error)
        except Exception as error:
            # The operator must learn of it, whatever it is.
            logger.exception("The command %s of an operator failed", printable(request.command))
            why = f"{type(error).__name__}: {error}"
        if why:
            logger.warning("Not obeyed: %s, as %s asked: %s", request.command, printable(request.by), why)
        self._answer(request.number, why or "", result)
        # A storage that is away or full gets the answer at a later look.
        with suppress(CrawlError):
            async with self._looking:
                await self._publish()

    def _answer(self, number: int, why: str, result: str | None) -> None:
        answers = {**self._state.answers, str(number): " ".join(why.split())[:ANSWER_MOST]}
        results = {**self._state.results, **({} if result is None else {str(number): result})}
        oldest = sorted(map(int, answers))[-COMMANDS_MOST:][0]
        self._state = replace(
            self._state,
            answers={key: text for key, text in answers.items() if int(key) >= oldest},
            results={key: text for key, text in results.items() if int(key) >= oldest},
        )

    # -- settings ----------------------------------------------------------------------------------------------

    def _apply_overlay(self, before: Mapping[str, Override], *, is_start: bool = False) -> None:
        """Apply the overrides; those that this process cannot apply are named in its state."""
        overlay, refused = self._checked()
        was, values = self._values, changed(self._start, self._settings, overlay)
        moved = [name for name in LIVE if before.get(name) != self._overlay.get(name)]
        try:
            self._effects.apply(values, moved, self._seconds())
            self._values = values
        except (ValueError, OSError) as error:
            # A file of rules has become wrong since it was checked.
            refused |= dict.fromkeys(moved, " ".join(str(error).split()))
        self._state = replace(self._state, refused=refused)
        for name in dict.fromkeys((*moved, *refused)):
            self._tell_setting(name, was, refused.get(name), is_start=is_start)

    def _checked(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the overrides that can be applied, and why the others cannot."""
        by_time = sorted(self._overlay.items(), key=lambda item: (item[1].at, item[0]))
        refused = {name: "this version cannot change it" for name, _ in by_time if name not in LIVE}
        overlay = {name: override.value for name, override in by_time if name in LIVE}
        while problems := find_problems(overlay, self._settings, {}):
            named = [problem.name for problem in problems if problem.name in overlay]
            for problem in problems:
                refused[problem.name if named else next(reversed(overlay))] = problem.message
            # If another setting has the problem, the last change has made it.
            for name in named or [next(reversed(overlay))]:
                overlay.pop(name, None)
        return overlay, refused

    def _tell_setting(self, name: str, was: Values, refusal: str | None, *, is_start: bool) -> None:
        override = self._overlay.get(name)
        if refusal is not None:
            logger.warning("The changed value of %s is not applied: it %s", printable(name), refusal)
            return
        new, old = self._values.texts()[name], was.texts()[name]
        if override is None:
            logger.info("%s is %s again, as at the start; it was %s", name, _shown(new), _shown(old))
        elif not is_start:
            logger.info(
                "%s is %s now, it was %s: set by %s", name, _shown(new), _shown(old), printable(override.by)
            )
        elif new != old and (self._settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]:
            logger.warning(
                "%s is %s, as %s set it while the crawl ran, and not %s as given at this start; "
                "`scrapy set --reset %s` takes the change back",
                name,
                _shown(new),
                printable(override.by),
                _shown(old),
                name,
            )
        else:
            logger.info(
                "%s is %s, as %s set it while the crawl ran", name, _shown(new), printable(override.by)
            )

    # -- exclusions and delays ---------------------------------------------------------------------------------

    def _apply_exclusions(self) -> None:
        exclusions = self._context.exclusions
        assert exclusions is not None
        before = exclusions.version
        exclusions.add((exclusion.entry, exclusion.reason) for exclusion in self._excluded)
        if exclusions.version != before:
            # Links of sites that are readmitted are taken when they are found again.
            self._context.intake.forget()
            number = len(self._excluded)
            logger.info(
                "Excluded by operators: %d entries, list version %s", number, exclusions.version or "none"
            )

    def _seconds(self) -> dict[str, float]:
        return {key: delay.seconds for key, delay in self._delays.items()}

    def _tell_delays(self, before: Mapping[str, HostDelay]) -> None:
        for key in sorted({*before, *self._delays}):
            now = self._delays.get(key)
            if now == before.get(key):
                continue
            if now is None:
                logger.info("%s has no delay of its own any more", printable(key))
            else:
                by = printable(now.by)
                logger.info("%s has a delay of at least %g s: set by %s", printable(key), now.seconds, by)

    # -- URLs --------------------------------------------------------------------------------------------------

    async def _take_urls(self) -> None:
        """Queue the URLs that wait, unless another worker does. A URL is deleted when it is durably queued: if this
        process is killed before, another one queues it again, and the seen test removes doubles."""
        store, with_retry = self.store, self._context.frontier.with_retry
        left: set[bytes] = set()
        while taken := await with_retry(partial(store.injected, TAKEN_AT_ONCE + len(left))):
            taken = [injected for injected in taken if injected.id not in left]
            if not taken:
                # Each process holds some hosts, and looks at what the others have left.
                return
            moved, waiting = await self._bring_forward(
                [injected for injected in taken if injected.place is not None]
            )
            left.update(injected.id for injected in waiting)
            new = [injected for injected in taken if injected.place is None]
            if new and not await with_retry(partial(store.claim_urls, self._worker, CLAIM_SECONDS)):
                await with_retry(partial(store.queued, moved))
                return
            entries = [entry for injected in new if (entry := self._entry(injected)) is not None]
            if entries and not await self._scheduler.add_seeds(entries):
                # The crawl ends; the URLs stay for the next run.
                return
            await with_retry(partial(store.queued, [*moved, *new]))
            if new:
                logger.info("%d of %d added URLs are in scope and queued", len(entries), len(new))
        self._has_urls = False

    async def _bring_forward(self, asked: Sequence[Injected]) -> tuple[list[Injected], list[Injected]]:
        """Move queued URLs to the front of their queues. Return those of which nothing is left to be done, and those
        that are left: another process holds their hosts."""
        over: list[Injected] = []
        left: list[Injected] = []
        backend, frontier = self._context.backend, self._context.frontier
        for injected in asked:
            assert injected.place is not None
            place = Place(**injected.place)
            entry = UrlEntry(injected.url, place.key, place.fingerprint, place.level, place.position)
            if await frontier.bring_forward(entry):
                logger.info(
                    "%s comes first now, as %s asked", printable(injected.url), printable(injected.by)
                )
                over.append(injected)
                continue
            record = await frontier.with_retry(partial(backend.url_record, place.key, place.fingerprint))
            is_over = record is not None and record.state is not State.QUEUED
            if not is_over and self._clock() - injected.at > FIRST_SECONDS:
                logger.warning(
                    "%s could not be brought forward: it has another place by now", printable(injected.url)
                )
                is_over = True
            (over if is_over else left).append(injected)
        return over, left

    def _entry(self, injected: Injected) -> UrlEntry | None:
        """Return the entry of an injected URL, as of a link; None if the scope refuses it. It does not allow its
        host: an operator of a dashboard must not reach private addresses."""
        url = resolve_any(injected.url, "about:blank")
        entry = "url" if url is None else self._context.intake.link_entry(url, 0, None)
        if isinstance(entry, str):
            logger.info("Added URL refused (%s): %s", entry, printable(injected.url))
            return None
        return self._context.frontier.place_first(entry) if injected.is_first else entry


def build(parts: Parts) -> SteeringFeature:
    """Return the steering of a crawl whose state other processes can read."""
    return SteeringFeature(parts)


def _shown(value: str) -> str:
    return printable(value, _SHOWN_MOST) if value else "not set"
