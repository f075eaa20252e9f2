"""Sessions are found out by pages that are the same under several of them."""

from __future__ import annotations

from functools import partial

from tests.fakeweb.content import word
from tests.rows import each_row
from tests.unit.features.traps.test_pattern_evaluator import LONG, detector, noisy, page
from webcrawl.features.traps.quarantine import TrapRule
from webcrawl.scope.scope import Candidate

SITE = "http://h.test"


def visits(look, urls_and_texts):
    for url, text in urls_and_texts:
        look.page(url, f"{SITE}/", page(text), [])


def refused(look, url):
    return TrapRule(look.quarantine).refuses(Candidate(url, "h.test", "h.test"))


@each_row(
    "form",
    [
        "{page}?sid=a{n}b{n}c{n}",
        "{page}?x=1&PHPSESSID=a{n}b{n}c{n}d{n}",
        "{page};jsessionid=A{n}B{n}C{n}",
        "{page}?k=0123456789abcde{n}",
    ],
)
def test_each_page_is_let_through_once_under_whatever_session(form):
    look = detector()
    pages = [f"{SITE}/{name}" for name in ("one", "two", "three")]
    for n in range(2):
        visits(look, [(form.format(page=one, n=n), f"This is {one}") for one in pages])
    assert len(look.quarantine) == 1
    assert refused(look, form.format(page=pages[0], n=7))
    assert refused(look, form.format(page=f"{SITE}/four", n=7)) is None
    visits(look, [(form.format(page=f"{SITE}/four", n=7), "This is four")])
    assert refused(look, form.format(page=f"{SITE}/four", n=8))


def test_numbers_by_which_documents_are_called_are_no_sessions():
    look = detector()
    visits(
        look,
        [
            (f"{SITE}/doc?id=0123456789abcdef{n:04x}", f"Document about {chr(97 + n % 26) * 5}")
            for n in range(100)
        ],
    )
    assert len(look.quarantine) == 0


def test_one_page_that_is_the_same_again_proves_little_of_a_name_that_says_nothing():
    look = detector()
    visits(look, [(f"{SITE}/p?k=0123456789abcdef{n}", "The same") for n in range(9)])
    assert len(look.quarantine) == 0
    visits(look, [(f"{SITE}/p?k=0123456789abcdef{n}", "The same") for n in range(9, 40)])
    assert len(look.quarantine) == 1


def test_what_is_hopeless_is_not_read_any_more():
    look, read = detector(), []

    def reading(n):
        read.append(n)
        return page(f"Document {chr(97 + n % 26)} {chr(97 + n // 26)}")()

    for n in range(200):
        look.page(f"{SITE}/doc?id=0123456789abcdef{n:04x}", f"{SITE}/", partial(reading, n), [])
    assert len(read) < 20


def prose(name):
    return " ".join(f"{name}{chr(97 + n)}{chr(97 + n * 7 % 26)}" for n in range(25))


@each_row(
    ("form", "most"),
    [("{page}?sid={token}", 20), ("{page}?q={token}ffffffff", 60), ("http://h.test/v/{token}/{name}", 60)],
)
@each_row("shown", ["visit {token}", "noise"])
def test_a_page_that_prints_its_visit_or_words_at_random_is_the_same_page(form, most, shown):
    look, needed = detector(), None
    names = [chr(97 + n) * 3 for n in range(12)]
    for n in range(120):
        name, token = names[n % 12], f"{n:03}a{n * 7919 % 4096:04x}"
        url = form.format(page=f"{SITE}/{name}", name=name, token=token)
        links = "".join(f"<a href=/v/{token}/{one}>{one}, {shown.format(token=token)}</a> " for one in names)
        text = f"{LONG} {prose(name)} {links}"
        look.page(url, f"{SITE}/", page(noisy(text, n) if shown == "noise" else text, url), [])
        if needed is None and len(look.quarantine):
            needed = n + 1
    assert needed is not None
    assert needed <= most


def test_documents_below_tokens_of_their_own_are_no_visits_however_alike_their_kinds_are():
    look = detector()
    tabs = [chr(97 + n) * 4 for n in range(14)]
    for n in range(40):
        for tab in tabs:
            url = f"{SITE}/repository/{n:04x}abcdef0123456789/{tab}"
            text = f"{LONG} {prose(tab)} Owner {word(n)} has {n * 37 % 101} of {tab}"
            look.page(url, f"{SITE}/", page(text, url), [])
    assert len(look.quarantine) == 0


def test_measurements_below_tokens_differ_in_their_numbers_alone_and_are_no_visits():
    look = detector()
    for n in range(150):
        url = f"{SITE}/level/{n:04x}abcdef0123456789"
        look.page(url, f"{SITE}/", page(f"{LONG} Water stood at {n * 37 % 101} centimetres", url), [])
    assert len(look.quarantine) == 0


def test_a_visit_in_the_path_of_one_folder_says_nothing_of_documents_in_another():
    look = detector()
    for n in range(2):
        visits(
            look, [(f"{SITE}/v/{n}a{n}b{n}c{n}d{n}e{n}f/{one}", f"This is {one}") for one in ("a", "b", "c")]
        )
    assert [trap.pattern for trap in look.quarantine.traps()] == ["h.test?/v/*"]
    visits(look, [(f"{SITE}/notes/0123456789abcdef", "A note")])
    assert refused(look, f"{SITE}/v/9a9b9c9d9e9f/a")
    assert refused(look, f"{SITE}/notes/f123456789abcde0") is None


def test_a_visit_that_looks_like_a_word_by_chance_is_known_by_its_folder():
    look = detector()
    for n in range(2):
        visits(look, [(f"{SITE}/v/{n}a{n}b{n}c{n}d/{one}", f"This is {one}") for one in ("a", "b", "c")])
    assert refused(look, f"{SITE}/v/abcdef1d/a")
    assert refused(look, f"{SITE}/v/abcdefad/a")
    assert refused(look, f"{SITE}/v/abcdefad/never-fetched") is None
    assert refused(look, f"{SITE}/v/settings/a") is None
