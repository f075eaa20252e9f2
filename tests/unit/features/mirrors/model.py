"""A crawl of the made hosts in memory: what it fetches with and without mirrors."""

from __future__ import annotations

import random
from collections import deque
from types import SimpleNamespace

from webcrawl.features.mirrors.feature import MirrorsFeature
from webcrawl.features.mirrors.store import MirrorStore
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import State, UrlEntry, UrlRecord
from webcrawl.scope.scope import Scope
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.urls.politeness_key import PolitenessKey

STEP = 4
"""Fetches of all hosts together between two steps of the feature."""


class ModelCrawl:
    """Crawls hosts in turn, each URL once, as the frontier does, with the storage of a crawl in memory."""

    def __init__(self, site, seed):
        self.site = site
        self.now = 0.0
        self.chance = random.Random(seed)
        self.records = {}
        self.queues = {}
        self.urls = []
        self.refused = 0
        self.feature = MirrorsFeature(
            MirrorStore(MemoryTables()), self, lambda: self.now, "one", keeps_states=True, chance=self.chance
        )
        ruled = Scope([self.feature.rule])
        self.intake = Intake(PolitenessKey("host"), ruled, Scope([]), standing=ruled)
        frontier = SimpleNamespace(
            holds=lambda key: True,
            place_first=self._place_first,
            add_entries=self._add,
            drain=self._drain,
        )
        self.context = SimpleNamespace(intake=self.intake, frontier=frontier)
        self.feature._context = self.context
        # As if its task ran.
        self.feature._task = SimpleNamespace(done=lambda: False)
        self.feature._stepped = True

    async def run(self):
        """Crawl until nothing is left; return the crawl."""
        await self.feature.open(None)
        for url in self.site.seeds:
            self._add([self.intake.seed_entry(url)])
            if "portal" not in url:
                self.feature.evidence.robots(url[:-1], "User-agent: *\nDisallow: /private/\n")
        while True:
            keys = [key for key, queue in self.queues.items() if queue]
            if not keys:
                if not self.feature.keeps_open():
                    return self
                await self._step()
                continue
            key = self.chance.choice(keys)
            await self._take(self.queues[key].popleft())
            if len(self.urls) % STEP == 0:
                await self._step()

    async def _step(self):
        self.now += 1
        await self.feature.step(self.context, self, self.now)

    async def _take(self, entry):
        identity = entry.key, entry.fingerprint
        if entry.via is not None and self.intake.admit(entry) is not None:
            self.records[identity] = UrlRecord(State.REFUSED, "mirror")
            self.feature.refused(entry)
            self.refused += 1
            return
        self.urls.append(entry.url)
        shown = self.site.look(entry.url)
        record = SimpleNamespace(ip="192.0.2.1", status=404 if shown is None else 200, extra={})
        outcome = SimpleNamespace(
            entry=SimpleNamespace(record=record), discovered=[], result=Result.FETCHED, robots=None
        )
        tally = SimpleNamespace(refused=self._count)
        flight = SimpleNamespace(lease=SimpleNamespace(entry=entry), outcome=outcome, tally=tally)
        if shown is not None:
            text, links = shown
            origin = entry.url[: entry.url.index("/", 8)]
            urls = [link if "://" in link else origin + link for link in links]
            found = self.intake.take_links(urls, entry.depth + 1, entry.url).entries
            outcome.discovered += found
            body = "\n".join([text, *links]).encode()
            response = SimpleNamespace(body=body, status=200, flags=[])
            await self.feature.page(None, response, flight, found, {})
        self.feature.settled(flight)
        self.records[identity] = UrlRecord(State.DONE, None, record.status)
        self._add(outcome.discovered)

    def _count(self, rule):
        self.refused += 1

    # -- what the feature uses of the crawl ------------------------------------------------------------------------

    def _place_first(self, entry):
        entry.level = 1
        return entry

    def _add(self, entries):
        for entry in entries:
            identity = entry.key, entry.fingerprint
            if entry.repeat or identity not in self.records:
                # The state of a URL that is queued again stays, as in all storages.
                self.records.setdefault(identity, UrlRecord(State.QUEUED))
                queue = self.queues.setdefault(entry.key, deque())
                (queue.appendleft if entry.level else queue.append)(entry)

    async def add_seeds(self, entries):
        assert all(isinstance(entry, UrlEntry) for entry in entries)
        self._add(entries)
        return True

    async def _drain(self):
        return True

    def wake(self):
        """Nothing waits."""

    async def url_record(self, key, fingerprint):
        return self.records.get((key, fingerprint))

    async def read_queue(self, key, after, count):
        return SimpleNamespace(entries=list(self.queues.get(key, ()))[:count])
