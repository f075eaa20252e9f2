"""Sites are believed as far as their claims proved true, by a clock of the test's own."""

from __future__ import annotations

import json
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from webcrawl.features.hints.hints import Claim, Hints
from webcrawl.features.hints.store import TrustStore
from webcrawl.features.hints.trust import MARK_SECONDS, MARKS_MAX, Trust
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import RevisitedPage
from webcrawl.features.revisits.policies import FixedPolicy, Pace
from webcrawl.features.revisits.store import VisitStore
from webcrawl.storage.memory.tables import MemoryTables

CASES = json.loads((Path(__file__).parents[3] / "data/hints_trust.json").read_text("utf-8"))
KEY, DAY, WEEK = "a.test", 86_400.0, 7 * 86_400.0
LEAST_SECONDS = 3600.0
T0 = 1_000_000.0


def at_once(step: Coroutine[Any, Any, Any]) -> Any:
    """What comes of a step that waits for nothing, as those of memory do."""
    try:
        step.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


class Site:
    """Pages of a site that are visited each week, and whose sitemap is read when a test says so."""

    def __init__(self, pages: int, trust_least: float = 0.25) -> None:
        self.visits, self.trust, self.now = VisitStore(MemoryTables()), TrustStore(MemoryTables()), T0
        self.pages = list(range(pages))
        policy = FixedPolicy(Pace(interval_seconds=WEEK))
        self.hints = Hints(self.visits, self.trust, policy, trust_least, LEAST_SECONDS)
        self.requests = 0
        for number in self.pages:
            self._keep(number, History.first(self.now))

    def page(self, number: int) -> RevisitedPage:
        [page] = at_once(self.visits.find([(KEY, number)]))
        assert page is not None
        return page

    def _keep(self, number: int, history: History, **more: int) -> None:
        next_at = history.last_at + WEEK
        page = RevisitedPage(KEY, number, f"http://{KEY}/{number}", history, next_at, b"x" * 16, T0, **more)
        at_once(self.visits.keep([page]))

    def visit(self, number: int, changed: bool) -> None:
        self.requests += 1
        self._keep(number, self.page(number).history.visited(self.now, changed))

    def read(self, lastmods: dict[int, float]) -> int:
        claims = [Claim(number, at, None) for number, at in lastmods.items()]
        return at_once(self.hints.take(KEY, claims, self.now))

    def known(self) -> Trust:
        return at_once(self.trust.load(KEY))


@each_row("case", CASES, ids=lambda case: case["name"])
def test_trust_is_the_share_of_claims_that_proved_true(case: dict) -> None:
    site = Site(1)
    for changed in case["visits"]:
        site.read({0: site.now})
        site.now += 1000
        site.read({0: site.now})
        site.now += 1000
        site.visit(0, changed)
        site.now += 1000
        site.read({})
        site.read({0: 0.0})
    assert site.known().share == pytest.approx(case["share"], abs=case.get("within", 0.001))


def test_a_page_that_is_said_to_have_changed_is_visited_earlier() -> None:
    site = Site(2)
    site.now += DAY
    assert site.read({0: site.now - 60, 1: T0 - 60}) == 1
    # Half the claims of a stranger are taken for true, so the interval is half as long.
    assert site.page(0).next_visit_at == T0 + WEEK / 2
    assert site.page(1).next_visit_at == T0 + WEEK


def test_what_is_said_again_makes_it_no_earlier() -> None:
    site = Site(1)
    site.now += DAY
    assert [site.read({0: T0 + 60}) for _ in range(5)] == [1, 0, 0, 0, 0]


def test_whoever_is_always_right_has_pages_visited_at_once_but_not_sooner_than_is_allowed() -> None:
    site = Site(1)
    at_once(site.trust.save(KEY, Trust(right=1e6)))
    site.now += 60
    site.read({0: site.now})
    assert site.page(0).next_visit_at == T0 + LEAST_SECONDS
    site.visit(0, True)
    site.now += DAY
    site.read({0: site.now})
    assert site.page(0).next_visit_at == pytest.approx(site.now, abs=1)


