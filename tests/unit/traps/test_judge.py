"""Which sequences of pages are a trap, and how soon that is said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.fakeweb.content import word
from tests.fakeweb.names import numbers
from webcrawl.traps.lookout import Lookout
from webcrawl.traps.wording import wording_of

CASES = json.loads((Path(__file__).parents[2] / "data/traps_judged.json").read_text(encoding="utf-8"))
MONTHS = ("May", "June", "July", "August", "September", "October")
SITE = "http://h.test"


@dataclass
class Found:
    """As much of an entry as is asked for."""

    url: str


def values(n):
    """What may stand in the templates of a case, for its page number ``n``."""
    months = {"": n, "before_": n - 1, "after_": n + 1}
    dates = {f"{which}year": 2024 + at // 12 for which, at in months.items()}
    dates |= {f"{which}month": at % 12 + 1 for which, at in months.items()}
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
        "token": "".join(f"{one:08x}" for one in numbers(f"token {n}", 5)),
        "text": " ".join(word(one % 300) for one in numbers(f"text {n}", 40)),
        "event": "" if n % 3 else " ".join(word(one) for one in numbers(f"event {n}", 6)),
        "path": "".join(path),
        "path_before": "".join(path[:-1]),
    }


def lookout(**more):
    return Lookout(lambda: 0.0, **{"pages": 12, "new_share": 0.1, "withheld_max": 10, **more})


def page(text):
    body = f"<title>A site</title><ul><li>Home<li>News<li>Contact<li>About</ul><p>{text}</p><footer>Ours".encode()
    return partial(wording_of, body, "utf-8")


def judged(case, **more):
    """The patterns that are found guilty, and after how many pages the first of them is."""
    look, first = lookout(**more), None
    for n in range(1, case.get("pages", 100) + 1):
        given = values(n)
        links = [Found(SITE + link.format(**given)) for link in case.get("links", ())]
        look.page(
            SITE + case["url"].format(**given),
            SITE + case["via"].format(**given),
            page(case["says"].format(**given)),
            links,
        )
        if first is None and len(look.quarantine):
            first = n
    return [trap.pattern for trap in look.quarantine.traps()], first


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_what_ends_never_and_says_nothing_new_is_a_trap_and_nothing_else_is(case):
    patterns, first = judged(case)
    if case["trap"] is None:
        assert patterns == []
    else:
        assert patterns[0] == case["trap"]
        assert first <= case["within"]


def test_how_many_pages_are_asked_for_can_be_chosen():
    [case] = [case for case in CASES if case["what"] == "a login that remembers a login"]
    few, many = judged(case, pages=6)[1], judged({**case, "pages": 300}, pages=48)[1]
    assert few < judged(case)[1] < many


def test_a_pattern_is_accused_once():
    [case] = [case for case in CASES if case["what"] == "a calendar of months"]
    assert len(judged({**case, "pages": 100})[0]) == 1


def test_what_is_not_looked_at_costs_no_reading():
    look, read = lookout(), []
    for n in range(200):
        look.page(f"{SITE}/item/{n}", f"{SITE}/items", partial(read.append, n), [])
        look.page(f"{SITE}/about/us-{word(n)}", f"{SITE}/about", partial(read.append, n), [])
    assert read == []


def test_of_what_brings_something_new_again_and_again_only_few_pages_are_read():
    look, read = lookout(), []

    def reading(n):
        read.append(n)
        return page(values(n)["text"])()

    for n in range(500):
        look.page(f"{SITE}/a/{n}", f"{SITE}/a/{n - 1}", partial(reading, n), [])
    assert len(read) < 80
