"""The supervisor, with processes and a time that the test makes."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.unit.web.service.supervising import (
    FINISHED,
    KILLED,
    REFUSED,
    SHUTDOWN,
    FakeProcess,
    Machine,
    Service,
)
from webcrawl.web.service.records import LIVE, CrawlOrder, OrderState, read
from webcrawl.web.service.supervisor import (
    FORCE_SECONDS,
    PAUSES,
    STEADY_SECONDS,
    STOP_SECONDS,
    Exit,
    ServiceError,
)


@pytest.fixture
def service():
    return Service()


def test_crawls_run_up_to_the_bound_and_the_others_wait_in_order(service):
    service.create("a", "b", "c", "d")
    assert service.states() == {"a": "running", "b": "running", "c": "waiting", "d": "waiting"}
    assert service.supervisor.queue() == ["c", "d"]

    service.exits("b", FINISHED)
    assert service.states() == {"a": "running", "b": "ended", "c": "running", "d": "waiting"}
    assert service.reason("b") == "finished"


def test_a_hundred_crawls_all_have_their_turn(service):
    names = [f"c{number:03}" for number in range(100)]
    service.create(*names)
    ran = []
    while service.machine.running:
        assert len(service.machine.running) <= 2
        name = service.running()[0]
        ran.append(name)
        service.exits(name, FINISHED)
    assert ran == names
    assert set(service.states().values()) == {"ended"}


def test_a_crawl_that_was_ended_goes_on_behind_those_that_wait(service):
    service.create("a", "b", "c")
    service.exits("a", Exit(0, "closespider_pagecount"))
    service.command("start", "a")
    assert service.supervisor.queue() == ["a"]
    service.exits("b", FINISHED)
    assert service.states() == {"a": "running", "b": "ended", "c": "running"}


def test_a_crawl_that_an_operator_stops_finishes_its_requests_and_stays_stopped(service):
    service.create("a")
    service.command("stop", "a")
    service.command("stop", "a")
    assert service.machine.started[0].signals == ["stop"]
    assert service.states() == {"a": "stopping"}
    with pytest.raises(ServiceError, match="a is stopping"):
        service.command("start", "a")

    service.exits("a", SHUTDOWN)
    service.passes(3600)
    assert service.states() == {"a": "stopped"}
    assert service.again().states() == {"a": "stopped"}

    service.command("start", "a")
    assert service.states() == {"a": "running"}


def test_a_crawl_that_waits_is_stopped_at_once(service):
    service.create("a", "b", "c")
    service.command("stop", "c")
    service.exits("a", FINISHED)
    assert service.states()["c"] == "stopped"


def test_a_crawl_that_does_not_stop_is_forced_and_then_killed(service):
    service.create("a")
    service.command("stop", "a")
    process = service.machine.started[0]
    service.passes(STOP_SECONDS)
    assert process.signals == ["stop", "stop"]
    service.passes(FORCE_SECONDS)
    assert process.signals[:3] == ["stop", "stop", "kill"]
    service.exits("a", KILLED)
    assert service.states() == {"a": "stopped"}


@pytest.mark.parametrize("how", [SHUTDOWN, Exit(0, "stopped"), Exit(0, None, "stopped before it began")])
def test_a_crawl_that_somebody_stops_in_a_shell_is_not_started_again(service, how):
    service.create("a")
    service.exits("a", how)
    service.passes(3600)
    assert service.states() == {"a": "stopped"}
    assert service.reason("a") == "it was stopped from outside of the service"


def test_a_crashed_crawl_is_started_again_after_growing_pauses_and_given_up(service):
    service.create("a")
    service.exits("a", Exit(1, "storage_lost", "the disk is gone"))
    assert service.states() == {"a": "restarting"}
    assert service.reason("a") == "status 1: the disk is gone"
    service.passes(PAUSES[0] - 1)
    assert service.states() == {"a": "restarting"}
    service.passes(1)
    assert service.states() == {"a": "running"}

    service.exits("a", KILLED)
    service.passes(PAUSES[1] - 1)
    assert service.states() == {"a": "restarting"}
    service.passes(1)
    service.exits("a", KILLED)
    service.passes(3600)
    assert service.states() == {"a": "failed"}
    assert service.reason("a") == "given up after 3 crashes in a row, the last one: killed by signal 9"
    assert len(service.machine.started) == 3

    service.command("start", "a")
    assert service.states() == {"a": "running"}
    service.exits("a", KILLED)
    assert service.states() == {"a": "restarting"}


def test_a_crash_after_a_long_run_begins_a_new_row(service):
    service.create("a")
    for _ in range(10):
        service.passes(STEADY_SECONDS + 1)
        service.exits("a", KILLED)
        service.passes(PAUSES[0])
    assert service.states() == {"a": "running"}


def test_a_restart_waits_for_its_place(service):
    service.create("a", "b", "c")
    service.exits("a", KILLED)
    service.passes(60)
    assert service.states() == {"a": "waiting", "b": "running", "c": "running"}


def test_a_refused_crawl_has_the_reason_and_is_not_tried_again(service):
    service.create("a")
    service.exits("a", REFUSED)
    service.passes(3600)
    assert service.states() == {"a": "failed"}
    assert service.reason("a") == "REDIS_URL: must be a URL"


def test_a_crawl_that_cannot_be_started_is_tried_again(service):
    service.machine.fails_with = OSError(24, "Too many open files")
    service.create("a")
    assert service.states() == {"a": "restarting"}
    assert "Too many open files" in service.reason("a")
    service.machine.fails_with = None
    service.passes(PAUSES[0])
    assert service.states() == {"a": "running"}


def test_a_crawl_whose_folder_was_removed_does_not_begin_anew(service):
    service.create("a", "b")
    service.machine.folders.clear()
    service.exits("a", KILLED)
    assert (service.states()["a"], service.reason("a")) == ("failed", "its folder was removed")
    with pytest.raises(
        ServiceError, match="its folder was removed; remove the crawl, or put its folder back"
    ):
        service.command("start", "a")
    service.supervisor.remove("a")
    assert "a" not in service.states()

    # Removed while nobody looked: b was waiting for its restart.
    service.machine.folders.add("b")
    service.exits("b", KILLED)
    service.machine.folders.clear()
    service.passes(PAUSES[0])
    assert (service.states()["b"], service.reason("b")) == ("failed", "its folder was removed")


def test_a_running_crawl_is_not_removed(service):
    service.create("a")
    with pytest.raises(ServiceError, match="a is running; stop it first"):
        service.supervisor.remove("a")
    service.exits("a", FINISHED)
    service.supervisor.remove("a")
    assert (service.machine.folders, service.machine.records) == (set(), {})


def test_names_are_unique_and_foreign_folders_are_left_alone(service):
    service.create("a")
    service.machine.folders.add("mine")
    for name in ("a", "mine"):
        with pytest.raises(ServiceError, match=r"there is a (crawl|folder)"):
            service.create(name)
    for what in ("start", "stop"):
        with pytest.raises(ServiceError, match="there is no crawl 'b'") as failed:
            service.command(what, "b")
        assert failed.value.is_missing
    assert service.states() == {"a": "running"}


# -- the service itself ends, is killed, and begins again ------------------------------------------------------


def test_the_end_of_the_service_stops_all_crawls_and_they_go_on(service):
    service.create("a", "b", "c")
    service.exits("a", FINISHED)
    service.supervisor.end(service.now)
    assert [process.signals for process in service.machine.started] == [[], ["stop"], ["stop"]]
    assert not service.supervisor.is_over
    service.exits("b", SHUTDOWN)
    service.exits("c", KILLED)
    assert service.supervisor.is_over

    again = service.again()
    assert again.states() == {"a": "ended", "b": "waiting", "c": "waiting"}
    again.passes(0)
    assert again.states() == {"a": "ended", "b": "running", "c": "running"}


def test_a_crawl_that_finishes_while_the_service_ends_has_ended(service):
    service.create("a")
    service.supervisor.end(service.now)
    service.exits("a", FINISHED)
    assert service.again().states() == {"a": "ended"}


def test_a_second_signal_forces_the_crawls(service):
    service.create("a")
    service.supervisor.end(service.now)
    service.supervisor.end(service.now)
    assert service.machine.started[0].signals == ["stop", "stop"]


def test_a_crawl_that_outlives_a_killed_service_is_adopted_and_not_started_twice(service):
    service.create("a", "b", "c")
    service.command("stop", "b")
    again = service.again()
    again.passes(0)
    assert again.states() == {"a": "running", "b": "stopping", "c": "waiting"}
    assert len(service.machine.started) == 2
    again.exits("a", FINISHED)
    again.exits("b", SHUTDOWN)
    assert again.states() == {"a": "ended", "b": "stopped", "c": "running"}


def test_an_adopted_crawl_that_is_killed_is_started_again(service):
    service.create("a")
    again = service.again()
    again.exits("a", Exit(None, None))
    assert again.states() == {"a": "restarting"}
    assert again.reason("a") == "its process was killed"


@pytest.mark.parametrize(
    ("how", "state"),
    [
        (KILLED, "running"),
        (SHUTDOWN, "running"),
        (FINISHED, "ended"),
        (Exit(0, "closespider_timeout"), "ended"),
    ],
    ids=["reboot", "shutdown of the machine", "finished", "limit"],
)
def test_what_happened_while_there_was_no_service(service, how, state):
    service.create("a")
    service.machine.exits("a", how)
    again = service.again()
    again.passes(0)
    assert again.states() == {"a": state}


def test_a_crawl_that_was_just_started_when_the_service_was_killed_is_adopted_late(service):
    service.create("a")
    # It does not hold its lock yet.
    early = service.machine.running.pop("a")
    again = service.again()
    again.passes(0)
    second = again.machine.running.pop("a")
    again.machine.running["a"] = early
    second.exit = Exit(2, None, "JOBDIR a is in use by process 100")
    again.passes(0)
    assert again.states() == {"a": "running"}
    assert again.supervisor.pid("a") == early.pid


def test_a_command_that_cannot_be_stored_changes_nothing(service):
    service.create("a")
    service.machine.full = True
    with pytest.raises(OSError, match="No space"):
        service.create("b")
    with pytest.raises(OSError, match="No space"):
        service.command("stop", "a")
    assert service.states() == {"a": "running"}
    assert service.machine.started[0].signals == []
    service.machine.full = False
    service.create("b")
    service.command("stop", "a")
    assert service.states() == {"a": "stopping", "b": "running"}


def test_what_happens_while_the_disk_is_full_counts_in_memory(service):
    service.create("a", "b", "c")
    service.machine.full = True
    service.exits("a", FINISHED)
    assert service.states() == {"a": "ended", "b": "running", "c": "running"}


class Chance(RuleBasedStateMachine):
    """Any sequence of orders, accidents and ends of the service."""

    names = st.sampled_from("abcde")
    exits = st.sampled_from([FINISHED, SHUTDOWN, KILLED, REFUSED, Exit(1, "storage_lost")])

    def __init__(self):
        super().__init__()
        self.service = Service()
        self.unwanted = set()
        """Stopped by an operator, and not started since."""

    @rule(name=names, start=st.booleans())
    def create(self, name, start):
        try:
            self.service.supervisor.create(
                CrawlOrder(name, "broad", at=self.service.now), self.service.now, start=start
            )
        except ServiceError:
            return
        self.unwanted -= {name}
        if not start:
            self.unwanted.add(name)

    @rule(name=names)
    def start(self, name):
        try:
            self.service.command("start", name)
        except ServiceError:
            return
        self.unwanted -= {name}

    @rule(name=names)
    def stop(self, name):
        try:
            record = self.service.supervisor.stop(name, self.service.now)
        except ServiceError:
            return
        if record.state in (OrderState.STOPPED, OrderState.STOPPING):
            self.unwanted.add(name)

    @rule(name=names)
    def remove(self, name):
        try:
            self.service.supervisor.remove(name)
        except ServiceError:
            return
        self.unwanted -= {name}

    @rule(seconds=st.sampled_from([0, 1, 20, 700]))
    def passes(self, seconds):
        self.service.passes(seconds)

    @rule(name=names, how=exits)
    def ends(self, name, how):
        if name in self.service.machine.running:
            self.service.exits(name, how)

    @rule()
    def is_killed(self):
        self.service = self.service.again()

    @rule()
    def reboots(self):
        for name in list(self.service.machine.running):
            self.service.machine.exits(name, KILLED)
        self.service = self.service.again()

    @rule()
    def is_ended(self):
        self.service.supervisor.end(self.service.now)
        for name in list(self.service.machine.running):
            self.service.exits(name, SHUTDOWN)
        assert self.service.supervisor.is_over
        self.service = self.service.again()

    @invariant()
    def nothing_runs_that_is_not_wanted(self):
        for record in self.service.supervisor.records():
            name = record.order.name
            if name in self.unwanted:
                assert record.state in (
                    OrderState.STOPPED,
                    OrderState.STOPPING,
                    OrderState.ENDED,
                    OrderState.FAILED,
                )
            has_process = name in self.service.machine.running
            assert has_process == (record.state in LIVE)

    @invariant()
    def what_is_stored_is_what_is_known(self):
        stored = {name: read(content).state for name, content in self.service.machine.records.items()}
        assert stored == {record.order.name: record.state for record in self.service.supervisor.records()}

    @invariant()
    def no_more_run_than_may(self):
        # Those that a killed service has started are adopted, too.
        assert len(self.service.machine.running) <= 2


Chance.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestChance = Chance.TestCase


def test_the_fake_machine_sees_a_second_process():
    machine = Machine()
    machine.running["a"] = FakeProcess(1, "a")
    with pytest.raises(AssertionError, match="two processes"):
        machine.start(CrawlOrder("a", "broad"))
