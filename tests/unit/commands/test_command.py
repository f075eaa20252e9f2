"""What all commands of the project have in common: nothing that was misspelt is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands import Command

WORDS = {
    "audit": [],
    "botpage": [],
    "checkpoint": ["a", "b"],
    "complaint": ["a.test"],
    "exclude": ["a.test"],
    "explain": ["http://a.test/"],
    "frontier": ["status"],
    "logs": ["."],
    "plan": ["--urls", "10", "--hosts", "2"],
}
"""What each takes, were it not for the slip."""


@pytest.mark.parametrize("name", WORDS)
def test_a_misspelt_option_is_told(command: Callable[..., Command], name: str) -> None:
    done = command(name)(*WORDS[name], "--forse")
    assert (done.status, done.out) == (2, "")
    assert done.err == f"scrapy {name}: --forse: is no option of this command; see scrapy {name} -h\n"


@pytest.mark.parametrize("name", sorted(WORDS.keys() - {"checkpoint"}))
def test_a_misspelt_setting_is_told(command: Callable[..., Command], name: str) -> None:
    done = command(name)(*WORDS[name], POLITENES_MIN_DELAY=3)
    assert (done.status, done.out) == (2, "")
    line = f"scrapy {name}: POLITENES_MIN_DELAY: is not a setting; did you mean POLITENESS_MIN_DELAY?"
    assert line in done.err.splitlines()
