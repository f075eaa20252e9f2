"""One crawl, several workers: killed, frozen, and their Redis killed. The log of the web is the witness."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness
from tests.process.workers import WorkerProcesses

LEASE = 3.0
DELAY = 0.3
CONCURRENT = 32
SETTINGS = {
    "LEASE_SECONDS": LEASE,
    "POLITENESS_MIN_DELAY": DELAY,
    "CONCURRENT_REQUESTS": CONCURRENT,
    "HEALTH_PARK_SECONDS": 1,
}


def assert_polite(web):
    hits = web.hits()
    assert witness.violations(hits, lambda hit: DELAY, tolerance=0.005) == []
    assert witness.most_open(hits) == 1
    assert witness.pages_before_robots(hits) == []


def assert_complete(web, processes):
    expected = set(expectation.depths(web))
    assert set(expectation.asked(web)) == expected
    assert set(processes.fetched()) == expected
    assert processes.total("done") == len(expected)
    assert processes.total("queued") == processes.total("held_urls") == 0
    return expected


LOST = re.compile(r"hosts have ended; (\d+) URLs in flight")


class Chaos:
    """Accidents, and which pages each of them may cost one more fetch."""

    def __init__(self, draw, web, processes, redis):
        self.draw, self.web, self.processes, self.redis = draw, web, processes, redis
        self.excused = Counter()
        """How often a page had been asked for when it was lost in flight for the last time."""
        self.told = []
        self.thaws = []

    def until_asked(self, pages):
        """Let the crawl go on; who was frozen long enough wakes up meanwhile."""
        deadline = time.monotonic() + 120
        while len(self.web.hits()) < pages:
            assert self.processes.running(), "all workers ended too early"
            assert time.monotonic() < deadline, "the crawl stands still"
            self._thaw()
            time.sleep(0.02)

    def _thaw(self):
        for at, name in list(self.thaws):
            if at < time.monotonic():
                self.processes.thaw(name)
                self._tell(f"thaw {name}")
                self.thaws.remove((at, name))

    def _tell(self, what):
        self.told.append(f"{time.time():.2f} {what}")

    def strike(self, kind):
        awake = sorted(set(self.processes.running()) - self.processes.frozen)
        name = self.draw.choice(awake)
        if len(awake) == 1:
            kind = "kill"
        self._tell(f"{kind} {name}")
        if kind == "kill":
            self.processes.kill(name)
            self._excuse(name)
            self.processes.start(name)
        else:
            self.processes.freeze(name)
            self._excuse(name)
            # Half of them notice nothing, the others have lost their hosts meanwhile.
            self.thaws.append((time.monotonic() + self.draw.uniform(0.2, 2 * LEASE), name))

    def strike_redis(self, size_bytes):
        self._tell(f"redis loses {size_bytes} bytes")
        self.processes.until_joined()
        queued = set(self.processes.queued())
        self.redis.kill()
        asked = expectation.asked(self.web)
        # Leases may end before it is back, and with them what was in flight.
        self.excused |= self._among(asked, queued)
        time.sleep(self.draw.uniform(0.1, 2.0))
        if size_bytes:
            self.redis.forget(size_bytes)
            self.excused |= self._among(asked, asked[self.asked_before :])
        self.redis.start()

    def watch(self):
        """The next second is the one that Redis may forget."""
        self.asked_before = len(expectation.asked(self.web))
        time.sleep(1)

    def _excuse(self, name):
        """Pages it has asked for and that are not settled yet."""
        in_flight = self._among(expectation.asked(self.web), self.processes.queued(name))
        lost = [url for url, times in in_flight.items() if times > self.excused[url]]
        # One that was killed a moment ago under the same name may still hold what it had.
        assert len(lost) <= CONCURRENT * max(self.processes.holders(name), 1)
        self.excused |= in_flight

    def _among(self, asked, urls):
        """How often each of ``urls`` is among those that were asked for."""
        times, wanted = Counter(asked), set(urls)
        return Counter({url: times[url] for url in wanted if times[url]})


def chaos(draw, serve, start, redis, *, pages, hosts, strikes):
    web = serve(hosts=hosts, pages=pages, zipf=0.4, seed=draw.randrange(1000))
    processes = WorkerProcesses(start, redis, web.seeds, **SETTINGS)
    for name in ("w1", "w2", "w3", "w4"):
        processes.start(name)
    happening = Chaos(draw, web, processes, redis)
    kinds = [draw.choice(("kill", "freeze")) for _ in range(strikes)]
    for at, kind in enumerate(kinds, start=1):
        happening.until_asked(pages * at // (strikes + 2))
        happening.strike(kind)
        if at == strikes // 3:
            happening.strike_redis(0)
        if at == 2 * strikes // 3:
            happening.watch()
            happening.strike_redis(draw.randrange(1, 20_000))
    processes.wait(120)
    print(*happening.told, sep="\n")
    expected = assert_complete(web, processes)
    assert_polite(web)
    violations, totals = processes.audit()
    print(totals)
    assert violations == []
    assert totals.workers == set(processes.workers)
    asked = Counter(expectation.asked(web))
    # A machine that is too busy lets leases end too: whoever lost them says so.
    told = sum(int(number) for worker in processes.logs() for number in LOST.findall(worker))
    unexcused = {url for url, times in asked.items() if times > happening.excused[url] + 1}
    for hit in web.hits():
        if expectation.address(web, hit) in unexcused:
            print(f"{hit.end:.2f} {hit.host}{hit.path} {happening.excused[expectation.address(web, hit)]}")
    assert len(unexcused) <= told
    return expected


def test_a_crawl_in_chaos_is_complete_and_polite(draw, serve, start, serve_redis):
    chaos(draw, serve, start, serve_redis(), pages=600, hosts=60, strikes=6)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(3))
def test_a_long_crawl_in_chaos_is_complete_and_polite(draw, serve, start, serve_redis, number):
    chaos(draw, serve, start, serve_redis(), pages=5000, hosts=300, strikes=20)
