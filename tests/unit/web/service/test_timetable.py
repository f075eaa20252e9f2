"""Schedules that start crawls of a supervisor, with a clock of the test, and a service that is killed anywhere."""

from __future__ import annotations

from itertools import count

import pytest

from tests.rows import each_row
from tests.unit.web.service.supervising import FINISHED, KILLED, SHUTDOWN, Machine
from webcrawl.errors import CrawlError
from webcrawl.web.service import schedules
from webcrawl.web.service.records import read
from webcrawl.web.service.schedules import Overlap, Repetition, Schedule, ScheduledOrder
from webcrawl.web.service.supervisor import ServiceError, Supervisor
from webcrawl.web.service.timetable import SCHEDULES_MAX, Timetable

HOUR = 3600.0
NOON = 1_790_000_000 // 86_400 * 86_400 + 12 * HOUR
"""Of a day in UTC."""


class Killed(BaseException):
    """The service is killed at this moment."""


class Disk(Machine):
    """A machine that keeps schedules, too, and on which the service is killed at a given write."""

    def __init__(self):
        super().__init__()
        self.schedules = {}
        self.kill_at = None
        """The moment at which the service is killed: each write has two, before it and after it."""
        self.fail_at = None
        """The moment from which on no schedule can be stored, until the next service."""
        self.has_failed = False
        self.writes = 0

    def _written(self, write):
        if self.full:
            raise OSError(28, "No space left on device")
        for is_after in (False, True):
            if self.kill_at == self.writes:
                self.kill_at = None
                raise Killed
            self.writes += 1
            if not is_after:
                write()

    def put(self, record):
        self._written(lambda: super(Disk, self).put(record))

    def put_schedule(self, schedule):
        if self.fail_at is not None and self.writes >= self.fail_at:
            self.fail_at, self.has_failed = None, True
        if self.has_failed:
            raise OSError(5, "Input/output error")
        self._written(lambda: self.schedules.__setitem__(schedule.name, schedules.as_text(schedule)))

    def delete_schedule(self, name):
        del self.schedules[name]


class Crawls:
    """The crawls of a supervisor, whose orders are not checked."""

    def __init__(self, service):
        self.service = service
        self.refuses = None
        self.records = service.supervisor.records
        self.find = service.supervisor.find
        self.start = service.supervisor.start
        self.remove = service.supervisor.remove

    def order(self, order, seeds):
        if self.refuses is not None:
            raise self.refuses
        self.service.supervisor.create(order, self.service.now)


class Service:
    def __init__(self, machine=None, now=NOON):
        self.machine = machine or Disk()
        self.now = now
        self.supervisor = Supervisor(self.machine, self.machine, 2, 0)
        self.supervisor.load([read(text) for text in self.machine.records.values()], now)
        self.crawls = Crawls(self)
        self.timetable = Timetable(self.machine, self.crawls)
        self.timetable.load([schedules.read(text) for text in self.machine.schedules.values()])

    def create(self, name="news", cron="0 * * * *", **values):
        order = values.pop("order", ScheduledOrder("broad", ("http://a.test/",)))
        values = {"zone": "UTC", "created_at": self.now, **values}
        self.timetable.create(Schedule(name, order, cron, **values), self.now)

    def tick(self):
        self.timetable.tick(self.now)
        self.supervisor.tick(self.now)

    def until(self, now):
        """Let time go by, with a look every 20 seconds."""
        while self.now < now:
            self.now = min(self.now + 20, now)
            self.tick()

    def change(self, name="news", **values):
        changed = self.timetable.schedule(name)
        for key, value in values.items():
            setattr(changed, key, value)
        self.timetable.change(changed, self.now)

    def exits(self, crawl, how=FINISHED):
        self.machine.exits(crawl, how)
        self.supervisor.tick(self.now)

    def next(self, seconds=0.0):
        """The next service on the same machine."""
        self.machine.has_failed = False
        return Service(self.machine, self.now + seconds)

    def runs(self, name="news"):
        return [str(run.outcome) for run in self.timetable.schedule(name).runs]

    def last(self, name="news"):
        return self.timetable.schedule(name).runs[-1]

    @property
    def started(self):
        return [process.name for process in self.machine.started]


def crawl(hours, name="news"):
    """The name of the crawl of so many hours after noon."""
    return f"{name}-20260921T{12 + hours:02}0000Z"


def test_each_time_starts_a_crawl_and_its_end_is_entered():
    service = Service()
    service.create()
    service.until(NOON + HOUR - 1)
    assert service.started == []
    service.until(NOON + HOUR)
    assert service.started == [crawl(1)]
    record = service.supervisor.record(crawl(1))
    assert (record.order.by, record.order.schedule) == ("schedule news", "news")
    service.exits(crawl(1))
    service.until(NOON + 2 * HOUR)
    service.exits(crawl(2), KILLED)
    service.until(NOON + 3 * HOUR)
    service.exits(crawl(3), SHUTDOWN)
    service.until(NOON + 3 * HOUR + 60)
    assert service.started == [crawl(1), crawl(2), crawl(3)]
    assert service.runs() == ["ended", "failed", "stopped"]
    first = service.timetable.schedule("news").runs[0]
    assert (first.reason, first.ended_at, first.by) == ("finished", NOON + HOUR, "")


