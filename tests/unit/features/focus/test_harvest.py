"""A learner finds far more than a crawl that takes what comes; one that is fed noise does no harm, and one that was
taught the wrong thing recovers. On the web of ``focusweb``, whose docstring says what is assumed.
"""

from __future__ import annotations

import random
from statistics import median
from typing import TYPE_CHECKING

import pytest

from tests.focuscrawl import BREADTH_FIRST, BY_PARENT, LEARNED, FocusCrawl
from tests.focusweb import ISLAND, SUBJECTS, FocusWeb
from webcrawl.features.focus.learner import Learner

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES = 40


def harvests(seed: int, pages: int) -> dict[str, int]:
    """Relevant pages among the first ``pages`` in each order."""
    web = FocusWeb(seed)
    assert web.size / SUBJECTS == pytest.approx(web.relevant, rel=0.11)
    found = {order: FocusCrawl(web, order).run(pages) for order in (BREADTH_FIRST, BY_PARENT, LEARNED)}
    assert {len(one.relevant) for one in found.values()} == {pages}
    return {order: one.count for order, one in found.items()}


def compare_harvests(seeds: Sequence[int], pages: int) -> None:
    """Breadth-first is given what chance would give, where it found less: a small number makes any ratio large."""
    all_found = {seed: harvests(seed, pages) for seed in seeds}
    times = {
        seed: found[LEARNED] / max(found[BREADTH_FIRST], pages / SUBJECTS)
        for seed, found in all_found.items()
    }
    for seed, found in all_found.items():
        print(f"seed {seed}: of {pages} pages {found}, {times[seed]:.0f} times breadth-first")
    print(
        f"median {median(times.values()):.0f} times, from {min(times.values()):.0f} to {max(times.values()):.0f}"
    )
    assert median(times.values()) >= TIMES
    assert median(found[LEARNED] / max(found[BY_PARENT], 1) for found in all_found.values()) > 1


@pytest.mark.slow
def test_a_learner_finds_forty_times_as_much_as_breadth_first_and_more_than_by_the_parents_relevance() -> (
    None
):
    compare_harvests([1], 250)


@pytest.mark.soak
def test_the_same_on_ten_webs_and_for_longer() -> None:
    compare_harvests(range(1, 11), 2000)


@pytest.mark.slow
def test_noise_leaves_the_order_in_which_urls_were_found() -> None:
    rng = random.Random(7)
    crawl = FocusCrawl(FocusWeb(1), LEARNED, judged=lambda relevance: rng.random())
    found = crawl.run(400)
    assert not crawl.learner.skill.is_believed
    print(f"area under the curve {crawl.learner.skill.area}, {found.count} of 400 relevant")
    assert {entry.level for entry in crawl.queued()} == {0}


@pytest.mark.soak
def test_a_learner_that_was_taught_the_wrong_thing_recovers() -> None:
    learner, web = Learner(), FocusWeb(2)
    wrong = FocusCrawl(web, LEARNED, learner=learner, judged=lambda relevance: 1 - relevance).run(300)
    right = FocusCrawl(web, LEARNED, learner=learner).run(2000)
    print(
        f"{wrong.count} of 300, then {right.count} of 2000; {FocusCrawl(web, LEARNED).run(2000).count} without"
    )
    assert right.count > TIMES / 2 * 2000 / SUBJECTS


@pytest.mark.soak
def test_islands_behind_pages_that_are_not_relevant_are_reached() -> None:
    web = FocusWeb(1)
    crawl = FocusCrawl(web, LEARNED)
    crawl.run(2000)
    islands = sum(web.kind[web.page_at(url)] == ISLAND for url in crawl.fetched if web.is_relevant(url))
    print(f"{islands} of {len(web.islands[web.subject])} pages of islands")
    assert islands > 0.3 * len(web.islands[web.subject])
