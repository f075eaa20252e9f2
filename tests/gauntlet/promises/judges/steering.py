"""Judges of what operators do to a crawl that runs, by command or by the dashboard."""

from __future__ import annotations

import signal
import time
from functools import partial
from typing import TYPE_CHECKING

from tests.fakeweb import witness
from tests.fakeweb.answer import Answer, Cut
from tests.gauntlet.promises.judges.acting import (
    FORCE_SECONDS,
    act,
    counted,
    fresh,
    need_gaps,
    settled,
    words_of,
)
from tests.gauntlet.promises.stages import DELAY
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import SECONDS, until

if TYPE_CHECKING:
    from tests.crawl.crawling import Crawl
    from tests.gauntlet.promises.stages import Live, Short, Stage
    from tests.gauntlet.promises.table import Promise

WATCH_SECONDS = 2.0
"""How long the log is watched for what must not come; a crawl at work makes dozens of requests in it."""

OBEY_SECONDS = 5.0
"""How long it may take until a crawl has taken what an operator gave it."""
TRIES = 3
"""How often a page that fails is requested, unless the crawler is told otherwise."""


def _nothing_comes(stage: Live, since: float, host: str = "") -> str:
    time.sleep(WATCH_SECONDS)
    late = stage.web.hits(host, since)
    return need(not late, f"{counted(len(late), 'request')} in {WATCH_SECONDS:g} s after it, dozens before")


def _says(worker: Crawl, text: str) -> bool:
    return text in worker.stderr


@judge
def pauses(stage: Live, promise: Promise) -> str:
    need(stage.is_fetching(), "the crawl did not fetch before the command")
    evidence = _nothing_comes(stage, settled(stage, promise, act(stage, promise)))
    need(stage.is_running(), "the process is gone")
    return evidence


@judge
def resumes(stage: Live, promise: Promise) -> str:
    need(not stage.web.hits(since=time.time() - 1.0), "the crawl was not paused before the command")
    since = act(stage, promise)
    come = until(lambda: stage.web.hits(since=since))
    return need(come, f"{counted(len(stage.web.hits(since=since)), 'request')} after the command")


@judge
def stays_paused(stage: Live, promise: Promise) -> str:
    """A crawl that is started while it is paused fetches nothing until it is resumed."""
    act(stage, promise)
    for worker in stage.workers:
        worker.signal(signal.SIGTERM)
    need(stage.statuses() == [0] * len(stage.workers), "SIGTERM did not end it with status 0")
    since = time.time()
    for worker in stage.again():
        until(partial(_says, worker, "paused"), 10.0)
    time.sleep(WATCH_SECONDS)
    late = len(stage.web.hits(since=since))
    stage.do("resume", stage.target)
    need(stage.is_fetching(), "nothing was fetched after resume")
    return need(not late, f"{counted(late, 'request')} of the process that was started while it was paused")


@judge
def stops(stage: Live, promise: Promise) -> str:
    """The processes end with 0, and the command that began the crawl goes on without a page twice."""
    need(stage.is_fetching(), "the crawl did not fetch before the command")
    since = act(stage, promise)
    gone = until(lambda: not stage.is_running())
    late = len(stage.web.hits(since=time.time() if "request" in promise.given else since))
    if not gone:
        for worker in stage.workers:
            worker.signal(signal.SIGTERM)
    statuses = stage.statuses()
    stage.again()
    need(gone, f"a process was there {SECONDS:g} s after the command")
    need(stage.is_fetching(), "the command that began the crawl did not go on with it")
    twice = witness.repeated([hit for hit in stage.web.log.hits if ".steady." in hit.host])
    return need(
        (set(statuses), late, twice) == ({0}, 0, {}),
        f"exit status {statuses}, {late} requests later; resumed: {len(twice)} of "
        f"{len(stage.web.pages())} pages were requested twice",
    )


@judge
def adds(stage: Live, promise: Promise) -> str:
    url = stage.site.url(fresh(stage, "added"), "/by-hand")
    since = act(stage, promise, url=url)
    come = until(lambda: stage.web.has(url))
    return need(come, f"requested after {time.time() - since:.1f} s" if come else "it was not requested")


@judge
def fetches_next(stage: Live, promise: Promise) -> str:
    """A host with many pages in its queue is asked for the last of them next, and for a URL that it did not have."""
    host = promise.given["host"]
    evidence = []
    for path in (promise.given["path"], f"/next-{promise.kind}"):
        url = stage.site.url(host, path)
        need(not stage.web.has(url), f"{url} was requested before")
        since = act(stage, promise, url=url)
        come = until(lambda: stage.web.has(url))  # noqa: B023 - called at once
        before = [hit for hit in stage.web.pages(host, since + OBEY_SECONDS) if hit.path != path]
        hits = stage.web.hits(host, path=path)
        late = [hit for hit in before if hits and hit.start < hits[0].start]
        need(come and not late, f"{path}: requested {come}, {counted(len(late), 'request')} came before it")
        evidence.append(f"{path} requested after {hits[0].start - since:.1f} s")
    return ", ".join(evidence)


