"""Learner: estimates the worth of links, learns from the fetched pages, and gives the frontier levels.

``LinkScorer`` gives levels when links are found and again while they are queued. ``Skill`` measures whether the
estimates are better than chance, by the area under the ROC curve, which is the Mann-Whitney statistic: the
probability that of a relevant page and another one, the relevant one had the higher level. By chance it is 1/2, with
a known spread.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.focus import link_features
from webcrawl.features.focus import saved as saved_state
from webcrawl.features.focus.credit import Credit, Example
from webcrawl.features.focus.link_features import (
    NO_LINK_FEATURES,
    PageContext,
    model_features,
    page_context,
    unpack,
)
from webcrawl.features.focus.saved import Saved
from webcrawl.features.focus.weights import Weights, probability, slot
from webcrawl.frontier.records import Kind
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.focus.weights import Deltas
    from webcrawl.frontier.records import UrlEntry


PAGES = 1000
"""Number of most recent pages that are evaluated."""
FROM = 200
"""Minimum number of pages for an evaluation; before, hardly anything was learned."""
LEAST = 10
"""Minimum number of pages of both kinds for an evaluation."""
LOST_BELOW, REGAINED_ABOVE = 2.0, 3.0
"""Standard deviations above chance below which estimates are no longer used, and above which they are used again."""
EVERY = 50
"""Number of pages between two evaluations."""


class Skill:
    """Evaluates estimates. They are used unless the evaluated pages show that they are no better than chance; if too
    few of these pages are relevant for an evaluation, they are used again."""

    def __init__(self) -> None:
        self._pages: deque[tuple[int, bool]] = deque(maxlen=PAGES)
        self._since = 0
        self.area: float | None = None
        """Area under the curve; None while there are too few pages of a kind."""
        self.is_believed = True

    def fetched(self, level: int, relevant: bool) -> bool:
        """Add a page with its estimated level. Return whether ``is_believed`` has changed."""
        self._pages.append((level, relevant))
        self._since += 1
        if self._since < EVERY:
            return False
        self._since = 0
        before = self.is_believed
        self._look()
        return self.is_believed is not before

    def _look(self) -> None:
        relevant_levels = Counter(level for level, relevant in self._pages if relevant)
        others = Counter(level for level, relevant in self._pages if not relevant)
        hits, misses = relevant_levels.total(), others.total()
        if hits + misses < FROM:
            return
        if min(hits, misses) < LEAST:
            self.is_believed = self.is_believed or hits + misses == PAGES
            return
        below = pairs = ties = 0.0
        for level in sorted({*relevant_levels, *others}):
            pairs += relevant_levels[level] * below + relevant_levels[level] * others[level] / 2
            below += others[level]
            ties += (relevant_levels[level] + others[level]) ** 3 - (relevant_levels[level] + others[level])
        count = hits + misses
        self.area = pairs / (hits * misses)
        spread = (count + 1 - ties / (count * (count - 1))) / (12 * hits * misses)
        above = 0.0 if spread <= 0 else (self.area - 0.5) / math.sqrt(spread)
        self.is_believed = above > (LOST_BELOW if self.is_believed else REGAINED_ABOVE)


LEVELS_A_UNIT = 2
"""Levels for each unit of the logit: a level is a factor of 1.6 in the odds."""
LEVEL_MOST = 20
BELIEVED = {
    "promise 1": 3.0,
    "relevance of the page 3": 1.0,
    "relevance of the page 4": 2.0,
    "relevance of the page 5": 2.5,
    "relevance of its ancestors 3": 0.5,
    "relevance of its ancestors 4": 1.0,
    "relevance of its ancestors 5": 1.0,
}
"""Initial logits: a link whose words promise a relevant page mostly leads to one, and relevant pages link to relevant
ones."""
BIAS = -6.0
"""Initial bias, one link in 400: roughly the truth for a rare subject. If it were much higher, all estimates would
sink while the bias is learned, and links found early would be ahead of those found later until they are scored again.
"""
AGAIN_SHARE, AGAIN_LEAST, AGAIN_MOST = 0.2, 25, 5_000
"""Queued URLs are scored again after so many further examples, as a share of all so far, with a minimum and a
maximum."""
_CACHED = 50_000


class LinkFeature(NamedTuple):
    name: str
    weight: float


@dataclass(frozen=True, slots=True)
class Guess:
    """Estimate for a link: a probability, its level, and its features, largest weight first."""

    worth: float
    level: int
    features: tuple[LinkFeature, ...]
    bias: float
    """Logit that every link has."""


class Learner:
    """Estimates of one process. All methods but ``learn`` run on its event loop."""

    def __init__(self, relevant: float = 0.5) -> None:
        self.weights = Weights()
        self.weights.start_with(BELIEVED, BIAS)
        self.skill = Skill()
        self.version = 1
        self.relevant = relevant
        """Minimum relevance of a page that counts as relevant."""
        self._credit = Credit()
        self._examples: list[Example] = []
        self._weigh = self.weights.sum
        self._contexts: dict[str, float] = {}
        self._places: dict[str, float] = {}
        self._texts: dict[str, float] = {}
        self._named: dict[str, float] = {}
        self._beside: dict[str, float] = {}
        self._looked_at = 0

    # -- estimates -----------------------------------------------------------------------------------------

    def logits(self, links: Sequence[tuple[str, str | None]]) -> list[float]:
        """Return the logits of URLs with their packed link features. Called for every link of every page: sums that
        links share are computed once."""
        weigh, contexts, places, texts = self._weigh, self._contexts, self._places, self._texts
        named, beside, split, tail = self._named, self._beside, link_features.split, link_features.tail
        logits = []
        for url, packed in links:
            digits, text, around = unpack(packed)
            folder, last = split(url)
            if (logit := contexts.get(digits)) is None:
                logit = contexts[digits] = weigh(link_features.context(digits)) + self.weights.bias
            if (weight := places.get(folder)) is None:
                weight = places[folder] = weigh(link_features.place(folder))
            logit += weight
            words = digits[0] + text
            if (weight := texts.get(words)) is None:
                weight = texts[words] = weigh(link_features.words(digits[0], text))
            logit += weight
            if last:
                for word in tail(last):
                    if (weight := named.get(word)) is None:
                        weight = named[word] = weigh((link_features.named(word),))
                    logit += weight
            if around:
                for word in around.split():
                    if (weight := beside.get(word)) is None:
                        weight = beside[word] = weigh((link_features.beside(word),))
                    logit += weight
            logits.append(logit)
        if len(places) + len(texts) + len(named) + len(beside) > _CACHED:
            self._forget_sums()
        return logits

    def levels(self, links: Sequence[tuple[str, str | None]]) -> list[int]:
        """Return the levels of URLs with their packed link features; all equal while estimates are no better than
        chance."""
        if not self.skill.is_believed:
            return [0] * len(links)
        return [logit_level(logit) for logit in self.logits(links)]

    def guess(self, url: str, packed: str | None) -> Guess:
        """Return the estimate for a URL with the features it consists of."""
        weights, names = self.weights, model_features(url, unpack(packed))
        features = [LinkFeature(name, weights.weight(name)) for name in names]
        logit = weights.bias + sum(weight for _, weight in features)
        features.sort(key=lambda feature: -abs(feature.weight))
        level = logit_level(logit) if self.skill.is_believed else 0
        return Guess(probability(logit), level, tuple(features), weights.bias)

    def _forget_sums(self) -> None:
        for sums in (self._contexts, self._places, self._texts, self._named, self._beside):
            sums.clear()

    # -- learning ------------------------------------------------------------------------------------------

    def fetched(self, url: str, packed: str | None, via: str | None, relevance: float) -> PageContext:
        """Record a rated page as an example to be learned; return its context for its links."""
        link = unpack(packed)
        slots: list[int] = []
        if via is not None:
            slots = [slot(name) for name in dict.fromkeys(model_features(url, link))]
            level = logit_level(self.logits([(url, packed)])[0])
            if self.skill.fetched(level, relevance >= self.relevant):
                self._look_again()
        page = fingerprint(url)
        self._examples += self._credit.fetched(
            page, None if via is None else fingerprint(via), slots, relevance
        )
        return page_context(link if via is not None else NO_LINK_FEATURES, relevance, self.relevant)

    def take_examples(self) -> list[Example]:
        """Return the examples to be learned, and clear them."""
        examples, self._examples = self._examples, []
        return examples

    def learn(self, examples: Sequence[Example]) -> None:
        """Learn examples. May run in any thread, one call at a time."""
        learn = self.weights.learn
        for slots, worth in examples:
            learn(slots, worth)

    # -- storage ("storage/shared_parts.py", "Learned") ------------------------------------------------------

    @property
    def examples(self) -> int:
        return self.weights.learned

    def take_news(self) -> tuple[Deltas, int]:
        return self.weights.take_news()

    def give_back(self, news: Deltas, examples: int) -> None:
        self.weights.give_back(news, examples)

    def add(self, deltas: Deltas, examples: int) -> None:
        self.weights.add(deltas, examples)

    def pack(self, focus: str) -> bytes:
        return Saved(focus, self.skill.area, self.skill.is_believed, self.weights.dump()).pack()

    def restore(self, packed: bytes) -> None:
        saved = saved_state.unpack(packed)
        self.weights.load(saved.weights)
        self.skill.area, self.skill.is_believed = saved.area, saved.is_believed
        self.learned()

    def learned(self) -> None:
        """Use the weights changed by ``learn`` or by another process for estimates from now on."""
        self._forget_sums()
        new = self.weights.learned - self._looked_at
        if new >= min(max(AGAIN_SHARE * self._looked_at, AGAIN_LEAST), AGAIN_MOST):
            self._look_again()

    def _look_again(self) -> None:
        self._looked_at = self.weights.learned
        self.version += 1


def logit_level(logit: float) -> int:
    """Return the level of a logit; at 0, relevant and not relevant are equally likely."""
    level = round(LEVELS_A_UNIT * logit)
    return level if -LEVEL_MOST <= level <= LEVEL_MOST else LEVEL_MOST if level > 0 else -LEVEL_MOST


_PAGE = str(Kind.PAGE)


class LinkScorer:
    """A ``frontier.order.Scorer``. Seeds, robots.txt, sitemaps and ordinary Requests keep their levels."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    @property
    def version(self) -> int:
        return self._learner.version

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        guessed = list(map(is_guessed, entries))
        links = [
            (entry.url, entry.link_features)
            for entry, is_open in zip(entries, guessed, strict=True)
            if is_open
        ]
        levels = self._learner.levels(links)
        if len(levels) == len(entries):
            return list(levels)
        following = iter(levels)
        return [next(following) if is_open else None for is_open in guessed]


def is_guessed(entry: UrlEntry) -> bool:
    """Return whether the worth of a URL is estimated."""
    return entry.via is not None and entry.payload is None and entry.kind == _PAGE
