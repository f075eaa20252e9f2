"""Judges of live settings of delays, failing hosts, concurrency, bandwidth and the log: by the times in the log."""

from __future__ import annotations

import time
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from tests.fakeweb.answer import Answer, Cut, http_answer
from tests.gauntlet.promises.judges.acting import act, changed, counted, fresh, need_gaps
from tests.gauntlet.promises.stages import DELAY
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import ANSWER_SECONDS, page, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gauntlet.promises.stages import Live
    from tests.gauntlet.promises.table import Promise


def _gaps(stage: Live, since: float) -> list[float]:
    until(lambda: len(stage.web.gaps(since=since)) >= len(stage.hosts))
    return stage.web.gaps(since=since)


@judge
def lengthens_all_delays(stage: Live, promise: Promise) -> str:
    """The pauses of all hosts are at least so long after the command, and shorter when it is taken back."""
    least, values = promise.given["least"], promise.given["values"]
    before = min(_gaps(stage, time.time()))
    need(before < least, f"the shortest pause before was {before:.3f} s")
    with changed(stage, **values) as since:
        evidence = need_gaps(_gaps(stage, since), least, "after")
        if "below" in promise.given:
            shortest = min(stage.web.gaps(since=since))
            need(
                shortest < promise.given["below"],
                f"{evidence}; that is not below {promise.given['below']:g} s",
            )
    after = min(_gaps(stage, time.time()))
    return need(after < least, f"{evidence}; before {before:.3f} s, taken back {after:.3f} s")


@judge
def bounds_all_delays(stage: Live, promise: Promise) -> str:
    """With one setting the pauses are long, with this one besides they are shorter."""
    given = promise.given
    with changed(stage, **given["long"]) as since:
        long = min(_gaps(stage, since))
        stage.do("set", *(f"{name}={value}" for name, value in given["values"].items()), stage.target)
        since = time.time() + 1.0
        short = min(_gaps(stage, since))
        stage.do("set", stage.target, *(word for name in given["values"] for word in ("--reset", name)))
    return need(
        short < given["below"] <= long and short >= given["least"] - 0.002,
        f"shortest pause {long:.3f} s without it, {short:.3f} s with it, answers take {ANSWER_SECONDS} s",
    )


@judge
def changed_by_dashboard(stage: Live, promise: Promise) -> str:
    """PUT of a setting lengthens the pauses of all hosts; DELETE takes it back."""
    least = promise.given["least"]
    act(stage, promise)
    shown = 0.0

    def is_long() -> bool:
        nonlocal shown
        shown = min(stage.web.gaps(since=time.time() - 1.5), default=0.0)
        return bool(shown >= least)

    long = until(is_long)
    act(stage, promise, "back_")
    short = until(lambda: min(stage.web.gaps(since=time.time() - 1.5), default=least) < least)
    return need(
        long and short,
        f"shortest pause {shown:.3f} s, owed {least:g} s; taken back {'yes' if short else 'no'}",
    )


@judge
def delays_an_unknown_host(stage: Live, promise: Promise) -> str:
    """The first page of a new host comes so long after its robots.txt."""
    seconds = promise.given["seconds"]

    def first_gap(label: str) -> float:
        host = fresh(stage, label)
        stage.site.announce(stage.site.url(host, "/first"))
        need(until(lambda: stage.web.pages(host)), f"{host} was not crawled")
        robots, first = stage.web.hits(host)[:2]
        return first.start_mono - robots.end_mono

    before = first_gap("unknown-before")
    # A factor of 0 is no model of delays, and no download time is asked for.
    with changed(stage, POLITENESS_UNKNOWN_DELAY=seconds, POLITENESS_FACTOR=0.01):
        after = first_gap("unknown-after")
    return need(
        before < seconds <= after + 0.002,
        f"first page {before:.2f} s after robots.txt before, {after:.2f} s after",
    )


