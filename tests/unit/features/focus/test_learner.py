"""What is learned of links: from pages, from what they led to, from other processes; and when it is not believed."""

from __future__ import annotations

import random

import pytest

from tests.rows import each_row
from webcrawl.features.focus.credit import DISCOUNT, Credit
from webcrawl.features.focus.learner import (
    BIAS,
    FROM,
    LEVEL_MOST,
    PAGES,
    Learner,
    LinkScorer,
    Skill,
    logit_level,
)
from webcrawl.features.focus.link_features import (
    FAR,
    NO_LINK_FEATURES,
    context,
    model_features,
    pack,
    page_context,
    place,
    relevance_digit,
    split,
    tail,
    unpack,
)
from webcrawl.features.focus.weights import Weights, slot
from webcrawl.frontier.order import Order, Scorer
from webcrawl.frontier.records import UrlEntry

HUB = "http://hub.test/"


def link(text: str, standing: str = "005", promises: int = 0) -> str:
    return pack(f"{standing}{promises}00", text, "beside it")


def teach(learner: Learner, rounds: int = 40) -> None:
    """Links that say telescope are worth something, those that say soup are not."""
    for number in range(rounds):
        learner.fetched(f"http://a{number}.test/x/{number}", link("Telescope page"), HUB, 0.9)
        learner.fetched(f"http://b{number}.test/y/{number}", link("Soup page"), HUB, 0.0)
        learner.learn(learner.take_examples())
    learner.learned()


# -- link features -------------------------------------------------------------------------------------------


def test_link_features_are_a_short_text_and_come_back() -> None:
    text = pack("550110", "Radio | Teleskope für 2 x & Ähnliches", "see\nalso " + "9" * 500)
    assert text == "550110|radio teleskope für ähnliches|see also"
    assert unpack(text) == ("550110", "radio teleskope für ähnliches", "see also")


@each_row("nothing", [None, "", "x", "12345|a|b", "1234567|a|b", "12a456|a|b", "|||"])
def test_what_is_none_has_no_traits(nothing: str | None) -> None:
    assert unpack(nothing) == NO_LINK_FEATURES


def test_a_standing_fades_with_each_link() -> None:
    first = page_context(NO_LINK_FEATURES, 0.9, 0.5)
    assert first == (5, 5, 0)
    link_data = unpack(f"{first.relevance}{first.ancestors}{first.distance}000||")
    second = page_context(link_data, 0.0, 0.5)
    assert second.relevance == 0
    assert 0 < second.ancestors < 5
    assert second.distance == 1
    for _ in range(20):
        link_data = unpack(f"{second.relevance}{second.ancestors}{second.distance}000||")
        second = page_context(link_data, 0.0, 0.5)
    assert second == (0, 0, FAR)


def test_a_digit_stands_for_a_relevance() -> None:
    assert [relevance_digit(value) for value in (0, 0.05, 0.12, 0.3, 0.49, 0.5, 0.8, 1)] == [
        0,
        1,
        2,
        3,
        3,
        4,
        5,
        5,
    ]


@each_row(
    ("url", "parts"),
    [
        ("http://h.test/a/b.html?x=1", ("http://h.test/a", "b.html?x=1")),
        ("http://h.test/", ("http://h.test", "")),
        ("http://h.test/?x=a/b", ("http://h.test", "?x=a/b")),
        ("https://h.test:8/a/", ("https://h.test:8/a", "")),
    ],
)
def test_a_url_is_a_place_and_a_tail(url: str, parts: tuple[str, str]) -> None:
    assert split(url) == parts


def test_numbers_in_folders_are_all_alike() -> None:
    assert place("http://h.test/2024/stars") == place("https://h.test/2023/stars")
    assert {"host h.test", "in stars"} < {*place("http://h.test/2024/stars")}
    assert tail("best-Telescope-12.PDF?id=3") == ["best", "telescope", "pdf", "id"]
    assert len(set(context("550110"))) == 7


# -- weights -------------------------------------------------------------------------------------------------


def test_weights_learn_and_are_the_same_from_their_dump() -> None:
    weights, again = Weights(), Weights()
    good, bad = [slot("good"), slot("both")], [slot("bad"), slot("both")]
    for _ in range(200):
        weights.learn(good, 1.0)
        weights.learn(bad, 0.0)
    assert weights.sum(["good"]) > 1 > -1 > weights.sum(["bad"])
    again.load(weights.dump())
    assert again.dump() == weights.dump()
    assert again.learned == 400
    again.learn(good, 0.0)
    weights.learn(good, 0.0)
    assert again.dump() == weights.dump(), "what sets the steps is kept too"


