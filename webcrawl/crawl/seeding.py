"""Reading of a list of seeds into the frontier; only once if several processes were given the same list."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.errors import ContactMissing, CrawlError
from webcrawl.politeness.contact import contact_problem, is_contact
from webcrawl.reports import text
from webcrawl.scope.whitelist import load_whitelist
from webcrawl.storage.contract import SharedBackend
from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.seeds import BadSeed, Seed, read_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.storage.shared_parts import SeedLists

logger = logging.getLogger(__name__)

AT_ONCE = 10_000
"""Seeds that are queued together. Each batch waits for everything that a busy crawl has to store, and a host whose
seed is not queued cannot have its turn."""
BREATH = 100
"""Number of seeds that are read and checked, after which the event loop has its turn."""
PASSED = 1_000
"""The same for seeds that an earlier run took, which are read alone."""
BAD_SHOWN = 20
POLL_SECONDS = 1.0
"""Interval at which to ask if another process has read the list."""


class _Batch(NamedTuple):
    """Seeds that are queued together."""

    read: int
    """Wrong ones included."""
    entries: list[UrlEntry]


class Seeding:
    """Queues the seeds of ``seeds``, or if there are none the roots of ``domains``.

    Several processes of one crawl may be given the same file. One of them reads it and reports its progress, the
    others wait; when it is gone another goes on from there. A list that was read to its end is not read again.
    """

    def __init__(
        self, context: CrawlContext, scheduler: RunningCrawl, seeds: str | None, domains: str | None
    ) -> None:
        self._context = context
        self._scheduler = scheduler
        self._seeds = seeds
        self._domains = domains
        self._good = self._bad = 0
        self._read = 0
        """Seeds that were read and are durably queued, wrong lines included."""
        self._is_over = False
        """True if nothing more is to be read here."""

    async def run(self) -> None:
        """Return when all seeds are queued, by any process.
        :raises webcrawl.urls.seeds.SeedsError: the list cannot be read
        :raises ContactMissing: a seed is on the public web, and the crawl has no contact
        """
        lists = _shared_lists(self._context)
        digest = None if lists is None else await asyncio.to_thread(self._digest)
        if lists is None or digest is None:
            await self._read_on()
        else:
            await self._take_turns(lists, digest)
        if self._good or self._bad:
            logger.info("%s taken, %d wrong", text.things(self._good, "seed"), self._bad)

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        """Queue seeds that are not in the list. Returns False if they cannot become durable, or the crawl is being
        closed. Raises as ``run``."""
        good, bad = self._good, self._bad
        while (batch := await self._next_batch(seeds)).read:
            if self._context.frontier.is_closing() or not await self._scheduler.add_seeds(batch.entries):
                return False
        logger.info("%s taken, %d wrong", text.things(self._good - good, "seed"), self._bad - bad)
        return True

    async def _take_turns(self, lists: SeedLists, digest: str) -> None:
        frontier = self._context.frontier
        logged = False

        async def give_up() -> None:
            if not self._is_over:
                with suppress(CrawlError):
                    await lists.give_up(digest, self._read)

        self._scheduler.before_close(give_up)
        while not self._is_over and not frontier.is_closing():
            turn, queued = await frontier.with_retry(lambda: lists.request_turn(digest, self._read))
            self._read = max(self._read, queued)
            if turn is turn.FINISHED:
                self._is_over = True
                logger.info(
                    "%s taken before, by another process or an earlier run", text.things(queued, "seed")
                )
            elif turn is turn.OURS:
                if await self._read_on(lists, digest):
                    await frontier.with_retry(lambda: lists.finish(digest, self._read))
            else:
                if not logged:
                    logged = True
                    logger.info("Another process takes the seeds")
                await asyncio.sleep(POLL_SECONDS)

    async def _read_on(self, lists: SeedLists | None = None, digest: str = "") -> bool:
        """Queue the rest of the seeds. Returns False if that was not to be done, or not by this process."""
        frontier = self._context.frontier
        seeds = self._all_seeds()
        left = self._read
        while left and (passed := len(list(islice(seeds, min(left, PASSED))))):
            left -= passed
            await asyncio.sleep(0)
        while (batch := await self._next_batch(seeds)).read:
            if frontier.is_closing() or not await self._scheduler.add_seeds(batch.entries):
                self._is_over = not frontier.is_closing()
                return False
            self._read += batch.read
            if lists is not None:
                turn, _ = await frontier.with_retry(lambda: lists.request_turn(digest, self._read))
                if turn is not turn.OURS:
                    return False
        self._is_over = True
        return True

    async def _next_batch(self, seeds: Iterator[Seed | BadSeed]) -> _Batch:
        """Read the next seeds, at most ``AT_ONCE``; none are left if it read none."""
        entries: list[UrlEntry] = []
        read = 0
        while read < AT_ONCE and (some := list(islice(seeds, min(BREATH, AT_ONCE - read)))):
            read += len(some)
            entries += [entry for seed in some if (entry := self._entry(seed)) is not None]
            await asyncio.sleep(0)
        return _Batch(read, entries)

    def _entry(self, seed: Seed | BadSeed) -> UrlEntry | None:
        """Return the entry of a seed; a wrong one is logged and counted, and the rest goes on."""
        configuration = self._context.configuration
        if isinstance(seed, BadSeed):
            self._bad += 1
            if self._bad <= BAD_SHOWN:
                logger.warning("Seed in line %d is no URL (%s): %s", seed.line, seed.reason, seed.text)
            return None
        host = get_host(seed.url)
        if why := contact_problem(configuration.user_agent, configuration.crawler_contact, [host]):
            raise ContactMissing(why)
        self._context.seeded.allow(seed.url)
        entry = self._context.intake.seed_entry(seed.url)
        if isinstance(entry, str):
            logger.warning("Seed in line %d is refused by %s: %s", seed.line, entry, seed.url)
            return None
        self._good += 1
        return entry

    def _all_seeds(self) -> Iterator[Seed | BadSeed]:
        if self._seeds:
            yield from read_seeds(self._seeds, schemes=self._context.intake.schemes)
        elif self._domains:
            for number, root in enumerate(load_whitelist(self._domains).roots(), start=1):
                yield Seed(root, number)

    def _digest(self) -> str | None:
        """Return a digest of the list and of the settings that affect its seeds; None if it is no file."""
        path = Path(self._seeds or self._domains or "")
        try:
            if not path.is_file():
                return None
            with path.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256")
        except (OSError, ValueError):
            return None
        configuration, exclusions = self._context.configuration, self._context.exclusions
        decides = (
            bool(self._seeds),
            exclusions.version if exclusions else None,
            is_contact(configuration.user_agent),
            configuration.fetch_private_addresses,
        )
        content.update(repr(decides).encode())
        return content.hexdigest()[:32]


def _shared_lists(context: CrawlContext) -> SeedLists | None:
    """Return the shared progress of lists, if several processes share the crawl."""
    return context.backend.seed_lists() if isinstance(context.backend, SharedBackend) else None