def failed_page(stage: Stage, host: str) -> str:
    """Put up a page that cuts each connection, and return its URL. The page that links to it is ``/hub``."""
    stage.site.put(host, "/hub", ["/bad"])
    stage.site.answers[host, "/bad"] = lambda request: Answer(None, steps=iter([Cut.RESET]))
    return str(stage.site.url(host, "/bad"))


def _tries(stage: Stage, host: str) -> int:
    return len(stage.web.hits(host, path="/bad"))


@judge
def retries(stage: Live, promise: Promise) -> str:
    """A page that has failed for good is requested again, and its answer counts."""
    host = fresh(stage, f"retried-{promise.kind}")
    url = failed_page(stage, host)
    stage.site.announce(stage.site.url(host, "/hub"))
    need(until(lambda: _tries(stage, host) >= TRIES), f"{url} was not tried {TRIES} times")
    # A request that is lost with a kept connection is sent once more at once.
    time.sleep(WATCH_SECONDS)
    before = _tries(stage, host)
    time.sleep(WATCH_SECONDS)
    need(_tries(stage, host) == before, f"{url} is still tried")
    stage.site.put(host, "/bad", ["/behind"])
    since = act(stage, promise, host=host)
    come = until(lambda: stage.web.has(stage.site.url(host, "/behind")))
    again = _tries(stage, host) - before
    return need(
        come and again == 1,
        f"requested {counted(again, 'time')} again, {time.time() - since:.1f} s later its link: {come}",
    )


@judge
def retries_later(stage: Short, promise: Promise) -> str:
    """The next run of a crawl that has ended requests what had failed, and no other page."""
    host = "www.later.test"
    failed_page(stage, host)
    seeds = [stage.site.url(host, "/hub")]
    stage.crawl(seeds, "later", POLITENESS_MIN_DELAY=0.1)
    need(stage.statuses() == [0] * len(stage.workers), "the crawl did not end")
    need(_tries(stage, host) >= TRIES, f"the page was tried {_tries(stage, host)} times")
    stage.site.put(host, "/bad", [])
    stage.do(*words_of(stage, promise.given["words"]))
    since = time.time()
    stage.workers = stage.start(seeds, "later", POLITENESS_MIN_DELAY=0.1)
    statuses = stage.statuses()
    paths = [hit.path for hit in stage.web.pages(host, since)]
    return need((set(statuses), paths) == ({0}, ["/bad"]), f"exit status {statuses}; requested {paths}")


@judge
def excludes(stage: Live, promise: Promise) -> str:
    """Nothing of a host is requested after the command; taken back, it is requested again."""
    host = promise.given["host"]
    need(until(lambda: stage.web.hits(host, time.time() - 1.0)), f"{host} was not crawled before")
    since = act(stage, promise, host=host)
    return _nothing_comes(stage, settled(stage, promise, since, host), host)


@judge
def readmits(stage: Live, promise: Promise) -> str:
    """A host is requested when its exclusion has been taken back: new links to it, or what it had left."""
    host = promise.given["host"]
    need(not stage.web.hits(host, time.time() - 1.0), f"{host} was not excluded before")
    since = act(stage, promise, host=host)
    url = stage.site.url(host, f"/again-{promise.kind}")
    stage.site.announce(url)
    come = until(lambda: stage.web.pages(host, since))
    return need(come, f"{stage.web.pages(host, since)[0].path} was requested" if come else "no request came")


@judge
def delays(stage: Live, promise: Promise) -> str:
    """The pauses of a host are longer after the command, and as before when it is taken back."""
    host, seconds = promise.given["host"], promise.given["seconds"]
    others = [gap for gap in stage.web.gaps([host]) if gap >= DELAY]
    need(others and min(others) < seconds, f"{host} had no shorter pauses before")
    since = act(stage, promise, host=host, seconds=str(seconds))
    since += FORCE_SECONDS
    until(lambda: len(stage.web.gaps([host], since)) >= 3)
    evidence = need_gaps(stage.web.gaps([host], since)[:5], seconds, f"of {host} after")
    since = act(stage, promise, "back_", host=host)
    shorter = until(lambda: min(stage.web.gaps([host], since), default=seconds) < seconds)
    return need(shorter, f"{evidence}; taken back: {min(stage.web.gaps([host], since), default=0):.3f} s")
