"""The clocks that crawls of one machine share, at times that a test sets; ``tests/process`` has real processes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from itertools import pairwise

import pytest

from webcrawl.errors import StorageAway
from webcrawl.storage import machine_clocks
from webcrawl.storage.contract import LeaseValidity, RateLimitDenial, RateLimitRequest, RateLimitReturn
from webcrawl.storage.machine_clocks import NAME, MachineClocks

SITE = "site example.org"


class Machine:
    """Crawls of a machine, whose processes are alive until a test says otherwise."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.now = 1000.0
        self.gone = set()
        self.crawls = []
        monkeypatch.setattr(machine_clocks, "uptime", lambda: self.now)
        monkeypatch.setattr(MachineClocks, "_is_gone", lambda store, name: name in self.gone)

    def crawl(self):
        self.crawls.append(MachineClocks(self.folder, lambda: self.now))
        return self.crawls[-1]

    def ask(self, crawl, ticket=1, pause=2.0, name=SITE):
        """Return the seconds to wait; 0 if it has the clock."""
        [answer] = asyncio.run(crawl.exchange([], [RateLimitRequest(ticket, {name: pause})]))
        assert isinstance(answer, LeaseValidity | RateLimitDenial)
        return answer.wait_seconds if isinstance(answer, RateLimitDenial) else 0

    def end(self, crawl, ticket=1, pause=2.0, *, sent=True):
        done = RateLimitReturn(ticket, {SITE: pause}, self.now if sent else None)
        assert asyncio.run(crawl.exchange([done], [])) == []


@pytest.fixture
def machine(tmp_path, monkeypatch):
    found = Machine(tmp_path / "clocks", monkeypatch)
    yield found
    for crawl in found.crawls:
        crawl.close()


def test_one_crawl_has_the_clock_and_the_next_waits_for_the_longer_pause(machine):
    first, second = machine.crawl(), machine.crawl()
    assert machine.ask(first, pause=2) == 0
    assert machine.ask(first, pause=2) == 0  # a request that is repeated
    assert 0 < machine.ask(second, pause=0.5) <= 0.5
    machine.now += 100
    assert machine.ask(second, pause=0.5) > 0
    machine.end(first, pause=2)
    assert machine.ask(second, pause=0.5) == pytest.approx(2)
    machine.now += 2
    assert machine.ask(second, pause=0.5) == 0
    machine.end(second, pause=0.5)
    assert machine.ask(first, pause=2) == pytest.approx(2)


def test_a_crawl_in_a_hurry_does_not_starve_a_slow_one(machine):
    slow, fast = machine.crawl(), machine.crawl()
    requests = []
    asks_at = {slow: machine.now, fast: machine.now}
    pauses = {slow: 2.0, fast: 0.5}
    while machine.now < 1100:
        crawl = min(asks_at, key=lambda one: asks_at[one])
        machine.now = max(machine.now, asks_at[crawl])
        wait = machine.ask(crawl, pause=pauses[crawl])
        if wait == 0:
            requests.append((machine.now, crawl))
            machine.end(crawl, pause=pauses[crawl])
            wait = pauses[crawl]
        asks_at[crawl] = machine.now + wait
    gaps = [b[0] - a[0] for a, b in pairwise(requests)]
    assert min(gaps) >= 2 - 1e-6
    shares = [sum(one is crawl for _, one in requests) for crawl in (slow, fast)]
    assert min(shares) >= 0.4 * len(requests)


def test_a_claim_that_sent_nothing_owes_what_was_owed_before(machine):
    first, second = machine.crawl(), machine.crawl()
    assert machine.ask(first) == 0
    machine.end(first, sent=False)
    assert machine.ask(second) == 0


def test_a_clock_of_a_killed_crawl_rests_from_when_that_is_seen(machine):
    first, second = machine.crawl(), machine.crawl()
    assert machine.ask(first, pause=3) == 0
    machine.now += 50
    machine.gone.add(first._me)
    assert machine.ask(second, pause=1) == pytest.approx(3)
    machine.now += 3
    assert machine.ask(second, pause=1) == 0


def test_clocks_of_an_earlier_boot_rest_once(machine):
    first = machine.crawl()
    assert machine.ask(first) == 0
    machine.end(first)
    machine.now = 5.0
    assert machine.ask(machine.crawl()) == pytest.approx(2)
    machine.now += 1
    assert machine.ask(machine.crawl()) == pytest.approx(2)


def test_in_doubt_nothing_is_granted(machine):
    crawl = machine.crawl()
    (machine.folder / NAME).write_bytes(b"no database" * 100)
    with pytest.raises(StorageAway, match=NAME):
        machine.ask(crawl)


def test_only_the_owner_can_read_the_files(machine):
    machine.ask(machine.crawl())
    assert {path.stat().st_mode & 0o777 for path in machine.folder.iterdir()} == {0o600}
    assert machine.folder.stat().st_mode & 0o777 == 0o700


HOLDS = (
    "import asyncio, sys, pathlib; from webcrawl.storage.machine_clocks import MachineClocks as M; "
    "from webcrawl.storage.contract import RateLimitRequest as R; m = M(pathlib.Path(sys.argv[1]), lambda: 0.0); "
    "asyncio.run(m.exchange([], [R(1, {'site example.org': 0.2})])); print('held', flush=True); sys.stdin.read()"
)


@pytest.mark.slow
def test_the_system_says_which_process_is_gone(tmp_path):
    folder = tmp_path / "clocks"
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)], stdin=pipe, stdout=pipe, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        store = MachineClocks(folder, lambda: 0.0)
        [holder] = sqlite3.connect(folder / NAME).execute("SELECT holder FROM clocks").fetchone()
        assert holder.startswith(f"{other.pid}-")
        assert not store._is_gone(holder)
        other.kill()
        other.wait()
        assert store._is_gone(holder)
        assert store._is_gone(f"{os.getpid()}-none")
        store.close()