@judge
def limits_crawl_delay(stage: Live, promise: Promise) -> str:
    """A host whose Crawl-delay is longer than allowed gets a request for robots.txt and no other."""

    def host_with(seconds: float) -> str:
        host = fresh(stage, "crawl-delay")
        stage.site.robots[host] = f"User-agent: *\nCrawl-delay: {seconds}\n"
        stage.site.put(host, "/hub", [f"/{number}" for number in range(9)])
        stage.site.announce(stage.site.url(host, "/hub"))
        return host

    before = host_with(1.2)
    need(until(lambda: stage.web.pages(before)), "a Crawl-delay of 1.2 s was not crawled before")
    with changed(stage, POLITENESS_CRAWL_DELAY_MAX=1):
        over, under = host_with(1.2), host_with(0.9)
        need(until(lambda: len(stage.web.pages(under)) >= 4), "a Crawl-delay of 0.9 s was not crawled")
    gaps = stage.web.gaps([under])
    return need(
        stage.web.hits(over) and not stage.web.pages(over) and min(gaps) >= 0.9,
        f"Crawl-delay 1.2 s: {counted(len(stage.web.pages(over)), 'page')}; 0.9 s: "
        f"{counted(len(stage.web.pages(under)), 'page')}, shortest pause {min(gaps):.2f} s",
    )


@judge
def keeps_rate_limits(stage: Live, promise: Promise) -> str:
    """Hosts that allow ten requests in 15 s, or none for 3 s after each fourth page, by the pauses that they get."""

    def host_with(fields: Callable[[str], str]) -> str:
        host = fresh(stage, "rate-limit")
        hub = page([f"/{number}" for number in range(7)], host)
        stage.site.answers[host, "*"] = lambda request: http_answer(
            200, hub, [("RateLimit", fields(request.path))]
        )
        stage.site.announce(stage.site.url(host, "/hub"))
        return host

    def shortest(host: str) -> float:
        need(until(lambda: len(stage.web.pages(host)) >= 4), f"{host} was not crawled")
        # robots.txt has no such field: the pause after it is the usual one.
        return min(stage.web.gaps([host])[1:])

    def steady(path: str) -> str:
        return '"steady";r=10;t=15'

    emptied = host_with(lambda path: '"window";r=0;t=3' if path == "/1" else '"window";r=9')
    before = shortest(host_with(steady))
    with changed(stage, POLITENESS_RATE_LIMIT_MAX=0.9):
        bounded = shortest(host_with(steady))
    with changed(stage, POLITENESS_RATE_LIMIT_MAX=0):
        ignored = shortest(host_with(steady))
    need(until(lambda: len(stage.web.pages(emptied)) == 8), f"{emptied} was not crawled")
    hits = stage.web.hits(emptied)
    waits = {a.path: b.start_mono - a.end_mono for a, b in pairwise(hits)}
    rest = [wait for path, wait in waits.items() if path != "/1"]
    return need(
        before >= 1.5 > bounded >= 0.9 > ignored and waits["/1"] >= 3.0 > min(rest),
        f"shortest pause {before:.2f} s where 10 requests in 15 s are allowed, {bounded:.2f} s with 0.9, "
        f"{ignored:.2f} s with 0; {waits['/1']:.2f} s after none remained for 3 s, else {min(rest):.2f} s",
    )


ZONE = "Europe/Berlin"


def hours_from(hours: int) -> str:
    """Return four hours of Berlin that begin so many hours from now, as they are written."""
    hour = (datetime.now(ZoneInfo(ZONE)).hour + hours) % 24
    return f"{hour}-{(hour + 4) % 24}@{ZONE}"


@judge
def keeps_its_hours(stage: Live, promise: Promise) -> str:
    """In hours that are over nothing comes, in those that are now all goes on as without."""
    host = fresh(stage, "hours")
    with changed(stage, POLITENESS_HOURS=hours_from(10)) as since:
        # A request may be open at that moment, but none begins.
        time.sleep(SILENT_SECONDS)
        stage.do("add", stage.site.url(host), stage.target)
        time.sleep(SILENT_SECONDS)
        closed = len(stage.web.hits(since=since))
        limit = stage.ask("status", stage.target)["limit"]
        shown = stage.dashboard().get("/api/v1/crawl")["limit"]
        need(stage.is_running(), "the crawl ended")
        stage.do("set", f"POLITENESS_HOURS={hours_from(-1)}", stage.target)
        opened = until(lambda: stage.web.hits(host, since))
        goes_on = stage.is_fetching()
    return need(
        closed == 0 and opened and goes_on and "hours" in (limit or "") and limit == shown["sentence"],
        f"{counted(closed, 'request')} in hours that are over, {len(stage.web.hits(since=since))} in others; "
        f"the status said: {limit}; the dashboard: {shown}",
    )