def test_a_start_is_skipped_while_the_last_crawl_is_going():
    service = Service()
    service.create()
    service.until(NOON + 3 * HOUR)
    assert service.started == [crawl(1)]
    assert service.runs() == ["started", "skipped"]
    assert (service.last().count, service.last().reason) == (2, f"{crawl(1)} was still going")
    service.exits(crawl(1))
    service.until(NOON + 4 * HOUR)
    assert service.started == [crawl(1), crawl(4)]


def test_a_crawl_that_waits_for_room_is_still_going():
    service = Service()
    for name in ("a", "b", "c"):
        service.create(name)
    service.until(NOON + 2 * HOUR)
    assert service.started == [crawl(1, "a"), crawl(1, "b")]
    assert service.runs("c") == ["started", "skipped"]
    service.exits(crawl(1, "a"))
    service.tick()
    assert service.started == [crawl(1, "a"), crawl(1, "b"), crawl(1, "c")]


def test_one_start_waits_for_the_end_of_the_last_crawl():
    service = Service()
    service.create(overlap=Overlap.QUEUE)
    service.until(NOON + 4 * HOUR + 60)
    assert service.started == [crawl(1)]
    assert service.runs() == ["started", "queued", "skipped"]
    service.exits(crawl(1))
    service.tick()
    assert service.started == [crawl(1), crawl(2)]
    assert service.runs() == ["ended", "started", "skipped"]


def test_a_crawl_that_is_resumed_is_one_crawl():
    service = Service()
    service.create(repetition=Repetition.RESUME)
    for hour in (1, 2, 3):
        service.until(NOON + hour * HOUR)
        assert service.started == ["news"] * hour
        service.exits("news")
    service.tick()
    assert service.runs() == ["ended"] * 3
    with pytest.raises(ServiceError, match="the crawl news was ordered already and keeps its order"):
        service.change(order=ScheduledOrder("other"))
    service.change(cron="0 0 * * *")
    service.timetable.remove("news")
    with pytest.raises(ServiceError, match="there is a crawl news already; a schedule resumes"):
        service.create(repetition=Repetition.RESUME)


def test_a_resumed_crawl_that_ends_as_its_next_start_waits_goes_on_at_once():
    service = Service()
    service.create(repetition=Repetition.RESUME, overlap=Overlap.QUEUE)
    service.until(NOON + 2 * HOUR)
    service.exits("news")
    service.tick()
    assert service.started == ["news", "news"]
    assert service.runs() == ["ended", "started"]


def test_the_last_start_that_was_missed_is_made_up_for_once_within_its_window():
    service = Service()
    service.create("late", "*/15 * * * *", window_seconds=1800)
    service.create("lost", "30 12 * * *", window_seconds=1800)
    after = service.next(HOUR + 60)
    after.tick()
    assert after.started == ["late-20260921T130000Z"]
    assert after.runs("late") == ["missed", "started"]
    missed = after.timetable.schedule("late").runs[0]
    assert (missed.count, missed.planned_at, missed.last_at) == (3, NOON + 900, NOON + 2700)
    assert after.runs("lost") == ["missed"]
    after.until(after.now + 60)
    assert len(after.started) == 1


def test_a_paused_schedule_makes_up_for_nothing():
    service = Service()
    service.create("a", "*/5 * * * *")
    service.change("a", is_enabled=False)
    service.until(NOON + HOUR + 10)
    service.change("a", is_enabled=True)
    assert service.timetable.schedule("a").next_at == NOON + HOUR + 300
    assert (service.started, service.runs("a")) == ([], [])
    service.change("a", cron="0 18 * * *", zone="Europe/Berlin")
    assert service.timetable.schedule("a").next_at == NOON + 4 * HOUR


def test_a_start_by_hand_obeys_the_same_rule():
    service = Service()
    service.create(is_enabled=False)
    service.now += 0.7
    service.timetable.run_now("news", "mia", service.now)
    service.tick()
    assert service.started == [crawl(0)]
    assert (service.last().by, service.supervisor.record(crawl(0)).order.by) == ("mia", "mia")
    with pytest.raises(ServiceError, match=f"news is not started: {crawl(0)} was still going"):
        service.timetable.run_now("news", "mia", service.now)
    service.exits(crawl(0))
    # In the same second: the crawl has another name.
    service.timetable.run_now("news", "", service.now)
    service.tick()
    assert service.started == [crawl(0), f"{crawl(0)[:-2]}1Z"]
    service.change(overlap=Overlap.QUEUE)
    service.timetable.run_now("news", "", service.now)
    with pytest.raises(ServiceError, match="news is not started: one start was waiting already"):
        service.timetable.run_now("news", "", service.now)
    with pytest.raises(ServiceError, match="there is no schedule 'other'"):
        service.timetable.run_now("other", "", service.now)


