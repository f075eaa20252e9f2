"""URLs that failed are kept once each, chosen by host and error, and forgotten when they are queued again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import NOW, entry
from webcrawl.features.steering import failures
from webcrawl.features.steering.failures import SPEC, FailedUrl, FailureStore, Selection

if TYPE_CHECKING:
    from tests.contract.conftest import OpenTables


@pytest.fixture
def store(open_tables: OpenTables) -> FailureStore:
    return FailureStore(open_tables(SPEC))


def failed(url: str, error: str = "timeout") -> FailedUrl:
    return FailedUrl(replace(entry(url, level=3, via="http://via/", payload="{}"), attempts=2), error, NOW)


def test_a_url_is_kept_once_and_comes_back_as_a_first_attempt(
    store: FailureStore, runner: asyncio.Runner
) -> None:
    one, later = failed("http://a/1"), failed("http://a/1", "503")
    runner.run(store.add([one, failed("http://b/2")]))
    runner.run(store.add([later]))
    found = {failure.entry.url: failure for failure in runner.run(store.some())}
    assert found["http://a/1"] == later
    assert len(found) == runner.run(store.count(Selection())) == 2
    again = found["http://a/1"].again()
    assert (again.attempts, again.position, again.repeat) == (0, 0, True)
    assert (again.url, again.fingerprint, again.level, again.payload) == (
        one.entry.url,
        one.entry.fingerprint,
        3,
        "{}",
    )
    runner.run(store.remove([one]))
    runner.run(store.remove([one]))
    assert [failure.entry.url for failure in runner.run(store.some())] == ["http://b/2"]


def test_some_of_them_are_chosen_by_host_and_error(store: FailureStore, runner: asyncio.Runner) -> None:
    runner.run(
        store.add(
            [failed("http://a.test/1"), failed("http://www.a.test/2", "503"), failed("http://aa.test/3")]
        )
    )
    for selection, number in (
        (Selection(), 3),
        (Selection("a.test"), 2),
        (Selection("www.a.test"), 1),
        (Selection(error="503"), 1),
        (Selection("a.test", "timeout"), 1),
        (Selection("b.test"), 0),
    ):
        assert runner.run(store.count(selection)) == number, selection


def test_there_are_no_more_than_are_kept(
    store: FailureStore, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "FAILURES_MOST", 3)
    monkeypatch.setattr(failures, "AT_ONCE", 2)
    runner.run(store.add([failed(f"http://a/{number}") for number in range(2)]))
    runner.run(store.add([failed(f"http://a/{number}", "reset") for number in range(5)]))
    assert runner.run(store.count(Selection())) == 3
    assert runner.run(store.count(Selection(error="reset"))) == 3
    long = failed("http://a/" + "x" * failures.ENTRY_CHARACTERS_MOST)
    runner.run(store.remove([failed("http://a/0")]))
    runner.run(store.add([long, failed("http://b/")]))
    assert runner.run(store.count(Selection("b"))) == 1