@judge
def keeps_hours_of_sites(stage: Live, promise: Promise) -> str:
    """A site rests in hours that are over, its hosts too, and comes again when the file is taken back."""
    file = stage.folder / "hours.txt"
    # Of the last hosts other promises have excluded all URLs.
    resting, slowed, other = stage.hosts[:3]
    new = f"new.{resting}"
    file.write_text(f"# by its owner's wish\n{hours_from(10)}  {resting}\n")
    with changed(stage, POLITENESS_HOURS_FILE=file) as since:
        stage.do("add", stage.site.url(new), stage.target)
        need(until(lambda: len(stage.web.hits(other, since)) >= 5), "the other sites rest too")
        # It was read when it was set.
        file.unlink()
        stage.do("delay", slowed, 2 * DELAY, stage.target)
        gone = time.time()
        need(until(lambda: len(stage.web.hits(other, gone)) >= 5), "without its file the crawl rests")
        stage.do("delay", slowed, "none", stage.target)
        rested = len(stage.web.hits(resting, since)) + len(stage.web.hits(new, since))
    back = time.time()
    again = until(lambda: stage.web.hits(resting, back) and stage.web.pages(new))
    return need(
        rested == 0 and again,
        f"{counted(rested, 'request')} to the site and a host below it in {back - since:.0f} s, while others got "
        f"{len(stage.web.hits(since=since))}; {'then' if again else 'and then'} {'some' if again else 'none'} again",
    )


FAILURES_TO_PARK, PARK_SECONDS = 5, 60.0
"""What the crawler does with a host that fails, unless it is told otherwise."""
SILENT_SECONDS = 3.0

# -- hosts that fail ---------------------------------------------------------------------------------------------


def failing_host(stage: Live, label: str) -> str:
    """Announce a host that answers once and then cuts each connection, and return it."""
    host = fresh(stage, label)
    hub = page([f"/{number}" for number in range(40)], host)
    stage.site.answers[host, "*"] = lambda request: (
        Answer(200, http_answer(200, hub).wire, close=True)
        if request.path == "/hub"
        else Answer(None, steps=iter([Cut.RESET]))
    )
    stage.site.announce(stage.site.url(host, "/hub"))
    need(until(lambda: stage.web.pages(host)), f"{host} was not crawled")
    return host


@judge
def unparks(stage: Live, promise: Promise) -> str:
    """A host that has failed five times in a row rests for a minute. It is asked again well before, and goes on."""
    host = failing_host(stage, f"unparked-{promise.kind}")
    need(until(lambda: len(_failures(stage, host)) >= FAILURES_TO_PARK), f"{host} did not fail so often")
    parked_at = time.time()
    time.sleep(SILENT_SECONDS)
    need(not stage.web.hits(host, parked_at + 0.5), f"{host} did not rest")
    del stage.site.answers[host, "*"]
    since = act(stage, promise, host=host)
    come = until(lambda: len(stage.web.pages(host, parked_at + 0.5)) >= 3, PARK_SECONDS / 2)
    found = stage.web.pages(host, parked_at + 0.5)
    return need(
        come and found[0].start < parked_at + PARK_SECONDS - 10.0,
        f"asked {found[0].start - since:.1f} s after it, and went on" if found else "no request came",
    )


def _failures(stage: Live, host: str) -> list[float]:
    """Return when its requests failed."""
    return [hit.start_mono for hit in stage.web.pages(host) if hit.status is None]