@each_row("broken", [b"", b"12345678", b"12345678x\x9c", Weights().dump()[:-20]])
def test_a_dump_that_is_none_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="no weights"):
        Weights().load(broken)


def test_what_processes_learn_adds_up_in_any_order() -> None:
    rng = random.Random(5)
    workers = [Weights() for _ in range(3)]
    shared = []
    for worker in workers:
        for _ in range(50):
            worker.learn([slot(f"f{rng.randrange(20)}") for _ in range(4)], rng.random())
        shared.append((worker, *worker.take_news()))
    for worker in workers:
        rng.shuffle(shared)
        for sender, news, learned in shared:
            if sender is not worker:
                worker.add(news, learned)
    sums = [[worker.weight(f"f{number}") for number in range(20)] for worker in workers]
    assert sums[0] == pytest.approx(sums[1], abs=1e-5)
    assert sums[0] == pytest.approx(sums[2], abs=1e-5)
    assert {worker.learned for worker in workers} == {150}
    assert workers[0].take_news() == ({}, 0)


def test_what_could_not_be_told_is_told_later() -> None:
    weights = Weights()
    weights.learn([3], 1.0)
    news, learned = weights.take_news()
    weights.learn([3, 4], 1.0)
    weights.give_back(news, learned)
    whole, count = weights.take_news()
    assert count == 2
    assert whole[3][0] == pytest.approx(weights._weights[3])


# -- credit --------------------------------------------------------------------------------------------------


def test_a_page_is_worth_what_it_led_to_and_so_is_the_way_there() -> None:
    credit = Credit()
    assert credit.fetched(1, None, [], 0.0) == []
    assert credit.fetched(2, 1, [20], 0.0) == [([20], 0.0)]
    assert credit.fetched(3, 2, [30], 0.0) == [([30], 0.0)]
    worths: dict[int, float] = {}
    for number in range(20):
        for slots, worth in credit.fetched(100 + number, 3, [1000 + number], 1.0):
            worths[slots[0]] = worth
    assert worths[1000] == 1
    assert worths[30] == pytest.approx(DISCOUNT, abs=0.1)
    assert 0 < worths[20] < worths[30], "the page before gains too, and less"


def test_what_led_nowhere_is_worth_what_it_is() -> None:
    credit = Credit()
    credit.fetched(1, None, [10], 0.3)
    for number in range(50):
        assert credit.fetched(2 + number, 1, [5], 0.0) == [([5], 0.0)]


def test_only_so_many_pages_are_remembered_and_circles_end() -> None:
    credit = Credit(10)
    for number in range(100):
        credit.fetched(number, number - 1, [number], 1.0)
    assert len(credit._pages) == 10
    credit.fetched(1, 2, [1], 0.0)
    credit.fetched(2, 1, [2], 1.0)
    credit.fetched(1, 1, [1], 1.0)


# -- guesses -------------------------------------------------------------------------------------------------


def test_a_link_is_worth_more_that_says_what_was_worth_something() -> None:
    learner = Learner()
    unknown = ("http://c.test/", link("Telescope"))
    before = learner.levels([unknown])
    teach(learner)
    good, bad = learner.levels([unknown, ("http://c.test/", link("Soup"))])
    assert good > before[0]
    assert good > bad


def test_levels_and_explanations_are_of_the_same_guess() -> None:
    learner = Learner()
    teach(learner)
    for text in ("Telescope", "Soup", "", "Telescope soup"):
        for url in ("http://c.test/a/b.html?x", "http://a1.test/x/1", HUB):
            guess = learner.guess(url, link(text, "550"))
            assert [guess.level] == learner.levels([(url, link(text, "550"))])
            assert guess.level == logit_level(
                learner.weights.bias + sum(feature.weight for feature in guess.features)
            )
            assert 0 < guess.worth < 1
            sizes = [abs(feature.weight) for feature in guess.features]
            assert sizes == sorted(sizes, reverse=True)
    names = [feature.name for feature in learner.guess(HUB, link("Telescope")).features]
    assert names.index("says telescope") < 4


def test_before_anything_is_learned_like_leads_to_like_and_words_are_believed() -> None:
    learner = Learner()
    plain, near, promising = learner.levels(
        [(HUB, link("x")), (HUB, link("x", "550")), (HUB, link("x", promises=1))]
    )
    assert plain == logit_level(BIAS)
    assert near > plain
    assert promising > plain


