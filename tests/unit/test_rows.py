"""A table of cases as one test: every row is carried out, and what is wrong is told."""

import inspect

import pytest

from tests.rows import SHOWN_MAX, each_row


def wrong(test, **fixtures):
    """What a test of a table tells when it fails."""
    with pytest.raises(AssertionError) as raised:
        test(**fixtures)
    return str(raised.value)


def test_every_row_is_carried_out_with_the_fixtures():
    seen = []

    @each_row("left, right", [(1, 2), pytest.param(3, 4, id="odd")])
    def test(into, left, right):
        into.append((left, right))

    test(into=seen)
    assert seen == [(1, 2), (3, 4)]
    assert list(inspect.signature(test).parameters) == ["into"]


def test_all_rows_that_are_wrong_are_named_with_what_is_wrong():
    @each_row(("number", "text"), [(1, "a"), pytest.param(2, "b", id="the second"), (3, "c"), (4, "d")])
    def test(number, text):
        if number == 3:
            raise KeyError(text)
        if number == 4:
            pytest.fail("by hand")
        assert number == 1, f"it is {text}"

    told = wrong(test)
    assert told.startswith("3 of 4 rows are wrong:\n* the second\n    it is b")
    assert "* 3, 'c'\n    KeyError: 'c'\n* 4, 'd'\n    Failed: by hand" in told
    assert "'a'" not in told


@pytest.mark.parametrize("ids", [["one", "two"], {1: "one", 2: "two"}.get, lambda n: ["", "one", "two"][n]])
def test_rows_have_the_names_they_are_given(ids):
    @each_row("number", [1, 2], ids=ids)
    def test(number):
        assert number < 2

    assert "* two\n" in wrong(test)


def test_a_number_too_long_to_show_has_the_number_of_its_row():
    @each_row("number", [1, 10**5000])
    def test(number):
        assert number == 1, "too long"

    assert "* row 1\n    too long" in wrong(test)


def test_tables_may_stand_on_each_other():
    seen = []

    @each_row("a", [1, 2])
    @each_row("b", [3, 4])
    def test(a, b):
        seen.append((a, b))
        assert (a, b) != (2, 3), "these two"

    assert "* 2\n    1 of 2 rows are wrong:\n    * 3\n        these two" in wrong(test)
    assert seen == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_of_very_many_rows_some_are_shown():
    @each_row("number", range(100))
    def test(number):
        raise ValueError

    told = wrong(test)
    assert told.startswith("100 of 100 rows are wrong")
    assert told.count("* ") == SHOWN_MAX
    assert told.endswith(f"and {100 - SHOWN_MAX} more")


def test_a_table_without_rows_is_wrong():
    @each_row("number", [])
    def test(number):
        raise AssertionError("never")

    assert "a table without rows" in wrong(test)


def test_rows_that_are_skipped_skip_the_test_if_all_are():
    @each_row("number", [1, 2])
    def some(number):
        if number == 1:
            pytest.skip("not here")

    @each_row("number", [1, 2])
    def every(number):
        pytest.skip("not here")

    some()
    with pytest.raises(pytest.skip.Exception):
        every()


def test_what_does_not_fit_the_test_is_an_error_when_it_is_defined():
    with pytest.raises(AssertionError, match="other arguments"):

        @each_row("number", [1])
        def test(text):
            raise AssertionError("never")

    with pytest.raises(ValueError, match="zip"):
        each_row("a, b", [(1, 2, 3)])
    with pytest.raises(AssertionError, match="mark"):
        each_row("a", [pytest.param(1, marks=pytest.mark.slow)])
