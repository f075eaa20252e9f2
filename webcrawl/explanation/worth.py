"""What a focused crawl guesses a URL to be worth, and by what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.reports import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.focus.learner import Guess, Learner
    from webcrawl.frontier.records import UrlEntry

FEATURES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Worth:
    """``queued``: whether what is known of the link was there, and not only its URL. ``learned``: from so many
    examples. ``area``: how good guesses were lately, see ``focus.skill``.
    """

    guess: Guess
    queued: bool
    learned: int
    is_believed: bool
    area: float | None


def worth_of(learner: Learner, url: str, entry: UrlEntry | None) -> Worth:
    """``entry``: as it is queued, where it is."""
    guess = learner.guess(url, None if entry is None else entry.traits)
    skill = learner.skill
    return Worth(guess, entry is not None, learner.weights.learned, skill.is_believed, skill.area)


def rows(worth: Worth) -> Iterator[tuple[str, str]]:
    """For people: names and what there is to be said."""
    guess = worth.guess
    known = "" if worth.queued else ", by its URL alone"
    yield "worth", f"{guess.worth:.3f}, level {guess.level}{known}"
    area = (
        "too few to tell" if worth.area is None else f"area under the curve {worth.area:.2f}, 0.5 is chance"
    )
    believed = "believed" if worth.is_believed else "not believed, so all levels are 0"
    yield "learned from", f"{units.things(worth.learned, 'example')}; guesses are {believed} ({area})"
    shown = [one for one in guess.features if one.weight][:FEATURES_SHOWN]
    for one in shown:
        yield f"{one.weight:+.2f}", one.name
    rest = sum(one.weight for one in guess.features) - sum(one.weight for one in shown)
    if len(guess.features) > len(shown) and abs(rest) >= 0.005:
        yield f"{rest:+.2f}", "all others"
    yield f"{guess.bias:+.2f}", "any link"


def as_object(worth: Worth | None) -> dict[str, Any] | None:
    """For programs."""
    if worth is None:
        return None
    return {
        "worth": worth.guess.worth,
        "level": worth.guess.level,
        "bias": worth.guess.bias,
        "features": {one.name: one.weight for one in worth.guess.features},
        "queued": worth.queued,
        "learned": worth.learned,
        "believed": worth.is_believed,
        "area": worth.area,
    }
