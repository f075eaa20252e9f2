"""The commands of operators with arguments, as a process carries them out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.samples import NOW
from tests.unit.frontier.small_crawl import SmallCrawl
from webcrawl.features.steering.commands import COMMANDS, UNKNOWN, CommandError, Commands
from webcrawl.features.steering.failures import FailedUrl, FailureStore, Selection
from webcrawl.features.steering.store import Operation, OperatorRequest
from webcrawl.frontier.lease import Lease, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.frontier.records import UrlEntry


class Steered(SmallCrawl):
    """A small crawl with the commands of its process."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = FailureStore(self.backend.tables)
        context: Any = SimpleNamespace(
            configuration=SimpleNamespace(worker_name="w0"),
            backend=self.backend,
            jobdir=None,
            frontier=self.frontier,
            tally=self.frontier.tally,
        )
        scheduler: Any = SimpleNamespace()
        self.commands = Commands(context, scheduler, self.failures)

    def give(self, command: str, **arguments: Any) -> str | None:
        said = self.loop.run(self.commands.carry_out(OperatorRequest(1, command, "me", NOW, arguments)))
        self.rest()
        return said

    def fail(self, lease: Lease, error: str = "timeout") -> UrlEntry:
        """Let a fetch fail for good, as the feature notes it."""
        self.end(lease, None, error=error)
        self.settle(lease, Result.FAILED, None, rule=error)
        self.loop.run(self.failures.add([FailedUrl(lease.entry, error, self.clock.now)]))
        return lease.entry

    @property
    def ends(self) -> tuple[int, int, int]:
        """Numbers of URLs that are queued, done and failed."""
        counts = self.loop.run(self.backend.read_counts())
        return counts.queued, counts.done, counts.failed


@pytest.fixture
def crawl() -> Iterator[Steered]:
    made = Steered()
    yield made
    made.dispose()


def test_each_command_is_known_and_no_argument_is_passed_over(crawl: Steered) -> None:
    assert COMMANDS.keys() == {*Operation}
    for command, arguments in (("dance", {}), ("pause", {"host": "a"}), ("unpark", {"hosts": ["a"]})):
        with pytest.raises(CommandError, match=UNKNOWN):
            crawl.give(command, **arguments)
    with pytest.raises(CommandError, match="a list of texts"):
        crawl.give("unpark", keys="a.test")


def test_failed_urls_are_fetched_again_and_what_is_done_then_has_not_failed(crawl: Steered) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    failed = [crawl.fail(crawl.wait_for_lease()) for _ in range(2)]
    crawl.add("b.test/three")
    assert crawl.ends == (1, 0, 2)
    assert crawl.give("retry", host="b.test", error="") is None
    assert crawl.give("retry", host="a.test", error="503") is None
    assert crawl.give("retry", host="a.test", error="timeout") == "2 URLs"
    assert crawl.give("retry", host="", error="") is None
    assert crawl.ends == (3, 0, 2)
    crawl.give("unpark", keys=["a.test"])
    fetched: dict[str, Lease] = {}
    while len(fetched) < 3:
        lease = crawl.wait_for_lease()
        if lease.entry.kind == "robots":
            crawl.answer_robots(lease)
            continue
        fetched[lease.entry.url] = lease
        assert lease.entry.attempts == 0
        crawl.fetch(lease)
    assert {one.url for one in failed} < fetched.keys()
    assert crawl.ends == (0, 3, 0)


def test_a_url_that_was_fetched_since_is_not_queued_again(crawl: Steered) -> None:
    crawl.add("a.test/one")
    crawl.allow("a.test")
    entry = crawl.fail(crawl.wait_for_lease())
    assert crawl.give("retry", host="", error="") == "1 URL"
    crawl.fetch(crawl.wait_for_lease())
    crawl.loop.run(crawl.failures.add([FailedUrl(entry, "timeout", NOW)]))
    assert crawl.give("retry", host="", error="") is None
    assert crawl.loop.run(crawl.failures.count(Selection())) == 0
    assert crawl.ends == (0, 1, 0)


def test_a_host_is_unparked_once(crawl: Steered) -> None:
    crawl.add(*(f"a.test/{number}" for number in range(5)))
    crawl.allow("a.test")
    for _ in range(2):
        crawl.fail(crawl.wait_for_lease())
    assert crawl.give("unpark", keys=["a.test", "b.test"]) == "1 host"
    assert crawl.give("unpark", keys=["a.test"]) is None
