"""The steps to the comparable form: a chain that ends in what ``canonical`` makes."""

from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.urls.test_canonical import escapes, rules
from tests.unit.urls.test_resolve import link_like
from webcrawl.urls.canonical import ALL_SWITCHES, CanonicalRules, Step, canonical, canonical_steps
from webcrawl.urls.host_rules import HostRule, HostRules
from webcrawl.urls.resolve import resolve

SWITCHED = len(ALL_SWITCHES) - 1
ALL = CanonicalRules(*[True] * SWITCHED)


def test_each_switch_that_is_on_tells_what_it_changed() -> None:
    url = "http://h.test./a//%7Eb/INDEX.html?"
    assert canonical_steps(url, ALL) == [
        Step("escapes", url, "http://h.test./a//~b/INDEX.html?"),
        Step("empty_query", "http://h.test./a//~b/INDEX.html?", "http://h.test./a//~b/INDEX.html"),
        Step("collapse_slashes", "http://h.test./a//~b/INDEX.html", "http://h.test./a/~b/INDEX.html"),
        Step("drop_index", "http://h.test./a/~b/INDEX.html", "http://h.test./a/~b/"),
        Step("lower_case_path", "http://h.test./a/~b/", "http://h.test./a/~b/"),
        Step("drop_host_dot", "http://h.test./a/~b/", "http://h.test/a/~b/"),
        Step("brackets", "http://h.test/a/~b/", "http://h.test/a/~b/"),
    ]


def test_the_name_under_which_a_host_is_known_is_the_last_step() -> None:
    hosts = HostRules([HostRule("startsWith", "www.", "")])
    assert canonical_steps("http://www.h.test/%7e", CanonicalRules(hosts=hosts))[-1] == Step(
        "hosts", "http://www.h.test/~", "http://h.test/~"
    )


def test_a_switch_that_is_off_is_no_step() -> None:
    assert [step.switch for step in canonical_steps("http://h.test/%7e")] == [
        "escapes",
        "empty_query",
        "brackets",
    ]
    assert canonical_steps("http://h.test/%7e", CanonicalRules(*[False] * SWITCHED)) == []


@given(st.one_of(link_like, escapes.map("http://h.test/".__add__)), rules)
@example("http://h.test/%%32%65", ALL)
def test_the_steps_of_any_url_are_a_chain_that_ends_in_its_form(href: str, switches: CanonicalRules) -> None:
    url = resolve(href, "http://base.test/a/b?c")
    if url is None:
        return
    steps = canonical_steps(url, switches)
    assert [step.switch for step in steps] == [name for name in ALL_SWITCHES if getattr(switches, name)]
    form = url
    for step in steps:
        assert step.before == form
        form = step.after
    assert form == canonical(url, switches)