def test_what_is_queued_is_scored_again_when_enough_was_learned_and_not_all_the_time() -> None:
    learner = Learner()
    teach(learner, 5)
    assert learner.version == 1
    versions = [learner.version]
    for _ in range(60):
        teach(learner, 25)
        versions.append(learner.version)
    assert versions[1] > 1
    assert versions[-1] < 50


def test_levels_have_bounds() -> None:
    assert logit_level(1e9) == LEVEL_MOST == -logit_level(-1e9)


def test_noise_is_not_believed_and_then_all_links_are_alike() -> None:
    rng = random.Random(1)
    learner = Learner()
    version = learner.version
    for number in range(400):
        text = rng.choice(["Telescope", "Soup", "More"])
        learner.fetched(f"http://h{rng.randrange(20)}.test/{number}", link(text), HUB, rng.random())
        if number % 20 == 0:
            learner.learn(learner.take_examples())
            learner.learned()
    assert not learner.skill.is_believed
    assert learner.version > version
    levels = learner.levels([(HUB, link("Telescope", "555", 1)), ("http://b.test/", link("Soup"))])
    assert levels == [0, 0]
    print(f"area under the curve {learner.skill.area:.3f}")


def test_skill_is_believed_until_it_is_shown_that_there_is_none_and_again_when_there_is() -> None:
    rng = random.Random(2)
    skill = Skill()
    assert not any(skill.fetched(rng.randrange(9), False) for _ in range(300)), "nothing found says nothing"
    assert skill.is_believed
    for _ in range(PAGES):
        skill.fetched(rng.randrange(9), rng.random() < 0.1)
    assert not skill.is_believed
    for _ in range(PAGES):
        relevant = rng.random() < 0.1
        skill.fetched(rng.randrange(9) + 3 * relevant, relevant)
    assert skill.is_believed
    assert skill.area is not None
    assert skill.area > 0.6


def test_what_can_no_more_be_told_is_believed_again() -> None:
    rng = random.Random(4)
    skill = Skill()
    for _ in range(PAGES):
        skill.fetched(rng.randrange(9), rng.random() < 0.1)
    assert not skill.is_believed
    for _ in range(PAGES):
        skill.fetched(rng.randrange(9), False)
    assert skill.is_believed


def test_the_first_pages_prove_nothing() -> None:
    skill = Skill()
    for number in range(FROM - 1):
        skill.fetched(0, number % 2 == 0)
    assert skill.is_believed
    assert skill.area is None
    for number in range(100):
        skill.fetched(0, number % 2 == 0)
    assert not skill.is_believed


def test_the_area_is_what_counting_all_pairs_gives() -> None:
    rng = random.Random(3)
    pages = [(rng.randrange(6), rng.random() < 0.3) for _ in range(200)]
    skill = Skill()
    for page in pages:
        skill.fetched(*page)
    hits = [level for level, relevant in pages if relevant]
    others = [level for level, relevant in pages if not relevant]
    wins = sum((hit > other) + (hit == other) / 2 for hit in hits for other in others)
    assert skill.area == pytest.approx(wins / len(hits) / len(others))


# -- in the frontier -----------------------------------------------------------------------------------------


def test_the_frontier_asks_for_levels_of_links_and_of_nothing_else() -> None:
    learner = Learner()
    scorer: Scorer = LinkScorer(learner)
    url = "http://c.test/"
    entries = [
        UrlEntry(url, "c.test", 1),
        UrlEntry(url, "c.test", 1, via=HUB, kind="robots"),
        UrlEntry(url, "c.test", 1, via=HUB, payload="{}"),
        UrlEntry(url, "c.test", 1, via=HUB, link_features=link("x", "550")),
        UrlEntry(url, "c.test", 1, via=HUB),
    ]
    levels = scorer.levels(entries)
    assert levels[:3] == [None, None, None]
    assert levels[3:] == learner.levels([(url, link("x", "550")), (url, None)])
    assert scorer.version == learner.version
    placed = Order("breadth_first", None, 1.0, scorer=scorer).place_all(entries)
    assert [entry.level for entry in placed] == [0, 0, 0, *levels[3:]]


def test_features_of_a_link_are_few() -> None:
    link_data = unpack(pack("550110", "word " * 100, "word " * 100))
    found = model_features("http://h.test/" + "a/" * 500 + "x" * 500 + "?" + "a=1&" * 500, link_data)
    assert len(found) < 60
