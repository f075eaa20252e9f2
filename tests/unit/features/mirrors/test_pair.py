"""Two hosts are judged by pages that both have."""

import pytest

from webcrawl.features.mirrors.evidence import MISSING, PageMark
from webcrawl.features.mirrors.knowledge import OPEN_PER_ORIGIN, MirrorKnowledge, MirrorScopeRule
from webcrawl.features.mirrors.pair import (
    DOUBT_SECONDS,
    LATER,
    PAGES,
    PROBES_AT_ONCE,
    PROBES_MAX,
    MirrorPair,
    MirrorState,
)
from webcrawl.scope.scope import Candidate

A, B, C = "http://a.test", "http://b.test", "http://c.test"


def mark(number, content=None, at=10.0):
    content = number + 1 if content is None else content
    return PageMark(f"/{number}", content, content, at)


def show(pair, number, one=None, other=None, at=10.0):
    """Compare two pages under the same path."""
    return pair.compare(pair.mirror, mark(number, one, at), mark(number, other), at)


@pytest.fixture
def pair():
    return MirrorPair(A, B, MirrorState.PROVING, 5.0)


@pytest.fixture
def confirmed(pair):
    for number in range(PAGES):
        show(pair, number)
    assert pair.is_proved
    pair.confirm(A, 20.0)
    return pair


def test_eight_equal_pages_that_differ_among_themselves_prove_a_pair(pair):
    for number in range(PAGES - 1):
        assert show(pair, number)
        assert not pair.is_proved
    assert not show(pair, 100, 1, 1)
    assert not pair.is_proved
    show(pair, PAGES)
    assert pair.is_proved


def test_most_of_them_come_after_the_hosts_became_candidates(pair):
    for number in range(PAGES * 2):
        show(pair, number, at=1.0)
    assert not pair.is_proved
    for number in range(100, 100 + LATER):
        show(pair, number, at=6.0)
    assert pair.is_proved


def test_one_page_that_differs_refutes_a_pair_and_one_that_is_missing_says_nothing(pair):
    assert not show(pair, 1, MISSING)
    assert pair.state is MirrorState.PROVING
    assert show(pair, 2, 100, 200)
    assert (pair.state, pair.why) == (MirrorState.REFUTED, "/2 differs")


def test_a_page_that_differs_is_compared_with_that_of_the_first_host_as_it_is_now(confirmed):
    for now, state in ((100, MirrorState.CONFIRMED), (2, MirrorState.UNDONE)):
        confirmed.state = MirrorState.CONFIRMED
        assert show(confirmed, 1, 100, 2, at=30.0)
        assert confirmed.state is MirrorState.DOUBTED
        assert not confirmed.compare(B, mark(1, 100, 31.0), mark(1, 2), 31.0)
        assert not confirmed.compare(A, mark(1, 2, 29.0), mark(1, 100), 31.0)
        assert confirmed.compare(A, mark(1, now, 32.0), mark(1, 100), 32.0)
        assert confirmed.state is state


def test_a_doubt_that_is_not_decided_undoes_a_pair(confirmed):
    show(confirmed, 1, 100, 2, at=30.0)
    assert not confirmed.expire(30.0 + DOUBT_SECONDS)
    assert confirmed.expire(31.0 + DOUBT_SECONDS)
    assert confirmed.state is MirrorState.UNDONE


def test_probes_are_bounded_at_a_time_and_in_all(pair):
    assert pair.probes_wanted() == PROBES_AT_ONCE
    pair.open_probes = {"/x": 1.0}
    assert pair.probes_wanted() == PROBES_AT_ONCE - 1
    pair.probes = PROBES_MAX
    assert pair.probes_wanted() == 0


def test_a_pair_has_one_id_whichever_host_is_the_first():
    assert MirrorPair(A, B, MirrorState.PROVING, 1.0).id == MirrorPair(B, A, MirrorState.PROVING, 2.0).id
    pair = MirrorPair(A, B, MirrorState.PROVING, 1.0)
    assert (pair.counterpart(f"{A}/x?y"), pair.counterpart(f"{B}/x?y")) == (f"{B}/x?y", f"{A}/x?y")


def test_a_host_has_few_candidates_and_none_once_it_is_a_mirror():
    knowledge = MirrorKnowledge()
    pairs = [
        knowledge.candidate(A, f"http://{number}.test", [], 1.0) for number in range(OPEN_PER_ORIGIN + 2)
    ]
    assert [pair is not None for pair in pairs] == [True] * OPEN_PER_ORIGIN + [False] * 2
    first, second = pairs[:2]
    ended = knowledge.confirm(first, first.other(A), 2.0)
    assert second in ended
    assert all(pair.state is MirrorState.REFUTED for pair in ended)
    assert knowledge.mirrors == {A: first}
    assert knowledge.candidate(A, C, [], 3.0) is None


def test_what_other_processes_stored_is_taken_unless_it_is_earlier():
    knowledge = MirrorKnowledge()
    pair = knowledge.candidate(A, B, [], 1.0)
    applied = MirrorPair(B, A, MirrorState.CONFIRMED, 3.0, withheld=7)
    assert knowledge.load([applied]) == [pair]
    assert (pair.first, pair.withheld, knowledge.mirrors) == (B, 7, {A: pair})
    assert knowledge.load([MirrorPair(A, B, MirrorState.PROVING, 1.0)]) == []
    assert knowledge.mirrors == {A: pair}
    assert knowledge.load([MirrorPair(B, A, MirrorState.UNDONE, 4.0)]) == [pair]
    assert not knowledge.mirrors
    assert not knowledge.has(A)


def test_only_urls_that_are_stored_as_withheld_are_refused_and_each_once():
    knowledge = MirrorKnowledge()
    knowledge.confirm(knowledge.candidate(A, B, [], 1.0), A, 2.0)
    rule = MirrorScopeRule(knowledge)
    url = f"{B}/x"
    assert rule.refuses(Candidate(url, "b.test", "b.test")) is None
    rule.refuse_once(url)
    assert rule.refuses(Candidate(url, "b.test", "b.test", linked_from=f"{B}/")) is None
    assert f"the page of {A}/x" in rule.refuses(Candidate(url, "b.test", "b.test"))
    assert rule.refuses(Candidate(url, "b.test", "b.test")) is None
