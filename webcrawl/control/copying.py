"""``scrapy frontier copy``: the crawl of a JOBDIR as a crawl that several processes share.

The target gets what the storage keeps: URLs in their states, queues in their order, the records of hosts with their
clocks, robots.txt, and the tables of features with what operators have changed. Every step can be repeated, so a copy
that was interrupted goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

from webcrawl.config import Configuration
from webcrawl.control.local import LocalCrawl
from webcrawl.control.operating import this_operator
from webcrawl.control.selection import require_crawl, select_crawl_in
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.rules import CrawlRules
from webcrawl.crawl.seeded_hosts import NAME as SEED_ADDRESSES
from webcrawl.crawl.seeded_hosts import read_kept
from webcrawl.crawl.storage import build_backend, identity_settings
from webcrawl.errors import CrawlError, JobdirUnusable, NoSuchCrawl, StorageAway, StorageFull
from webcrawl.features.content_seen.store import SPEC as CONTENTS
from webcrawl.features.dust.store import PAGES as DUST_PAGES
from webcrawl.features.dust.store import SPEC as DUST
from webcrawl.features.hints.store import SPEC as HINTS
from webcrawl.features.mirrors.store import SPEC as MIRRORS
from webcrawl.features.near_duplicates.store import SPEC as SKETCHES
from webcrawl.features.revisits.store import LESSONS, PAGES
from webcrawl.features.steering.failures import SPEC as FAILURES
from webcrawl.features.steering.kept_settings import arguments_of_crawl, settings_of_crawl
from webcrawl.features.steering.store import SPEC as STEERING
from webcrawl.features.steering.store import Operation, SteeringStore
from webcrawl.features.traps.store import SPEC as TRAPS
from webcrawl.features.websub.store import SPEC as SUBSCRIPTIONS
from webcrawl.frontier.records import UrlEntry
from webcrawl.reports import text
from webcrawl.reports.standing import SILENT_SECONDS
from webcrawl.storage import technology_in
from webcrawl.storage.contract import Activated, Batch, Settled, SharedBackend
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.frontier.records import UrlRecord
    from webcrawl.politeness.host_record import HostRecord
    from webcrawl.storage.contract import Committed
    from webcrawl.storage.inspection import CrawlStatus, WholeCrawl
    from webcrawl.storage.tables import Table, TableSpec

TABLES = (
    FAILURES,
    TRAPS,
    DUST,
    DUST_PAGES,
    MIRRORS,
    HINTS,
    PAGES,
    LESSONS,
    SUBSCRIPTIONS,
    CONTENTS,
    SKETCHES,
)
"""The tables of features that are copied, too. The time series stay: they are of one process."""
AT_ONCE = 500
"""URLs, answers or rows of a step."""
SILENCE_POLL_SECONDS = 0.5
"""Interval at which workers are checked for silence."""


@dataclass(slots=True)
class CopyCounts:
    """The numbers of things that were copied."""

    hosts: int = 0
    queued: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    """URLs that are done, failed or refused."""
    robots: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    """Rows by the names of their tables."""
    learned: int = 0
    """Pages from which a focused crawl has learned its link scores."""

    def lines(self) -> Iterator[str]:
        states = ", ".join(
            f"{text.count(self.settled[name])} {name}" for name in ("done", "failed", "refused")
        )
        yield f"URLs    {text.count(self.queued)} queued, {states}"
        yield f"hosts   {text.count(self.hosts)}"
        yield f"robots  {text.things(self.robots, 'answer')}"
        if self.rows:
            yield f"tables  {', '.join(f'{name} {text.count(number)}' for name, number in self.rows.items())}"
        if self.learned:
            yield f"scores  learned from {text.things(self.learned, 'page')}"


class SharedCopy:
    """The copy of the crawl in ``folder`` that the settings name. Its methods may raise CrawlError."""

    def __init__(self, settings: BaseSettings, folder: Path, spider: str) -> None:
        """:raises CrawlError: there is no such crawl, or the settings name no shared one"""
        technology = technology_in(folder)
        source = None if technology is None else select_crawl_in(folder, technology)
        if not isinstance(source, LocalCrawl):
            raise CrawlError(f"{folder} is no crawl of one process with a frontier on disk")
        self._folder = folder
        self._source: LocalCrawl = source
        self._spider = spider
        workers = source.read_store(SteeringStore, SteeringStore.workers)
        self._is_paused = source.read_store(SteeringStore, SteeringStore.numbers).is_paused
        self._settings = settings_of_crawl(settings, workers)
        self._arguments = SimpleNamespace(**arguments_of_crawl(workers))
        self._configuration = Configuration.from_settings(self._settings)
        self._choices = CrawlRules(self._configuration)
        if not self._configuration.storage.is_shared:
            raise CrawlError("to which crawl? give the REDIS_URL after the JOBDIR")

    def carry_out(self, *, again: bool) -> Iterator[str]:
        """Copy; yield lines for the user. ``again``: go on with a copy that was interrupted."""
        target = require_crawl(self._settings, self._spider)
        with suppress(NoSuchCrawl):
            status = target.status()
            if not again:
                raise CrawlError(f"{target.name} exists; --again goes on with a copy that was interrupted")
            _wait_for_silence(target, status)
        jobdir = Jobdir(self._folder)
        jobdir.hold()
        try:
            with self._source.whole() as whole:
                self._refuse(whole)
                copied = asyncio.run(self._copy(whole))
        finally:
            jobdir.leave()
        yield from copied.lines()
        yield f"{self._source.name} is copied to {target.name}"
        yield f"its graphs, archive and logs stay in {self._folder}"
        yield "start its workers with this REDIS_URL, each with a new JOBDIR"

    def _refuse(self, whole: WholeCrawl) -> None:
        if not whole.states_kept:
            raise CrawlError(f"{self._folder} cannot be copied: a Bloom filter cannot list what it has seen")
        for name, here in identity_settings(self._configuration, self._choices).items():
            if (there := whole.begun_with.get(name, here)) != here:
                raise JobdirUnusable(
                    f"{self._folder} was begun with {name}={there}, not {here}; give -s {name}=..."
                )

    async def _copy(self, whole: WholeCrawl) -> CopyCounts:
        backend, _ = build_backend(
            self._configuration, self._choices, self._settings, None, self._spider, self._arguments
        )
        assert isinstance(backend, SharedBackend)
        tables = {spec: backend.tables.table(spec) for spec in (STEERING, *TABLES)}
        steering = SteeringStore(backend.tables)
        target = _CopyTarget(backend)
        await backend.open(time.time())
        try:
            await target.copy_rows(whole, STEERING, tables[STEERING])
            # A worker that is started meanwhile, or after a copy that was interrupted, fetches nothing.
            await steering.request(Operation.PAUSE, this_operator(), time.time())
            if named := list(read_kept(self._folder / SEED_ADDRESSES)):
                await backend.allow_hosts(named)
            for record in whole.hosts():
                await target.copy_host(whole, record)
            for answers in whole.robots(AT_ONCE):
                await target.commit(Batch(robots=list(answers)))
                target.copied.robots += len(answers)
            for counted in whole.counted():
                await target.commit(Batch(counted=counted))
            for spec in TABLES:
                await target.copy_rows(whole, spec, tables[spec])
            target.copied.learned = await self._copy_learned(backend)
            if not self._is_paused:
                await steering.request(Operation.RESUME, this_operator(), time.time())
        finally:
            await backend.close()
        return target.copied

    async def _copy_learned(self, backend: SharedBackend) -> int:
        """Copy what a focused crawl has learned, unless workers have gone on learning; return from how many pages."""
        # Few crawls are focused.
        from webcrawl.features.focus.learner import Learner
        from webcrawl.features.focus.store import load

        if (loaded := load(self._folder)) is None:
            return 0
        learner, focus = loaded
        if not await backend.learner_store(focus).begin(Learner()):
            await backend.learner_store(focus).step(learner, time.monotonic(), last=True)
        return learner.weights.learned


class _CopyTarget:
    """The shared crawl, and what it has got. Its lease is renewed while the copy goes on."""

    def __init__(self, backend: SharedBackend) -> None:
        self._backend = backend
        self._renewed_at = time.monotonic()
        self.copied = CopyCounts()

    async def _renew(self) -> None:
        now = time.monotonic()
        if now - self._renewed_at >= self._backend.heartbeat_seconds:
            self._renewed_at = now
            await self._backend.heartbeat({})

    async def commit(self, batch: Batch) -> Committed:
        await self._renew()
        return await self._backend.commit(batch)

    async def copy_rows(self, whole: WholeCrawl, spec: TableSpec, table: Table) -> None:
        for change in whole.rows(spec, AT_ONCE):
            await self._renew()
            await table.update([change])
            self.copied.rows[spec.name] += len(change.put)

    async def copy_host(self, whole: WholeCrawl, record: HostRecord) -> None:
        for known in whole.settled(record.key, AT_ONCE):
            await self._copy_settled(record.key, known)
            self.copied.settled.update(one.state.name.lower() for _, one in known)
        for entries in whole.queue(record.key, AT_ONCE):
            committed = await self.commit(Batch(discovered=list(entries)))
            if committed.turned_away:
                raise StorageFull("the shared storage has no room for the URLs; copy --again when it has")
            self.copied.queued += len(entries)
        # Its clock holds from the first moment on at which a worker could contact it.
        held = await self._backend.acquire_key(record.key, time.time(), given_up=True)
        if not isinstance(held, Activated):
            raise StorageAway(
                f"{printable(record.key)} is held by a process that was killed or cut off; copy --again when its "
                "lease has ended, after LEASE_SECONDS"
            )
        await self._backend.release_keys([replace(record, fence=held.record.fence)])
        self.copied.hosts += 1

    async def _copy_settled(self, key: str, known: Sequence[tuple[int, UrlRecord]]) -> None:
        """Enter URLs of which only the fingerprints are left: they are queued for a moment, and settled at once."""
        entries = [
            UrlEntry(f"http://{key}/", key, fingerprint, position=number)
            for number, (fingerprint, _) in enumerate(known)
        ]
        await self.commit(Batch(discovered=entries))
        settled = [Settled(entry, one) for entry, (_, one) in zip(entries, known, strict=True)]
        await self.commit(Batch(settled=settled))


def _wait_for_silence(target: StoredCrawl, status: CrawlStatus) -> None:
    """Wait until no worker has had a heartbeat for ten seconds: one that was killed has not left. :raises CrawlError:
    one runs"""
    before = {worker.name: worker.heartbeat_at for worker in status.workers}
    while alive := [one for one in status.workers if status.now - one.heartbeat_at < SILENT_SECONDS]:
        if any(one.heartbeat_at > before.get(one.name, 0.0) for one in alive):
            raise CrawlError(f"{target.name} is running; stop it first: scrapy stop")
        time.sleep(SILENCE_POLL_SECONDS)
        status = target.status()
