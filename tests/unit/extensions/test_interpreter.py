"""The garbage collector is set for all crawls of a process together."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from webcrawl.extensions.interpreter import THRESHOLDS, Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    assert gc.get_threshold() == before


def test_it_collects_for_the_first_crawl_and_restores_after_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    collections: list[str] = []
    monkeypatch.setattr(gc, "collect", lambda: collections.append("all"))
    monkeypatch.setattr(gc, "freeze", lambda: collections.append("frozen"))
    monkeypatch.setattr(gc, "unfreeze", lambda: collections.append("unfrozen"))
    before = gc.get_threshold()
    first, second = Interpreter(), Interpreter()
    first._started()
    second._started()
    assert collections == ["all", "frozen"], "a second crawl does not block the first one"
    first._stopped()
    assert gc.get_threshold() == THRESHOLDS, "one still runs"
    first._stopped()
    second._stopped()
    assert collections == ["all", "frozen", "unfrozen"]
    assert gc.get_threshold() == before


def test_a_crawl_that_did_not_start_changes_nothing() -> None:
    Interpreter()._stopped()
