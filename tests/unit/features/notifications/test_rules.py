"""What is told of a running crawl: each rule on figures and times that the test decides."""

from __future__ import annotations

from dataclasses import replace

from tests.rows import each_row
from webcrawl.features.notifications.rules import Announcer, Measurement, Thresholds, Watch

LIMITS = Thresholds(stall_seconds=600, error_rate=0.5, error_window_seconds=300, disk_free_bytes=1000)
WELL = Measurement(fetched=0, failed=0, ended=0, queued=9, ready_hosts=1, in_flight=0, disk_free=10_000)
KINDS = frozenset(("stall", "errors", "disk", "refusal"))


class Watched:
    """A crawl that is looked at every five seconds."""

    def __init__(self, interval=0.0, limits=LIMITS, kinds=KINDS):
        self.announcer = Announcer(interval)
        self.watch = Watch(limits, kinds, self.announcer)
        self.now = 1_000_000.0
        self.told = []
        self.fetched = self.failed = 0

    def goes_on(self, seconds, reading, fetches=0, fails=0):
        """``fetches``, ``fails``: requests at each look."""
        for _ in range(int(seconds / 5)):
            self.now += 5
            self.fetched += fetches
            self.failed += fails
            ended = self.fetched + self.failed
            found = replace(reading, fetched=self.fetched, failed=self.failed, ended=ended)
            self.told += [alert.kind for alert in self.watch.look(found, self.now)]


def test_nothing_is_told_of_a_crawl_that_is_well():
    crawl = Watched()
    crawl.goes_on(7200, WELL, fetches=3)
    assert crawl.told == []


def test_that_hosts_refuse_is_told_once_with_the_last_of_them():
    crawl = Watched()
    crawl.goes_on(60, WELL, fetches=3)
    refused = replace(WELL, refusing_hosts=2, last_refusing=("a.test", "challenge"))
    crawl.goes_on(3600, refused, fetches=3)
    assert crawl.told == ["refusal"]
    [alert] = Watched().watch.look(refused, 5.0)
    assert alert.sentence.startswith("is refused by 2 hosts, the last is a.test (challenge)")
    assert alert.details == {"hosts": 2, "last": "a.test", "kind": "challenge"}


def test_a_stall_is_told_once_and_again_after_it_was_over():
    crawl = Watched()
    crawl.goes_on(595, WELL)
    assert crawl.told == []
    crawl.goes_on(3600, WELL)
    assert crawl.told == ["stall"]

    crawl.goes_on(60, WELL, fetches=1)
    crawl.goes_on(700, WELL)
    assert crawl.told == ["stall", "stall"]


@each_row(
    "waits",
    [
        replace(WELL, ready_hosts=0),
        replace(WELL, queued=0),
        replace(WELL, is_paused=True),
        replace(WELL, is_paused=True, blocked_by="disk full"),
    ],
    ids=["all hosts wait or are parked", "nothing is queued", "paused", "paused with a full disk"],
)
def test_a_crawl_that_has_to_wait_has_not_stalled(waits):
    crawl = Watched()
    crawl.goes_on(7200, waits)
    assert crawl.told == []


def test_the_time_of_a_stall_begins_when_there_is_something_to_do():
    crawl = Watched()
    crawl.goes_on(7200, replace(WELL, is_paused=True))
    crawl.goes_on(500, WELL)
    crawl.goes_on(10, replace(WELL, ready_hosts=0))
    crawl.goes_on(500, WELL)
    assert crawl.told == []


def test_a_crawl_that_knows_why_nothing_moves_says_so():
    crawl = Watched()
    crawl.goes_on(595, replace(WELL, ready_hosts=0, blocked_by="disk full"))
    [alert] = crawl.watch.look(replace(WELL, ready_hosts=0, blocked_by="disk full"), crawl.now + 10)
    assert alert.sentence.startswith("has stalled: nothing was fetched for 10 min")
    assert "(disk full)" in alert.sentence
    assert alert.details["blocked_by"] == "disk full"


def test_a_machine_that_slept_has_not_stalled():
    crawl = Watched()
    crawl.goes_on(60, WELL)
    crawl.now += 8 * 3600
    crawl.goes_on(500, WELL)
    assert crawl.told == []
    crawl.goes_on(200, WELL)
    assert crawl.told == ["stall"]


