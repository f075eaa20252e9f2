"""When a crawl with nothing to do is over, and when it waits for URLs to be pushed."""

from __future__ import annotations

import pytest

from webcrawl.features.pushed_urls.feature import IdleDetector
from webcrawl.storage.contract import Counts

FRESH, FINISHED = Counts(), Counts(done=5)


def lull(max_idle_seconds=None, *, has_seeds=False, counts=FINISHED):
    """One that began at 10 s, with a first look at 10.5 s."""
    made = IdleDetector(max_idle_seconds, has_seeds)
    made.begin(10.0)
    made.record_read(10.5, 0, counts)
    return made


def test_it_is_not_over_before_the_list_was_looked_into():
    one = IdleDetector(None, has_seeds=True)
    assert not one.is_over(99)
    one.begin(10.0)
    assert not one.is_over(99)


def test_a_finished_crawl_is_over_at_once():
    assert lull().is_over(10.5)


def test_what_others_have_taken_and_not_yet_queued_is_waited_for():
    one = lull()
    one.record_read(11.0, 3, FINISHED)
    assert not one.is_over(99)
    one.record_read(11.5, 0, FINISHED)
    assert one.is_over(11.5)


@pytest.mark.parametrize(
    ("has_seeds", "counts", "over"), [(False, FRESH, False), (True, FRESH, True), (False, FINISHED, True)]
)
def test_a_crawl_that_never_had_a_url_waits_if_it_got_no_seeds(has_seeds, counts, over):
    assert lull(has_seeds=has_seeds, counts=counts).is_over(1e9) is over


@pytest.mark.parametrize("counts", [FRESH, FINISHED])
def test_it_waits_for_as_long_as_it_was_told(counts):
    one = lull(60.0, counts=counts)
    assert not one.is_over(69.9)
    assert one.is_over(70.0)


def test_it_waits_for_ever_if_it_was_told_so():
    assert not lull(0.0).is_over(1e9)


@pytest.mark.parametrize(
    "news",
    [
        (1, FINISHED),
        (0, Counts(done=6)),
        (0, Counts(queued=1, done=5)),
    ],
)
def test_whatever_happens_in_the_crawl_it_waits_anew(news):
    one = lull(60.0)
    one.record_read(50.0, *news)
    one.record_read(50.5, 0, news[1])

    assert not one.is_over(109.9)
    assert one.is_over(110.0)


def test_beginning_again_changes_nothing_until_it_ended():
    one = lull(60.0)
    one.begin(50.0)
    assert one.is_over(70.0)
    one.end()
    one.begin(60.0)
    assert not one.is_over(1e9)
    one.record_read(60.5, 0, FINISHED)
    assert not one.is_over(119.0)
    assert one.is_over(120.0)
