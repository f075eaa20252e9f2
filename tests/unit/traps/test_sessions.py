"""Sessions are found out by pages that are the same under several of them."""

from __future__ import annotations

from functools import partial

import pytest

from tests.unit.traps.test_judge import lookout, page
from webcrawl.scope.candidate import Candidate
from webcrawl.traps.rule import TrapRule

SITE = "http://h.test"


def visits(look, urls_and_texts):
    for url, text in urls_and_texts:
        look.page(url, f"{SITE}/", page(text), [])


def refused(look, url):
    return TrapRule(look.quarantine).refuses(Candidate(url, "h.test", "h.test"))


@pytest.mark.parametrize(
    "form",
    [
        "{page}?sid=a{n}b{n}c{n}",
        "{page}?x=1&PHPSESSID=a{n}b{n}c{n}d{n}",
        "{page};jsessionid=A{n}B{n}C{n}",
        "{page}?k=0123456789abcde{n}",
    ],
)
def test_each_page_is_let_through_once_under_whatever_session(form):
    look = lookout()
    pages = [f"{SITE}/{name}" for name in ("one", "two", "three")]
    for n in range(2):
        visits(look, [(form.format(page=one, n=n), f"This is {one}") for one in pages])
    assert len(look.quarantine) == 1
    assert refused(look, form.format(page=pages[0], n=7))
    assert refused(look, form.format(page=f"{SITE}/four", n=7)) is None
    visits(look, [(form.format(page=f"{SITE}/four", n=7), "This is four")])
    assert refused(look, form.format(page=f"{SITE}/four", n=8))


def test_numbers_by_which_documents_are_called_are_no_sessions():
    look = lookout()
    visits(
        look,
        [
            (f"{SITE}/doc?id=0123456789abcdef{n:04x}", f"Document about {chr(97 + n % 26) * 5}")
            for n in range(100)
        ],
    )
    assert len(look.quarantine) == 0


def test_one_page_that_is_the_same_again_proves_little_of_a_name_that_says_nothing():
    look = lookout()
    visits(look, [(f"{SITE}/p?k=0123456789abcdef{n}", "The same") for n in range(9)])
    assert len(look.quarantine) == 0
    visits(look, [(f"{SITE}/p?k=0123456789abcdef{n}", "The same") for n in range(9, 40)])
    assert len(look.quarantine) == 1


def test_what_is_hopeless_is_not_read_any_more():
    look, read = lookout(), []

    def reading(n):
        read.append(n)
        return page(f"Document {chr(97 + n % 26)} {chr(97 + n // 26)}")()

    for n in range(200):
        look.page(f"{SITE}/doc?id=0123456789abcdef{n:04x}", f"{SITE}/", partial(reading, n), [])
    assert len(read) < 20
