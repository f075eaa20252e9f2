"""Tables of cases: one test for all rows of a table.

A test of its own for each row costs hundreds of times what most rows do.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Names = Callable[[Any], object] | Iterable[object] | None

SHOWN_MAX = 20
"""The most wrong rows that are shown."""
SHOWN_CHARACTERS = 2_000
"""The most characters of what is wrong with one of them."""
NAME_CHARACTERS = 150


def each_row(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: Names = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``pytest.mark.parametrize`` with these arguments, but all rows are one test. It carries out every row, and
    fails with a list of those that are wrong.

    The rows share the test's fixtures: it may have none that a row changes.
    """
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(cases)
    rows = [_values(given, case) for case in table]
    called = ids if ids is None or callable(ids) else list(ids)
    assert not isinstance(called, list) or len(called) == len(table), "a name for each row"

    def of_table(test: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(test).parameters
        left = [each for name, each in parameters.items() if name not in given]
        assert len(left) == len(parameters) - len(given), f"{test.__name__} has other arguments than {given}"

        @functools.wraps(test)
        def whole(*args: Any, **fixtures: Any) -> None:
            __tracebackhide__ = True
            assert rows, "a table without rows shows nothing"
            wrong: list[tuple[int, BaseException]] = []
            skipped: list[BaseException] = []
            for number, values in enumerate(rows):
                try:
                    test(*args, **fixtures, **values)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as error:
                    wrong.append((number, error))
            if wrong:
                told = [
                    (_name(table[row], rows[row], row, called), error) for row, error in wrong[:SHOWN_MAX]
                ]
                raise AssertionError(_told(told, len(wrong), len(rows))) from wrong[0][1]
            if len(skipped) == len(rows):
                raise skipped[0]

        whole.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        return whole

    return of_table


def _values(names: list[str], case: Any) -> dict[str, Any]:
    """Return the values of a row by name."""
    values = (case,) if len(names) == 1 else case
    if _is_param(case):
        assert not case.marks, "a row with a mark is a test of its own"
        values = case.values
    return dict(zip(names, values, strict=True))


def _is_param(case: Any) -> bool:
    """Whether ``pytest.param`` made it."""
    return isinstance(case, tuple) and hasattr(case, "marks")


def _name(case: Any, values: dict[str, Any], number: int, called: Names) -> str:
    """Return what a row is called."""
    if isinstance(called, list) and called[number] is not None:
        return str(called[number])
    if _is_param(case) and case.id is not None:
        return str(case.id)
    parts = []
    for value in values.values():
        name = called(value) if callable(called) else None
        if name is None:
            try:
                name = repr(value)
            except ValueError:
                # A number of very many digits.
                name = f"row {number}"
        parts.append(str(name)[:NAME_CHARACTERS])
    return ", ".join(parts)


def _told(wrong: list[tuple[str, BaseException]], number: int, rows: int) -> str:
    lines = [f"{number} of {rows} rows are wrong:"]
    for name, error in wrong:
        text = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        lines += [f"* {name}", *(f"    {line}" for line in text[:SHOWN_CHARACTERS].splitlines())]
    return "\n".join(lines + [f"and {number - len(wrong)} more"] * (number > len(wrong)))
