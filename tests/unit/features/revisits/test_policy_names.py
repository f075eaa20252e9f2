"""A policy is chosen by name or by import path; what is none is refused with what is allowed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.freshness import POLICIES, build_policy
from webcrawl.features.revisits.policies import FixedPolicy, Pace

PAGE = Path(__file__).parents[4] / "docs/internals/add-a-revisit-policy.md"
DAY = 86_400.0


class Nothing:
    def __init__(self, pace: Pace) -> None:
        self.pace = pace


@pytest.mark.parametrize("name", POLICIES)
def test_by_name(name: str) -> None:
    assert type(build_policy(name, Pace())) is POLICIES[name]


def test_the_policy_of_the_documentation_visits_no_page_on_a_weekend() -> None:
    example = re.search(
        r"```python\n# office_hours\.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert example is not None
    made: dict[str, Any] = {}
    exec(example[1], made)
    policy = made["OfficeHours"](Pace(interval_seconds=DAY))
    friday = 20_000 * DAY + 7 * DAY - (20_000 + 3) % 7 * DAY + 4.5 * DAY
    due = [
        policy.next_visit_at(History.first(at), at)
        for at in (friday - DAY, friday, friday + DAY, friday + 2 * DAY)
    ]
    assert [(at - friday) / DAY for at in due] == [0, 2.5, 2.5, 3]
    assert "Monday" in policy.explain(History.first(friday), friday)


def test_by_import_path() -> None:
    assert isinstance(build_policy("webcrawl.features.revisits.policies.FixedPolicy", Pace()), FixedPolicy)


@each_row(
    ("name", "message"),
    [
        ("seldom", "there are fixed, multiplicative, freshness, or an import path"),
        ("no.such.Policy", "cannot be imported"),
        ("webcrawl.features.revisits.policies.Never", "cannot be imported"),
        ("webcrawl.features.revisits.policies.DAY_SECONDS", "no class of policies"),
        (f"{__name__}.Nothing", "makes no policy"),
    ],
)
def test_what_is_none_is_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_policy(name, Pace())
