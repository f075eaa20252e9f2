"""A parameter that changes nothing is found by equal pages, and each page is fetched once then."""

from __future__ import annotations

from itertools import count

from webcrawl.features.traps.copies import EQUAL_LEAST, PAGES_LEAST
from webcrawl.features.traps.detector import TrapDetector
from webcrawl.features.traps.novelty import Shingles

HOST = "http://hg.test"


def detector() -> TrapDetector:
    times = count(1_700_000_000)
    return TrapDetector(lambda: float(next(times)), pages=12, new_share=0.1, withheld_max=10)


def visit(traps: TrapDetector, path: str, content: int) -> bool:
    """Fetch a page unless it is withheld; return whether it was fetched."""
    if traps.quarantine.trap_of(HOST + path, "hg.test") is not None:
        return False
    traps.page(HOST + path, f"{HOST}/log", lambda: Shingles(f"<p>{content}"), [], 100, lambda: content)
    return True


def revision(number: int) -> str:
    return f"/rev/a{number:05x}f{number:05d}"


def test_leaves_that_are_equal_under_any_value_are_fetched_once_each() -> None:
    traps = detector()
    # As hgweb links them: each revision with the length of the list that it was found on, 100 lengths.
    fetched = [
        (number, length)
        for length in range(100)
        for number in range(60)
        if visit(traps, f"{revision(number)}?revcount={length * 30}", number)
    ]
    assert {number for number, _ in fetched} == set(range(60))
    assert len(fetched) == 60 + EQUAL_LEAST
    assert [trap.pattern for trap in traps.quarantine.traps()] == ["hg.test/rev/*?revcount="]
    assert visit(traps, f"{revision(77)}?revcount=30", 77), "a page that is new is not withheld"
    assert not visit(traps, f"{revision(77)}?revcount=60", 77)
    assert visit(traps, f"{revision(77)}?style=raw", 1), "nor with another parameter"
    assert visit(traps, f"{revision(78)}", 78)
    assert not visit(traps, f"{revision(78)}?revcount=60", 78), "the page without it counts too"


def test_a_parameter_that_selects_now_and_then_is_none() -> None:
    traps = detector()
    for number in range(400):
        for language in ("de", "en"):
            # One page in twenty is translated.
            same = number % 20
            assert visit(
                traps, f"/text/{number}?lang={language}", number if same else hash((number, language))
            )
    assert len(traps.quarantine) == 0


def test_one_answer_for_anything_is_no_proof() -> None:
    traps = detector()
    for number in range(400):
        assert visit(traps, f"/find?q={number}", 1)
        assert visit(traps, f"/list/{number % 40}?sort={number}", 2)
    assert not [trap for trap in traps.quarantine.traps() if trap.pattern.endswith("=")]


def test_the_pages_of_a_list_are_never_taken_for_copies() -> None:
    traps = detector()
    for number in range(4 * PAGES_LEAST):
        for page in range(1, 5):
            assert visit(traps, f"/article/{number}?page={page}", number)
    assert not [trap for trap in traps.quarantine.traps() if trap.pattern.endswith("=")]