def _health(stage: Live) -> tuple[list[float], list[float]]:
    """Return the gaps between failures of a host by the settings of the start, and by those that are judged."""
    if "health" not in stage.kept:
        usual = failing_host(stage, "failing-before")
        values = {
            "HEALTH_FAILURES_TO_PARK": 2,
            "HEALTH_PARK_SECONDS": 2,
            "HEALTH_PARK_MAX_SECONDS": 3,
            "HEALTH_PARKS_TO_GIVE_UP": 2,
        }
        until(lambda: len(_failures(stage, usual)) >= 5)
        with changed(stage, **values):
            host = failing_host(stage, "failing-after")
            until(lambda: len(_failures(stage, host)) >= 4)
            time.sleep(5.0)
        found = [_failures(stage, one) for one in (usual, host)]
        stage.kept["health"] = tuple([b - a for a, b in pairwise(one)] for one in found)
    before, after = stage.kept["health"]
    return before, after


def _text(gaps: list[float]) -> str:
    return "pauses between failures " + ", ".join(f"{gap:.1f} s" for gap in gaps)


@judge
def parks_after_failures(stage: Live, promise: Promise) -> str:
    before, after = _health(stage)
    kept = len(before) == 4 and max(before) < 2 and len(after) >= 2 and after[0] < 2 <= after[1]
    return need(kept, f"{_text(after)}; with 5 of them as at the start: {_text(before)}, then silence")


@judge
def parks_for_seconds(stage: Live, promise: Promise) -> str:
    _, after = _health(stage)
    return need(len(after) >= 2 and 2.0 <= after[1] < 3.0, _text(after))


@judge
def parks_at_most(stage: Live, promise: Promise) -> str:
    _, after = _health(stage)
    return need(len(after) >= 3 and 3.0 <= after[2] < 4.0, f"{_text(after)}; twice 2 s would be 4 s")


@judge
def gives_up(stage: Live, promise: Promise) -> str:
    _, after = _health(stage)
    return need(len(after) == 3, f"{_text(after)}, then no request in 5 s")


# -- all hosts together --------------------------------------------------------------------------------------------


@judge
def limits_open_requests(stage: Live, promise: Promise) -> str:
    workers = len(stage.workers)
    now = time.time()
    until(lambda: stage.web.most_open(now, time.time()) > workers)
    before = stage.web.most_open(now, time.time())
    with changed(stage, CONCURRENT_REQUESTS=1) as since:
        time.sleep(3.0)
        after = stage.web.most_open(since + 0.5, time.time())
    return need(
        0 < after <= workers < before,
        f"most requests open at once: {before} before, {after} after, with {counted(workers, 'process')}",
    )


@judge
def limits_bytes_per_second(stage: Live, promise: Promise) -> str:
    """The server knows when it has sent, and not when it was read: what the buffers of the system hold when the limit
    begins is sent and not yet received. So a rate that lies above the limit is measured again."""
    allowed, seconds, times = 50_000, 6.0, 5

    def rate() -> float:
        since = time.time()
        time.sleep(seconds)
        return sum(hit.sent for hit in stage.web.hits(since=since) if hit.end < since + seconds) / seconds

    stage.site.padding = 20_000
    try:
        before = rate()
        with changed(stage, BANDWIDTH_MAX=allowed):
            time.sleep(2.0)
            after = [rate()]
            while after[-1] >= 1.3 * allowed and len(after) < times:
                after.append(rate())
    finally:
        stage.site.padding = 0
    told = ", then ".join(f"{each:,.0f}" for each in after)
    return need(
        0 < after[-1] < 1.3 * allowed < before,
        f"{before:,.0f} bytes/s sent before, {told} after, allowed are {allowed:,}",
    )


@judge
def changes_the_log(stage: Live, promise: Promise) -> str:
    def lines() -> int:
        return sum(worker.stderr.count(" DEBUG: ") for worker in stage.workers)

    before = lines()
    with changed(stage, LOG_LEVEL="DEBUG"):
        grown = until(lambda: lines() > before + 10)
    time.sleep(1.0)
    reset = lines()
    time.sleep(2 * DELAY + 1.0)
    later = lines() - reset
    return need(
        before == 0 and grown and later == 0,
        f"lines of DEBUG: {before} before, {reset - before} after, {later} when it was taken back",
    )
