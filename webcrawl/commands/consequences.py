"""What an exclusion hits of a crawl, and who goes by it: looked up and said, for ``scrapy exclude``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from webcrawl.archive import fetchlog
from webcrawl.commands import answering
from webcrawl.frontier.backends.reach import Asked, Reach
from webcrawl.reports import units
from webcrawl.urls.listfile import printable

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.frontier.backends.standing import Worker
    from webcrawl.scope.exclusion import ExclusionList
    from webcrawl.scope.exclusion_file import Entry

LOOK_SECONDS = 0.25
"""Between two looks at who goes by the new list."""
LOOKS = 60
"""How often is looked: a worker hears of it within two seconds and says so in a third one."""


class Crawl(Protocol):
    """A crawl as this command sees it."""

    @property
    def name(self) -> str: ...

    def reach(self, asked: Asked) -> Reach: ...

    def look(self) -> list[Worker]: ...

    def at_work(self) -> list[Worker]: ...


def of(entry: Entry, crawl: Crawl | None, folders: Iterable[Path]) -> Iterator[str]:
    """What excluding ``entry`` hits: of a crawl's queues, and in the fetch logs of ``folders``."""
    if crawl is None:
        yield "Which crawl it hits is not known: give -s REDIS_URL=... or -s JOBDIR=DIR"
        return
    reach = crawl.reach(Asked(entry.may_be_on, entry.covers))
    yield f"{crawl.name}: {entry.text} hits"
    yield f"  queued  {units.things(reach.queued, 'URL')} on {units.things(reach.hosts, 'host')}"
    yield (
        f"  leased  {units.count(reach.leased)} of them, on {units.things(reach.leased_hosts, 'host')} that a worker "
        f"holds; at most {units.things(reach.leased_hosts, 'request')} in flight"
    )
    folders = list(folders)
    if not folders:
        yield "  stored  not counted: give --jobdir DIR of each worker"
    for folder in folders:
        yield f"  stored  {_stored(entry, folder)}"


def _stored(entry: Entry, folder: Path) -> str:
    """How much of what was fetched into a folder is hit: lines with a status, so also answers to robots.txt."""
    damaged: list[str] = []
    lines, urls = 0, set[int]()
    for line in fetchlog.read(folder, damaged.append):
        url = line.get("url")
        if line.get("status") is not None and isinstance(url, str) and entry.covers(url):
            lines += 1
            urls.add(hash(url))
    said = f"{units.things(len(urls), 'URL')} with {units.things(lines, 'response')} in the log of {folder}"
    return said + (f"; {units.things(len(damaged), 'line')} of it cannot be read" if damaged else "")


def bring_into_force(crawl: Crawl, exclusions: ExclusionList, pause: Callable[[float], object]) -> int:
    """Have all who work on a crawl look at once, and wait until they go by the list. Returns the exit status."""
    workers = crawl.look()
    if not workers:
        tell(f"{crawl.name}: nobody is at work, so nobody has to be told")
        return 0
    for _ in range(LOOKS):
        if all(worker.exclusions == exclusions.version for worker in workers):
            break
        pause(LOOK_SECONDS)
        workers = crawl.at_work()
    late = [worker for worker in workers if worker.exclusions != exclusions.version]
    obedient = sorted(worker.name for worker in workers if worker not in late)
    if obedient:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        tell(f"In force since {now}, version {exclusions.version}: {', '.join(obedient)}")
    for worker in late:
        tell(_why_late(worker))
    return 1 if late else 0


def _why_late(worker: Worker) -> str:
    if not worker.exclusions:
        return (
            f"Not in force: {worker.name} has told of no exclusion list. If it was started without EXCLUSION_FILE, "
            "stop it and start it again with one"
        )
    return (
        f"Not in force: {worker.name} goes by another list, version {worker.exclusions}. If its file is another one "
        "than this, change that too; if it is this one, its log says what is wrong"
    )


def tell(text: str) -> None:
    """Print a line, with everything replaced that could steer a terminal."""
    answering.tell(printable(text, None))
