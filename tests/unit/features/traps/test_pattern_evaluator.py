"""Which sequences of pages are a trap, and how soon that is found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakeweb.content import word
from tests.fakeweb.names import numbers
from tests.rows import each_row
from webcrawl.features.traps.detector import TrapDetector
from webcrawl.features.traps.novelty import CRAWL_MOST, HOST_MOST, Template, page_shingles
from webcrawl.features.traps.pattern import parse_shape
from webcrawl.features.traps.pattern_evaluator import (
    CHAIN_LEAST,
    COMPARED_MAX,
    POINTS,
    UninformativePage,
    max_page_points,
    page_points,
)

CASES = json.loads((Path(__file__).parents[3] / "data/traps_judged.json").read_text(encoding="utf-8"))
MONTHS = ("May", "June", "July", "August", "September", "October")
SITE = "http://h.test"


@dataclass
class Found:
    """The part of an entry that is needed."""

    url: str


LONG = " ".join(word(number % 300) for number in numbers("a template", 60))


def draw(seed):
    return numbers(seed, 1)[0] % 1_999_999_999


def noisy(text, n):
    """The same with a tenth of the words drawn anew."""
    stream = iter(numbers(f"noise {n}", 2 * text.count(" ") + 2))
    return " ".join(f"q{next(stream):x}" if next(stream) % 10 == 0 else one for one in text.split())


def values(n):
    """What may stand in the templates of a case, for its page number ``n``."""
    months = {"": n, "before_": n - 1, "after_": n + 1}
    dates = {f"{which}year": 2024 + at // 12 for which, at in months.items()}
    dates |= {f"{which}month": at % 12 + 1 for which, at in months.items()}
    counted = {"before_": n - 1, "": n, "after_": n + 1}
    dates |= {f"{which}random": 1_000_000_000 + draw(f"id {at}") for which, at in counted.items()}
    dates |= {f"{which}second": 1_700_000_000 + 86_400 * at for which, at in counted.items()}
    dates |= {f"{which}six": 201_001 + at for which, at in counted.items()}
    path = ["ab"[bit == "1"] + "/" for bit in f"{n:b}"]
    return {
        **dates,
        "n": n,
        "before": n - 1,
        "after": n + 1,
        "n3": n % 3,
        "n4": n % 4,
        "n5": n % 5,
        "name": MONTHS[n % 6],
        "word": word(n),
        "token": "".join(f"{number:08x}" for number in numbers(f"token {n}", 5)),
        "text": " ".join(word(number % 300) for number in numbers(f"text {n}", 40)),
        "event": "" if n % 3 else " ".join(word(number) for number in numbers(f"event {n}", 6)),
        "two": f"{word(draw(f'one {n}') % 300)} {word(draw(f'two {n}') % 300)}.",
        "line": " ".join(word(number % 300) for number in numbers(f"line {n}", 5)),
        "price": draw(f"price {n}") % 997,
        "clock": f"10:{n // 60 % 60:02}:{n % 60:02}",
        "long": LONG,
        "noisy": noisy(LONG, n),
        "path": "".join(path),
        "path_before": "".join(path[:-1]),
    }


def detector(**more):
    return TrapDetector(lambda: 0.0, **{"pages": 12, "new_share": 0.1, "withheld_max": 10, **more})


def page(text, url=""):
    body = f"<title>A site</title><ul><li>Home<li>News<li>Contact<li>About</ul><p>{text}</p><footer>Ours".encode()
    return partial(page_shingles, body, "utf-8", url)


def evaluated(case, **more):
    """The patterns that are found guilty, and after how many pages the first of them is."""
    look, first = detector(**more), None
    for n in range(1, case.get("pages", 100) + 1):
        given = values(n)
        links = [Found(SITE + link.format(**given)) for link in case.get("links", ())]
        url = SITE + case["url"].format(**given)
        look.page(url, SITE + case["via"].format(**given), page(case["says"].format(**given), url), links)
        if first is None and len(look.quarantine):
            first = n
    return [trap.pattern for trap in look.quarantine.traps()], first


@each_row("case", CASES, ids=lambda case: case["what"])
def test_what_ends_never_and_says_nothing_new_is_a_trap_and_nothing_else_is(case):
    patterns, first = evaluated(case)
    if case["trap"] is None:
        assert patterns == []
    else:
        assert patterns[0] == case["trap"]
        assert first <= case["within"]


def test_how_many_pages_are_asked_for_can_be_chosen():
    [case] = [case for case in CASES if case["what"] == "a login that remembers a login"]
    few, many = evaluated(case, pages=6)[1], evaluated({**case, "pages": 300}, pages=48)[1]
    assert few < evaluated(case)[1] < many


def test_a_pattern_is_accused_once():
    [case] = [case for case in CASES if case["what"] == "a calendar of months"]
    assert len(evaluated({**case, "pages": 100})[0]) == 1


def test_what_is_not_looked_at_costs_no_reading():
    look, read = detector(), []
    for n in range(200):
        look.page(f"{SITE}/item/{n}", f"{SITE}/items", partial(read.append, n), [])
        look.page(f"{SITE}/about/us-{word(n)}", f"{SITE}/about", partial(read.append, n), [])
    assert read == []


def test_of_what_brings_something_new_again_and_again_only_few_pages_are_read():
    look, read = detector(), []

    def reading(n):
        read.append(n)
        return page(values(n)["text"])()

    for n in range(500):
        look.page(f"{SITE}/a/{n}", f"{SITE}/a/{n - 1}", partial(reading, n), [])
    assert len(read) < 80


def test_pages_that_say_something_else_each_time_are_not_compared_with_a_template(monkeypatch):
    compared = []
    take = Template.take
    monkeypatch.setattr(Template, "take", lambda self, words: compared.append(words) or take(self, words))
    look = detector()
    for n in range(200):
        text = " ".join(word(number % 5000) for number in numbers(f"article {n}", 200))
        look.page(f"{SITE}/a?x={word(n)}", f"{SITE}/a?x={word(n - 1)}", page(text), [])
    assert compared == []
    for n in range(40):
        look.page(f"{SITE}/b?x={word(n)}", f"{SITE}/b?x={word(n - 1)}", page(LONG), [])
    assert compared


PLACES = ["http://h.test", "http://h.test:81", "https://other.test"]
PATHS = [
    "/",
    "/a/b/c/d/e",
    "/a/b/a/b/a/",
    "/item/17",
    "/item/1700000000",
    "/item/1700086400",
    "/item/1700086400000.html",
    "/2031/05/",
    "/2031/05/17/",
    "/on/2031-05-17",
    "/calendar/7",
    "/a/b/c/d/e/f/g/h/i/j/k/l",
]
QUERIES = [
    "",
    "?id=7",
    "?page=7",
    "?a=x&b=y",
    "?next=x",
    "?day=7",
    "?at=1700000000",
    "?at=1700172800",
    "?m=203105",
]
URLS = st.tuples(*map(st.sampled_from, (PLACES, PATHS, QUERIES))).map("".join)


@given(URLS, st.none() | URLS, st.booleans(), st.booleans(), st.booleans())
def test_no_page_counts_for_more_than_it_could_have(url, via, breeds, hollow, ids):
    shape = parse_shape(url)
    for pattern in (shape.pattern, shape.below(1)):
        uninformative = UninformativePage(shape, pattern, via, breeds, CHAIN_LEAST, hollow, ids)
        assert page_points(uninformative) <= max_page_points(uninformative)


@each_row(
    ("path", "via", "pages"),
    [
        ("/a/b/c/a/b/", "/a/b/c/a/", 6),
        ("/2031/05/", "/2031/04/", 10),
        ("/shop?size=xl&colour=red", "/shop?size=xl&colour=blue", 12),
        ("/2031/05/17/", "/2031/05/16/", 20),
        ("/shop?colour=red", "/shop?colour=blue", 20),
        ("/item/17", "/item/16", 3_000),
        ("/list?page=17", "/list?page=16", 3_000),
    ],
)
def test_so_many_pages_make_a_trap_as_the_decision_says(path, via, pages):
    shape = parse_shape(SITE + path)
    uninformative = UninformativePage(shape, shape.pattern, SITE + via, breeds=True, chain=CHAIN_LEAST)
    assert POINTS / page_points(uninformative) == pytest.approx(pages)


@pytest.mark.parametrize("hosts", [1, 40])
def test_no_site_makes_more_of_the_pages_be_read_than_a_tenth_in_the_long_run(hosts):
    look, read = detector(), []
    size, count = 28_000, 6_000
    for n in range(count):
        # Days that say something new now and then are looked at each time.
        given, site = values(n), f"http://h{n % hosts}.test"
        text = given["text"] if n % 3 else "Nothing"
        look.page(
            f"{site}/day/2031-05-{n // hosts}",
            f"{site}/day/2031-05-{n // hosts - 1}",
            reads(read, text),
            [],
            size,
        )
    assert count / 40 < len(read) < count / 10 + min(hosts * HOST_MOST, CRAWL_MOST) / size


def reads(read, text):
    def shingles():
        read.append(text)
        return page(text)()

    return shingles


def test_a_site_that_has_spent_what_may_be_read_is_still_found_out_a_little_later():
    look = detector()
    for n in range(1000):
        given = values(n)
        text = given["text"] if n % 3 else "Nothing"
        look.page(f"{SITE}/day/2031-05-{n}", f"{SITE}/day/2031-05-{n - 1}", page(text), [], 28_000)
    assert len(look.quarantine) == 0
    for n in range(400):
        link = Found(f"{SITE}/login?next=x{n + 1}")
        look.page(f"{SITE}/login?next=x{n}", f"{SITE}/login?next=x{n - 1}", page("Name"), [link], 28_000)
    assert [trap.pattern for trap in look.quarantine.traps()] == ["h.test/login?next"]


@pytest.mark.slow
def test_the_traps_of_very_many_sites_that_take_turns_are_found():
    look, hosts = detector(), COMPARED_MAX + COMPARED_MAX // 2
    for n in range(60):
        for host in range(hosts):
            site = f"http://h{host}.test"
            link = Found(f"{site}/login?next=x{n + 1}")
            url = f"{site}/login?next=x{n}"
            look.page(url, f"{site}/login?next=x{n - 1}", page("Name"), [link], 500)
    assert len(look.quarantine) == hosts
