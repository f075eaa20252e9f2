"""A crawl of a made site in memory: what it fetches with and without DUST rules."""

from __future__ import annotations

import random
from collections import deque
from urllib.parse import urlsplit

from webcrawl.features.dust.knowledge import DustKnowledge
from webcrawl.features.dust.learner import DustState, PageContent
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import DustScopeRule, closing_samples
from webcrawl.scope.scope import Candidate
from webcrawl.urls.politeness_key import get_host


class ModelCrawl:
    """Crawls a site as the frontier does: each URL once, and the scope rule is asked before a URL is queued and
    before it is fetched."""

    def __init__(self, site, seed, *, learns=True):
        self.site, self.learns = site, learns
        self.chance = random.Random(seed)
        self.knowledge = DustKnowledge(self.chance)
        self.withholding = self.knowledge.withholding
        self.rule = DustScopeRule(self.withholding)
        self.queue, self.queued = deque([site.seed]), {site.seed}
        self.stored = {}
        self.closing = {}
        self.texts, self.urls, self.fetched, self.states = [], [], set(), []
        self.probes = 0

    @property
    def copies(self):
        """The number of fetches that brought what came before."""
        return len(self.texts) - len(set(self.texts))

    def run(self):
        """Crawl until nothing is left; return the crawl."""
        while True:
            self._store()
            if not self.queue:
                self._take_samples()
            if not self.queue:
                return self
            url = self.queue.popleft()
            if url == self.site.seed or url in self.closing or not self._refuses(url):
                self._fetch(url)

    def _refuses(self, url):
        host = get_host(url)
        if not self.learns or self.rule.refuses(Candidate(url, host, host)) is None:
            return False
        self.withholding.withheld(url, host, 1, None)
        return True

    def _fetch(self, url):
        self.urls.append(url)
        self.fetched.add(url)
        now, shown = float(len(self.urls)), self.site.look(url)
        if shown is None:
            changed = self.knowledge.failed(url, now) if self.learns else []
        else:
            text, links = shown
            self.texts.append(text)
            for link in links:
                if link not in self.queued and not self._refuses(link):
                    self.queued.add(link)
                    self.queue.append(link)
            content = PageContent.of(text.encode(), links, urlsplit(url).netloc.removeprefix("www."))
            changed = self.knowledge.page(url, content, now) if self.learns else []
        self._follow(changed)
        self._compare(url)

    def _follow(self, changed):
        self.states += [tracked.state for tracked in changed]
        for tracked in changed:
            if tracked.state is DustState.UNDONE:
                self._store()
                for url in [
                    url for url, withheld in self.stored.items() if tracked.rule.id in withheld.rules
                ]:
                    del self.stored[url]
                    if url not in self.fetched:
                        self.queued.add(url)
                        self.queue.append(url)
        for probe in self.knowledge.take_probes():
            if probe.is_repeat or probe.url not in self.queued:
                self.queued.add(probe.url)
                self.queue.appendleft(probe.url)
                self.probes += 1

    def _store(self):
        waiting = self.withholding.take_waiting()
        if waiting:
            new = [withheld for withheld in waiting if withheld.url not in self.stored]
            self.stored |= {withheld.url: withheld for withheld in waiting}
            self.withholding.note_stored(url_parts(waiting[0].url).site, new, len(self.stored))

    def _take_samples(self):
        for tracked in self.withholding.rules():
            if tracked.withheld <= tracked.checked:
                continue
            tracked.checked = tracked.withheld
            mine = [
                each
                for each in self.stored.values()
                if tracked.rule.id in each.rules and each.url not in self.fetched
            ]
            shared = sum(tracked in rules for rules, _ in self.closing.values())
            wanted = closing_samples(tracked.withheld, shared)
            for withheld in self.chance.sample(mine, min(wanted, len(mine))):
                found = self.withholding.find_known(withheld.url)
                if found is not None:
                    self.closing[withheld.url] = found
                    self.queue.append(withheld.url)

    def _compare(self, url):
        """Compare one of the last samples, as the crawl does when it is idle again."""
        page = self.knowledge.learner.find_page(url_parts(url).site, url)
        if url in self.closing and page is not None:
            rules, known = self.closing.pop(url)
            self._follow(self.knowledge.compare_sample(rules, known, page, float(len(self.urls))))