def test_errors_are_told_from_the_rate_of_the_window_on():
    crawl = Watched()
    crawl.goes_on(7200, WELL, fetches=10)
    crawl.goes_on(120, WELL, fails=10)
    assert crawl.told == []
    crawl.goes_on(60, WELL, fails=10)
    assert crawl.told == ["errors"]


def test_few_requests_say_nothing_about_errors():
    crawl = Watched(limits=replace(LIMITS, stall_seconds=0))
    crawl.goes_on(240, WELL, fails=1)
    assert crawl.told == []
    crawl.goes_on(60, WELL, fails=1)
    assert crawl.told == ["errors"]


def test_a_rate_at_the_limit_is_told_once():
    crawl = Watched()
    for _ in range(100):
        crawl.goes_on(25, WELL, fetches=5, fails=6)
        crawl.goes_on(25, WELL, fetches=6, fails=5)
    assert crawl.told == ["errors"]


def test_a_disk_is_told_once_until_there_was_clearly_room():
    crawl = Watched()
    for free in (1001, 999, 1100, 900, 1199, 0):
        crawl.goes_on(5, replace(WELL, disk_free=free), fetches=1)
    assert crawl.told == ["disk"]
    for free in (1200, 999):
        crawl.goes_on(5, replace(WELL, disk_free=free), fetches=1)
    assert crawl.told == ["disk", "disk"]


def test_an_unknown_disk_changes_nothing():
    crawl = Watched()
    for free in (999, None, 999, None):
        crawl.goes_on(5, replace(WELL, disk_free=free), fetches=1)
    assert crawl.told == ["disk"]


def test_a_condition_that_comes_and_goes_is_told_once_per_interval():
    crawl = Watched(interval=900)
    for _ in range(360):
        crawl.goes_on(5, replace(WELL, disk_free=0), fetches=1)
        crawl.goes_on(5, replace(WELL, disk_free=5000), fetches=1)
    assert crawl.told == ["disk"] * 4


def test_a_condition_that_stays_is_told_when_the_interval_is_over():
    crawl = Watched(interval=900)
    crawl.goes_on(5, replace(WELL, disk_free=0))
    crawl.goes_on(5, replace(WELL, disk_free=5000))
    crawl.goes_on(5, replace(WELL, disk_free=0))
    crawl.goes_on(5, replace(WELL, disk_free=5000))
    crawl.goes_on(880, replace(WELL, disk_free=0), fetches=1)
    assert crawl.told == ["disk"]
    crawl.now += 5
    [alert] = crawl.watch.look(replace(WELL, disk_free=0), crawl.now)
    assert (
        alert.sentence == "fills its disk: 0 B free; that also began and ended 1 time since the last message"
    )
    crawl.goes_on(7200, replace(WELL, disk_free=0), fetches=1)
    assert crawl.told == ["disk"]


def test_a_restarted_crawl_remembers_what_it_told():
    crawl = Watched(interval=900)
    crawl.goes_on(5, replace(WELL, disk_free=0))
    again = Watched(interval=900)
    again.announcer.recall(crawl.announcer.told_at(), again.now)
    again.goes_on(300, replace(WELL, disk_free=0), fetches=1)
    assert again.told == []
    again.goes_on(900, replace(WELL, disk_free=0), fetches=1)
    assert again.told == ["disk"]


def test_a_clock_that_was_wrong_silences_nothing_for_longer_than_the_interval():
    crawl = Watched(interval=900)
    crawl.announcer.recall({"disk": crawl.now + 1e9}, crawl.now)
    crawl.goes_on(1000, replace(WELL, disk_free=0), fetches=1)
    assert crawl.told == ["disk"]


def test_what_is_switched_off_is_not_told():
    off = Watched(limits=Thresholds(0, 0, 300, 0))
    off.goes_on(7200, replace(WELL, disk_free=0), fails=10)
    unasked = Watched(kinds=frozenset(("end",)))
    unasked.goes_on(7200, replace(WELL, disk_free=0), fails=10)
    assert off.told == unasked.told == []
