"""Sketches of texts: small for any text, alike for texts that are nearly the same, and for no others."""

from __future__ import annotations

import random

import pytest

from tests.fakeweb.variants import prose
from webcrawl.processing.text_sketch import HASHES, SHINGLES_MIN, hashes_in, resemblance, sketch


def similar(one: str, other: str) -> float:
    return resemblance(hashes_in(sketch(one)), hashes_in(sketch(other)))[0]


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(words, words[1:], words[2:], strict=False))


@pytest.mark.parametrize("count", [50, 120, 500, 5_000])
def test_the_estimate_is_near_the_share_of_shingles_that_both_texts_have(count: int) -> None:
    """Within four standard errors for each of many texts; exact if both sketches have all shingles."""
    for changed in (0, 1, count // 50, count // 10):
        words = prose(f"text {count}", count)
        others = list(words)
        chance = random.Random(changed)
        for place in chance.sample(range(count), changed):
            others[place] = "changed"
        these, those = shingles(words), shingles(others)
        truth = len(these & those) / len(these | those)
        share, error = resemblance(hashes_in(sketch(" ".join(words))), hashes_in(sketch(" ".join(others))))
        assert abs(share - truth) <= (4 * error + 0.02 if len(these | those) > HASHES else 1e-9)


def test_a_text_of_any_length_has_a_sketch_of_bounded_length_in_order() -> None:
    for count in (34, 200, 511, 514, 20_000):
        hashes = hashes_in(sketch(" ".join(prose("any", count))))
        assert hashes == sorted(set(hashes))
        assert len(hashes) == min(HASHES, len(shingles(prose("any", count))))


def test_a_text_that_repeats_itself_has_the_sketch_of_its_shingles() -> None:
    """Many shingles, and few different ones."""
    once = prose("once", 100)
    assert set(hashes_in(sketch(" ".join(once)))) <= set(hashes_in(sketch(" ".join(once * 50))))
    assert len(hashes_in(sketch(" ".join(once * 50)))) == 100


def test_short_texts_have_none() -> None:
    words = prose("short", SHINGLES_MIN + 2)
    assert sketch(" ".join(words)) != b""
    for short in ("", " \n", "one", " ".join(words[:-1]), " ".join(["the same"] * 100)):
        assert sketch(short) == b""
    assert resemblance([], []) == (0.0, 0.0)


def test_case_and_white_space_do_not_count() -> None:
    text = " ".join(prose("case", 60))
    assert sketch(text) == sketch(text.title().replace(" ", " \n"))


def test_a_text_without_spaces_is_read_by_its_characters() -> None:
    chance = random.Random(1)
    text = "".join(chr(chance.randrange(0x4E00, 0x5E00)) for _ in range(300))
    changed = f"{text[:150]}\u4e01{text[151:]}"
    other = "".join(chr(chance.randrange(0x4E00, 0x5E00)) for _ in range(300))
    assert similar(text, changed) > 0.9
    assert similar(text, f"{text[:100]} {text[100:]}") == 1.0
    assert similar(text, other) < 0.1


def test_what_is_no_character_is_sketched_too() -> None:
    assert sketch(" ".join([*prose("surrogate", 60), "\ud800"])) != b""


def test_sketches_are_the_same_on_every_machine() -> None:
    """They are stored, and other workers read them."""
    hashes = hashes_in(sketch(" ".join(f"w{number}" for number in range(40))))
    assert (len(hashes), hashes[0], hashes[-1]) == (38, 60678604, 4258759000)
