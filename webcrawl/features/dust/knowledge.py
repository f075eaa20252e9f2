"""What a crawl knows of DUST: the rules that are being proved and those that are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.features.dust.learner import DustLearner, DustPage, DustState
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import Withholding

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from webcrawl.features.dust.learner import DustProbe, PageContent, TrackedRule
    from webcrawl.features.dust.rule import DustRule

ENDED = frozenset({DustState.REFUTED, DustState.UNDONE})
"""The states of rules that are never applied again."""


class DustKnowledge:
    """Candidates become rules that are probed, these are confirmed or refuted, and confirmed ones are doubted by
    samples, and confirmed again or undone. Times are passed in, in epoch seconds."""

    def __init__(self, chance: random.Random, share: float = 0.02, *, asks_known: bool = True) -> None:
        """``share``, ``asks_known``: see ``Withholding``."""
        self.learner = DustLearner(chance, lambda parts: self.withholding.form(parts))
        self.withholding = Withholding(chance, share, self.learner.find_page, asks_known=asks_known)
        self._ended: set[DustRule] = set()

    def page(self, url: str, content: PageContent, now: float) -> list[TrackedRule]:
        """Learn from a page that was fetched. Return the rules whose state changed, or that are new."""
        parts = url_parts(url)
        if parts is None:
            return []
        page, site = self.learner.with_known_content(DustPage(url, parts, content, now)), parts.site
        changed = self.learner.page(page, now)
        changed += self.withholding.page(page, self.learner.pages(site), now)
        self._apply(changed)
        return changed

    def knows(self, site: str) -> bool:
        """Return whether anything is remembered of the pages of a site."""
        return self.learner.has_site(site)

    def restore(self, site: str, pages: Sequence[DustPage], now: float) -> list[TrackedRule]:
        """Learn from stored pages of a site, the oldest first. Return the rules whose state changed."""
        changed = []
        for page in pages:
            changed += self.learner.restore(page, now)
        self.withholding.restore(site, pages)
        self._apply(changed)
        return changed

    def failed(self, url: str, now: float) -> list[TrackedRule]:
        """Note that a URL has no page, or redirects. Return the rules whose state changed."""
        parts = url_parts(url)
        if parts is None:
            return []
        undone = self.withholding.failed(url, parts.site, now)
        self._apply(undone)
        return undone + self.learner.failed(url, parts.site, now)

    def skipped(self, url: str, site: str) -> None:
        """Note that a URL has a page that says nothing."""
        self.withholding.skipped(url, site)

    def take_probes(self) -> list[DustProbe]:
        """Return the URLs that are to be fetched to prove or to doubt rules."""
        return self.learner.take_probes() + self.withholding.take_probes()

    def load(self, stored: Iterable[TrackedRule]) -> tuple[list[TrackedRule], list[TrackedRule]]:
        """Load rules that were stored by an earlier run or by another process. Return those that are applied from now
        on, and those that are not any more."""
        entered, left = [], []
        applied = {tracked.rule for tracked in self.withholding.rules()}
        for tracked in stored:
            rule = tracked.rule
            if tracked.state in ENDED:
                self._ended.add(rule)
                self.learner.decide(rule)
                if self.withholding.remove(rule, self.learner.pages(rule.site)) is not None:
                    left.append(tracked)
            elif tracked.state is DustState.DOUBTED:
                if rule not in self._ended:
                    self.learner.decide(rule)
                    self.withholding.suspend(tracked, self.learner.pages(rule.site))
            elif tracked.state is DustState.CONFIRMED and self.withholding.is_suspended(rule):
                self.withholding.resume(rule, self.learner.pages(rule.site))
            elif tracked.state is DustState.PROBING:
                if rule not in applied:
                    self.learner.resume(tracked)
            elif rule not in applied and rule not in self._ended:
                self.learner.decide(rule)
                if self.withholding.add(tracked, self.learner.pages(rule.site)):
                    entered.append(tracked)
        return entered, left

    def expire(self, now: float, others_seconds: float) -> list[TrackedRule]:
        """Undo rules that are doubted for too long, and return them. ``others_seconds``: the time that other
        processes have for it, see ``Withholding.expire``."""
        undone = self.withholding.expire(now, others_seconds)
        self._apply(undone)
        return undone

    def compare_again(self, page: DustPage, now: float) -> list[TrackedRule]:
        """Decide the doubts about rules whose known page came again. Return these rules."""
        changed = self.withholding.compare_again(page, self.learner.pages(page.parts.site), now)
        self._apply(changed)
        return changed

    def compare_sample(
        self, rules: Sequence[TrackedRule], known: DustPage, sample: DustPage, now: float
    ) -> list[TrackedRule]:
        """Compare a sample, fetched by any process, with the page that its rules say it has. Return the rules that
        are doubted from now on."""
        pages = self.learner.pages(sample.parts.site)
        return self.withholding.compare_sample(rules, known, sample, pages, now)

    def _apply(self, changed: Iterable[TrackedRule]) -> None:
        for tracked in changed:
            if tracked.state is DustState.CONFIRMED:
                self.withholding.add(tracked, self.learner.pages(tracked.rule.site))
            elif tracked.state in ENDED:
                self._ended.add(tracked.rule)
