"""What is said while the crawls of a process are being closed: of those that are, and since then."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from webcrawl.engine import shutdown
from webcrawl.engine.shutdown import ShutdownSignals


@dataclass(eq=False)
class Crawl:
    """A crawl of a script, which keeps it when it has ended."""

    waited_for: str | None
    since: float | None = None

    def is_between(self) -> bool:
        return False

    def waits(self) -> str | None:
        return self.waited_for

    def stopping_since(self) -> float | None:
        return self.since

    async def release(self) -> None:
        pass

    def has_ended(self) -> bool:
        return self.waited_for is None

    def told_by_force(self) -> None:
        pass


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sentences: list[str] = []
    reactor = SimpleNamespace(callFromThread=lambda call: call(), callLater=lambda _, call: None)
    monkeypatch.setattr(shutdown, "_reactor", lambda: reactor)
    monkeypatch.setattr(shutdown, "_say", lambda sentence: sentences.append(sentence))
    monkeypatch.setattr(shutdown, "time", SimpleNamespace(monotonic=lambda: 500.0))
    return sentences


@pytest.mark.parametrize(
    ("second", "sentences"),
    [
        pytest.param(Crawl("1 open request"), [], id="runs"),
        pytest.param(
            Crawl("1 open request", since=497.0), ["Stopping for 3 s, waits for 1 open request"], id="closes"
        ),
        pytest.param(Crawl(None, since=499.0), [], id="has ended"),
    ],
)
def test_a_crawl_that_has_ended_counts_for_none_of_the_next(
    said: list[str], second: Crawl, sentences: list[str]
) -> None:
    signals = ShutdownSignals()
    first = Crawl(None, since=100.0)
    for crawl in (first, second):
        signals.add(crawl)

    assert signals._report() == bool(sentences)
    assert said == sentences