def test_a_start_by_hand_in_the_second_of_a_planned_one_loses_none():
    service = Service()
    service.create(overlap=Overlap.QUEUE)
    service.now = NOON + HOUR
    service.timetable.run_now("news", "", service.now)
    service.tick()
    assert service.runs() == ["started", "queued"]
    service.exits(crawl(1))
    service.tick()
    assert service.started == [crawl(1), f"{crawl(1)[:-2]}1Z"]


def test_old_crawls_are_deleted_if_that_was_asked_for():
    service = Service()
    service.create(keep=2)
    for hour in range(1, 6):
        service.until(NOON + hour * HOUR)
        service.exits(crawl(hour), SHUTDOWN if hour == 1 else FINISHED)
    # A crawl that somebody stopped stays, as it can go on.
    assert service.machine.folders == {crawl(1), crawl(3), crawl(4), crawl(5)}
    service.until(NOON + 6 * HOUR)
    assert service.machine.folders == {crawl(1), crawl(4), crawl(5), crawl(6)}


def test_crawls_of_an_earlier_schedule_of_the_name_are_left_alone():
    service = Service()
    service.create()
    for hour in (1, 2):
        service.until(NOON + hour * HOUR)
        service.exits(crawl(hour))
    service.timetable.remove("news")
    service.now += 60
    service.create(keep=1)
    for hour in (3, 4, 5):
        service.until(NOON + hour * HOUR)
        service.exits(crawl(hour))
    assert service.machine.folders == {crawl(1), crawl(2), crawl(4), crawl(5)}


def test_a_refused_order_is_entered_and_the_next_one_is_tried():
    service = Service()
    service.create()
    service.create("other")
    service.crawls.refuses = CrawlError("DEPTH_LIMIT: must be\n a number")
    service.until(NOON + HOUR)
    service.crawls.refuses = None
    service.until(NOON + 2 * HOUR)
    assert service.runs() == service.runs("other") == ["refused", "started"]
    assert service.timetable.schedule("news").runs[0].reason == "DEPTH_LIMIT: must be a number"


def test_a_crawl_that_is_deleted_is_not_waited_for():
    service = Service()
    service.create()
    service.until(NOON + HOUR)
    service.supervisor.stop(crawl(1), service.now)
    service.exits(crawl(1), SHUTDOWN)
    service.supervisor.remove(crawl(1))
    service.until(NOON + 2 * HOUR)
    assert service.runs() == ["removed", "started"]


def test_a_full_disk_starts_nothing_and_loses_nothing(caplog):
    service = Service()
    service.create()
    service.machine.full = True
    service.until(NOON + HOUR + 600)
    assert service.started == []
    assert caplog.text.count("starts nothing while its state cannot be stored: No space left on device") == 1
    with pytest.raises(OSError, match="No space left"):
        service.timetable.run_now("news", "", service.now)
    with pytest.raises(OSError, match="No space left"):
        service.change(cron="0 0 * * *")
    assert service.timetable.schedule("news").cron == "0 * * * *"
    service.machine.full = False
    service.until(service.now + 20)
    assert service.started == [crawl(1)]
    service.until(NOON + HOUR + 1200)
    assert service.started == [crawl(1)]


def test_there_are_limits():
    service = Service()
    for number in range(SCHEDULES_MAX):
        service.create(f"s{number}")
    with pytest.raises(ServiceError, match="there are 200 schedules already; remove one first"):
        service.create("one-more")
    with pytest.raises(ServiceError, match="there is a schedule s0 already"):
        service.create("s0")


# -- accidents at any write --------------------------------------------------------------------------------------


def story(accident, number, **schedule):
    """Have a schedule start three crawls, with an accident; return the last service, and whether it came."""
    service = Service()
    service.create(cron="*/5 * * * *", **schedule)
    machine = service.machine
    machine.writes = 0
    setattr(machine, accident, number)

    def looks(service, until):
        while service.now < until:
            try:
                service.until(service.now + 20)
            except Killed:
                # What it has started is there, whether it knows that or not.
                service = service.next(5)
        return service

    for minute in (5, 10, 15):
        service = looks(service, NOON + minute * 60 + 40)
        for _ in range(2):
            for name in list(machine.running):
                machine.exits(name, FINISHED)
            service = looks(service, service.now + 60)
            if machine.has_failed:
                service = looks(service.next(), service.now + 60)
    return service, getattr(machine, accident) is None


@each_row("accident", ["kill_at", "fail_at"])
@each_row(
    "values",
    [{}, {"repetition": Repetition.RESUME}, {"overlap": Overlap.QUEUE}, {"keep": 1}],
    ids=["new", "resume", "queue", "keep"],
)
def test_an_accident_at_any_write_repeats_no_run_and_loses_none(values, accident):
    """A service is killed before or after a write, or no schedule can be stored from then on, until the service is
    killed later."""
    names = [f"news-20260921T12{minute}00Z" for minute in ("05", "10", "15")]
    expected = ["news"] * 3 if "repetition" in values else names
    for number in count():
        service, has_come = story(accident, number, **values)
        assert service.started == expected, number
        assert service.runs() == ["ended"] * 3, number
        if not has_come:
            break
    assert number > 20