def test_whoever_is_seldom_right_is_not_listened_to_and_may_win_trust_back() -> None:
    site = Site(1)
    at_once(site.trust.save(KEY, Trust(wrong=10)))
    for _ in range(12):
        site.now += DAY
        hinted = site.read({0: site.now})
        assert hinted == (site.known().share >= 0.25)
        site.now += DAY
        site.visit(0, True)
    assert hinted == 1


def test_pages_that_nobody_remembers_are_passed_over_and_those_that_fail_wait() -> None:
    site = Site(1)
    site._keep(5, History.first(T0), failed=1)
    site._keep(6, History.first(T0), gone=1)
    site.now += DAY
    assert site.read({5: site.now, 6: site.now, 77: site.now}) == 0
    assert site.known().marks == {}


def test_many_claims_are_taken_in_and_few_are_waited_for() -> None:
    site = Site(1200)
    site.now += DAY
    assert site.read(dict.fromkeys(site.pages, site.now)) == 1200
    assert len(site.known().marks) == MARKS_MAX
    assert len(site.known().text()) < 1000
    assert Trust.of(site.known().text()) == site.known()


def test_what_is_never_visited_is_not_waited_for_for_ever() -> None:
    site = Site(1)
    site.now += DAY
    site.read({0: site.now})
    site.now += MARK_SECONDS + 1
    site.read({0: T0 - 1})
    assert site.known().marks == {}


@each_row("text", ["", "null", "[]", "[1,2]", "[1,2,3]", '["a",0,{}]', '[0,0,{"x":1}]'])
def test_what_is_no_trust_is_not_taken_for_it(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Trust.of(text)


class Year:
    """Half a year of a site whose pages change: what is due is visited each day, behind the sitemap."""

    def __init__(self, changes: dict[int, list[float]], sitemap: str) -> None:
        self.site = Site(len(changes))
        self.unseen = 0.0
        """Days from changes to the visits that found them, on average."""
        waits = []
        for _ in range(180):
            self.site.now += DAY
            self._read(changes, sitemap)
            for number, times in changes.items():
                page = self.site.page(number)
                if page.next_visit_at <= self.site.now:
                    found = [at for at in times if page.history.last_at < at <= self.site.now]
                    waits += [self.site.now - at for at in found]
                    self.site.visit(number, bool(found))
        if waits:
            self.unseen = sum(waits) / len(waits) / DAY

    def _read(self, changes: dict[int, list[float]], sitemap: str) -> None:
        now = self.site.now
        if sitemap == "now":
            self.site.read(dict.fromkeys(changes, now))
        elif sitemap == "true":
            self.site.read(
                {n: max([T0 - DAY, *(at for at in times if at <= now)]) for n, times in changes.items()}
            )


@pytest.mark.slow
def test_true_claims_are_worth_visits_and_false_ones_cost_few() -> None:
    """40 pages that change every two months on average (seed 5), or never."""
    chance = random.Random(5)
    changes = {
        number: sorted(T0 + chance.random() * 180 * DAY for _ in range(chance.randrange(7)))
        for number in range(40)
    }
    none: dict[int, list[float]] = {number: [] for number in changes}
    deaf, honest, still, liar = Year(changes, ""), Year(changes, "true"), Year(none, ""), Year(none, "now")
    for name, one in (("deaf", deaf), ("honest", honest), ("still", still), ("liar", liar)):
        print(f"seed 5, {name}: {one.site.requests} visits, {one.unseen:.2f} days unseen")
    assert honest.site.known().share > 0.9
    assert honest.unseen < deaf.unseen / 3
    assert honest.site.requests < 1.25 * deaf.site.requests
    assert liar.site.known().share < 0.1
    # What it cost to find out.
    assert liar.site.requests < 1.1 * still.site.requests
