"""The crawl of one process in its JOBDIR, for commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from webcrawl.control import blocking
from webcrawl.crawl import exclusion_state
from webcrawl.crawl.jobdir import FRONTIER, Jobdir
from webcrawl.crawl.seeded_hosts import NAME as SEED_ADDRESSES
from webcrawl.crawl.seeded_hosts import read_kept
from webcrawl.errors import JobdirUnusable
from webcrawl.features.focus import store as learned
from webcrawl.features.focus.learner import Learner
from webcrawl.features.revisits.store import Lookup
from webcrawl.features.traps.quarantine import Trap
from webcrawl.features.websub.subscription import Subscription
from webcrawl.politeness.host_record import Pauses
from webcrawl.scope.private import names_that_allow
from webcrawl.storage.inspection import (
    Activity,
    Asked,
    Checked,
    CrawlStatus,
    ExclusionImpact,
    UrlSnapshot,
    Use,
    Worker,
)
from webcrawl.storage.sqlite import check as audit
from webcrawl.storage.sqlite.inspection import SqliteBooks, books_of, reach_of, sighting_of, standing_of
from webcrawl.storage.sqlite.subscriptions import listed
from webcrawl.storage.sqlite.traps import SqliteTraps
from webcrawl.storage.sqlite.visits import looked_up


class LocalCrawl:
    """Reads ``frontier.db``, also while the crawl runs. Only ``mend`` changes it; the crawl must not be running."""

    storage = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._jobdir = Jobdir(folder)
        self._path = folder / FRONTIER

    @property
    def name(self) -> str:
        """The name in text."""
        return f"the crawl in {self._jobdir.path}"

    @property
    def place(self) -> str:
        """The place in JSON."""
        return str(self._jobdir.path)

    def standing(self) -> CrawlStatus:
        found = standing_of(self._path, time.time())
        holder = self._jobdir.holder()
        if holder is None:
            return found
        heard_at = self._jobdir.heard_at() or found.now
        return replace(found, workers=[Worker(holder, None, heard_at, {"active": found.active_hosts})])

    def sighting(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        """See ``storage.sqlite.inspection.sighting_of``; the process that works on the crawl holds the active
        keys.
        """
        found = sighting_of(self._path, key_of, fingerprint, origin, time.time())
        holder = self._jobdir.holder()
        if holder is None:
            return found
        key = found.key
        if key is not None and key.activity is Activity.ACTIVE:
            key = replace(key, holder=holder)
        return replace(found, key=key, at_work=(holder,))

    def visits(self, key: str, fingerprint: int) -> Lookup:
        """Return the stored visits of a page."""
        return looked_up(self._jobdir.path, (key, fingerprint))

    def named(self, host: str) -> bool:
        """Return True if ``host`` is a host that the operator named, or a subdomain of one."""
        return not read_kept(self._jobdir.path / SEED_ADDRESSES).keys().isdisjoint(names_that_allow(host))

    def uses(self, pauses: Pauses) -> dict[str, Use]:
        """Return the state of shared clocks: none, since the process keeps them in memory; its log has them."""
        return {}

    def check(self, progress: Callable[[int, int], None] | None) -> Checked:
        return audit.check(self._path)

    def books(self) -> AbstractContextManager[SqliteBooks]:
        """Return the states of its URLs."""
        return books_of(self._path)

    def reach(self, asked: Asked) -> ExclusionImpact:
        """Return the effect of an exclusion on its queues."""
        return reach_of(self._path, asked)

    def look(self) -> list[Worker]:
        """Make the process that works on it, if there is one, read its exclusion file now; return that process.

        :raises webcrawl.errors.JobdirUnusable: the request cannot be written
        """
        if not self.at_work():
            return []
        try:
            exclusion_state.ask(self._jobdir.path)
        except OSError as error:
            raise JobdirUnusable(
                f"the crawl in {self._jobdir.path} cannot be told to look: {error.strerror or error}"
            ) from error
        return self.at_work()

    def traps(self) -> list[Trap]:
        """Return all patterns that are or were in quarantine. :raises webcrawl.errors.JobdirUnusable: it is no
        crawl
        """
        return self._traps(())

    def release_traps(self, patterns: Sequence[str]) -> list[Trap]:
        """Release patterns and return all as they are then. The crawl queues the withheld URLs, at once or when it is
        resumed.
        """
        return self._traps(patterns)

    def subscriptions(self) -> list[Subscription]:
        """Return all subscriptions at hubs. :raises webcrawl.errors.JobdirUnusable: it is no crawl"""
        self._is_crawl()
        return listed(self._jobdir.path)

    def _is_crawl(self) -> None:
        if not self._path.is_file():
            raise JobdirUnusable(
                f"{self._jobdir.path} is no crawl with a frontier on disk: it has no {FRONTIER}"
            )

    @blocking
    async def _traps(self, release: Sequence[str]) -> list[Trap]:
        self._is_crawl()
        store = SqliteTraps(self._jobdir.path)
        if release:
            await store.release(release, time.time())
        return await store.traps()

    def learner(self) -> Learner | None:
        """Return the trained model of link scores; None if the crawl is not focused."""
        try:
            saved = learned.read(self._jobdir.path / learned.NAME)
            return None if saved is None else saved.learner()
        except (OSError, ValueError) as error:
            raise JobdirUnusable(f"{self._jobdir.path / learned.NAME}: {error}") from error

    def at_work(self) -> list[Worker]:
        """Return the process that works on it, if there is one, with the exclusion list that it applies."""
        holder = self._jobdir.holder()
        if holder is None:
            return []
        told = exclusion_state.told(self._jobdir.path)
        version = told.version if told is not None and holder == f"process {told.process}" else ""
        return [Worker(holder, None, self._jobdir.heard_at() or time.time(), exclusions=version)]

    def mend(self, progress: Callable[[int, int], None] | None) -> Checked:
        """:raises webcrawl.errors.JobdirLocked: the crawl runs"""
        # Before the lock, which would create the folder.
        self._is_crawl()
        self._jobdir.hold()
        try:
            return audit.mend(self._path)
        finally:
            self._jobdir.leave()
