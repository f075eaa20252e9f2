"""A policy is chosen by name or by import path; what is none is refused with what is allowed."""

from __future__ import annotations

import pytest

from webcrawl.visits.choosing import POLICIES, policy_of
from webcrawl.visits.policies import FixedPolicy, Pace


class Nothing:
    def __init__(self, pace: Pace) -> None:
        self.pace = pace


@pytest.mark.parametrize("name", POLICIES)
def test_by_name(name: str) -> None:
    assert type(policy_of(name, Pace())) is POLICIES[name]


def test_by_import_path() -> None:
    assert isinstance(policy_of("webcrawl.visits.policies.FixedPolicy", Pace()), FixedPolicy)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("seldom", "there are fixed, multiplicative, freshness, or an import path"),
        ("no.such.Policy", "cannot be imported"),
        ("webcrawl.visits.policies.Never", "cannot be imported"),
        ("webcrawl.visits.policies.DAY_SECONDS", "no class of policies"),
        (f"{__name__}.Nothing", "makes no policy"),
    ],
)
def test_what_is_none_is_refused(name: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        policy_of(name, Pace())
