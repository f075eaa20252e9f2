"""A service whose processes, folders and time are the test's."""

from __future__ import annotations

from webcrawl.web.service.records import CrawlOrder, as_text, read
from webcrawl.web.service.supervisor import Exit, Supervisor

FINISHED = Exit(0, "finished")
SHUTDOWN = Exit(0, "shutdown")
KILLED = Exit(-9, None)
REFUSED = Exit(2, None, "REDIS_URL: must be a URL")


class FakeProcess:
    def __init__(self, pid, name):
        self.pid = pid
        self.name = name
        self.exit = None
        self.signals = []

    def poll(self):
        return self.exit

    def stop(self):
        self.signals.append("stop")

    def kill(self):
        self.signals.append("kill")


class Machine:
    """What outlives a service: processes, folders and records."""

    def __init__(self):
        self.folders = set()
        self.started = []
        """All processes, in order."""
        self.running = {}
        """Those that hold the lock of their folder, by name."""
        self.last = {}
        self.records = {}
        self.fails_with = None
        self.full = False

    # -- the launcher

    def start(self, order):
        if self.fails_with is not None:
            raise self.fails_with
        assert order.name not in self.running, "two processes for one crawl"
        process = FakeProcess(100 + len(self.started), order.name)
        self.folders.add(order.name)
        self.started.append(process)
        self.running[order.name] = process
        return process

    def adopt(self, order):
        return self.running.get(order.name)

    def last_exit(self, order, started_at):
        return self.last.get(order.name)

    def is_there(self, order):
        return order.name in self.folders

    def trim(self, order):
        assert order.name in self.folders or order.name in self.running

    def remove(self, order):
        self.folders.discard(order.name)

    # -- the store

    def put(self, record):
        if self.full:
            raise OSError(28, "No space left on device")
        self.records[record.order.name] = as_text(record)

    def delete(self, name):
        del self.records[name]

    # -- accidents

    def exits(self, name, how):
        process = self.running.pop(name)
        process.exit = how
        self.last[name] = how if how.close_reason else None


class Service:
    def __init__(self, machine=None, running_max=2, restarts_max=2, now=1000.0):
        self.machine = machine or Machine()
        self.now = now
        self.supervisor = Supervisor(self.machine, self.machine, running_max, restarts_max)
        self.supervisor.load([read(content) for content in self.machine.records.values()], now)

    def create(self, *names, **more):
        for name in names:
            self.supervisor.create(CrawlOrder(name, "broad", at=self.now), self.now, **more)
        self.passes(0)

    def passes(self, seconds):
        """Let time go by, with a look at each second."""
        end = self.now + seconds
        while True:
            self.supervisor.tick(self.now)
            if self.now >= end:
                return
            self.now += 1

    def exits(self, name, how):
        self.machine.exits(name, how)
        self.passes(0)

    def command(self, what, name):
        getattr(self.supervisor, what)(name, self.now)
        self.passes(0)

    def again(self):
        """The next service on the same machine."""
        return Service(self.machine, now=self.now + 60)

    def states(self):
        return {record.order.name: str(record.state) for record in self.supervisor.records()}

    def reason(self, name):
        return self.supervisor.record(name).reason

    def running(self):
        return sorted(self.machine.running)
