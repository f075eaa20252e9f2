"""Guesses what links are worth, and learns from what they turned out to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.focus import features
from webcrawl.focus.credit import Credit, Example
from webcrawl.focus.skill import Skill
from webcrawl.focus.traits import NO_TRAITS, Standing, standing_after, unpacked
from webcrawl.focus.weights import Weights, probability, slot
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

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
"""Logits before anything was learned: what says it is about something mostly is, and like leads to like."""
BIAS = -6.0
"""One link in 400: about what it is where something rare is looked for. Were it much more, all guesses would sink
while that is learned, and links that were found early would stand before those that were found later, until they are
scored again.
"""
AGAIN_SHARE, AGAIN_LEAST, AGAIN_MOST = 0.2, 25, 5_000
"""What is queued is worth another look after so many examples more, as a share of all so far."""
_CACHED = 50_000


class Feature(NamedTuple):
    name: str
    weight: float


@dataclass(frozen=True, slots=True)
class Guess:
    """What a link is guessed to be worth: a probability, its level, and what made it, the heaviest first."""

    worth: float
    level: int
    features: tuple[Feature, ...]
    bias: float
    """What any link has."""


class Learner:
    """The guesses of one process: all but ``learn`` on its event loop."""

    def __init__(self, relevant: float = 0.5) -> None:
        self.weights = Weights()
        self.weights.start_with(BELIEVED, BIAS)
        self.skill = Skill()
        self.version = 1
        self.relevant = relevant
        """The relevance from which on a page counts as found."""
        self._credit = Credit()
        self._examples: list[Example] = []
        self._weigh = self.weights.sum
        self._contexts: dict[str, float] = {}
        self._places: dict[str, float] = {}
        self._texts: dict[str, float] = {}
        self._named: dict[str, float] = {}
        self._beside: dict[str, float] = {}
        self._looked_at = 0

    # -- guesses -------------------------------------------------------------------------------------------

    def logits(self, links: Sequence[tuple[str, str | None]]) -> list[float]:
        """Of URLs with their traits. Done for every link of every page: all that links share is worked out once."""
        weigh, contexts, places, texts = self._weigh, self._contexts, self._places, self._texts
        named, beside, split, tail = self._named, self._beside, features.split, features.tail
        found = []
        for url, traits in links:
            digits, text, around = unpacked(traits)
            folder, last = split(url)
            if (logit := contexts.get(digits)) is None:
                logit = contexts[digits] = weigh(features.context(digits)) + self.weights.bias
            if (weight := places.get(folder)) is None:
                weight = places[folder] = weigh(features.place(folder))
            logit += weight
            said = digits[0] + text
            if (weight := texts.get(said)) is None:
                weight = texts[said] = weigh(features.words(digits[0], text))
            logit += weight
            if last:
                for word in tail(last):
                    if (weight := named.get(word)) is None:
                        weight = named[word] = weigh((features.named(word),))
                    logit += weight
            if around:
                for word in around.split():
                    if (weight := beside.get(word)) is None:
                        weight = beside[word] = weigh((features.beside(word),))
                    logit += weight
            found.append(logit)
        if len(places) + len(texts) + len(named) + len(beside) > _CACHED:
            self._forget_sums()
        return found

    def levels(self, links: Sequence[tuple[str, str | None]]) -> list[int]:
        """Of URLs with their traits; all the same as long as guesses are no better than chance."""
        if not self.skill.is_believed:
            return [0] * len(links)
        return [level_of(logit) for logit in self.logits(links)]

    def guess(self, url: str, traits: str | None) -> Guess:
        """The same with all that made it."""
        weights, names = self.weights, features.features(url, unpacked(traits))
        found = [Feature(name, weights.weight(name)) for name in names]
        logit = weights.bias + sum(weight for _, weight in found)
        found.sort(key=lambda one: -abs(one.weight))
        level = level_of(logit) if self.skill.is_believed else 0
        return Guess(probability(logit), level, tuple(found), weights.bias)

    def _forget_sums(self) -> None:
        for sums in (self._contexts, self._places, self._texts, self._named, self._beside):
            sums.clear()

    # -- what comes of it ----------------------------------------------------------------------------------

    def fetched(self, url: str, traits: str | None, via: str | None, relevance: float) -> Standing:
        """A page was judged: learn from it, soon. Where it stands for its links."""
        known = unpacked(traits)
        slots: list[int] = []
        if via is not None:
            slots = [slot(name) for name in dict.fromkeys(features.features(url, known))]
            level = level_of(self.logits([(url, traits)])[0])
            if self.skill.fetched(level, relevance >= self.relevant):
                self._look_again()
        page = fingerprint(url)
        self._examples += self._credit.fetched(
            page, None if via is None else fingerprint(via), slots, relevance
        )
        return standing_after(known if via is not None else NO_TRAITS, relevance, self.relevant)

    def take_examples(self) -> list[Example]:
        """What is to be learned."""
        examples, self._examples = self._examples, []
        return examples

    def learn(self, examples: Sequence[Example]) -> None:
        """In any thread, one call at a time."""
        learn = self.weights.learn
        for slots, worth in examples:
            learn(slots, worth)

    def learned(self) -> None:
        """Weights have changed, by ``learn`` or from elsewhere: from here on guesses are made by them."""
        self._forget_sums()
        new = self.weights.learned - self._looked_at
        if new >= min(max(AGAIN_SHARE * self._looked_at, AGAIN_LEAST), AGAIN_MOST):
            self._look_again()

    def _look_again(self) -> None:
        self._looked_at = self.weights.learned
        self.version += 1


def level_of(logit: float) -> int:
    """0 is where relevant and not relevant are as likely as each other."""
    level = round(LEVELS_A_UNIT * logit)
    return level if -LEVEL_MOST <= level <= LEVEL_MOST else LEVEL_MOST if level > 0 else -LEVEL_MOST
