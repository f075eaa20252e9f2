"""What the service tells of crashes."""

from __future__ import annotations

from tests.unit.web.service.supervising import FINISHED, KILLED, REFUSED, Service
from webcrawl.web.service.notices import CrashNotices


class Told:
    def __init__(self, service, interval=900.0):
        self.service = service
        self.notices = CrashNotices(interval, lambda name: f"/crawls/{name}")
        self.notices.begin(service.supervisor.records())

    def now(self):
        return list(self.notices.look(self.service.supervisor.records(), self.service.now))


def test_a_crash_is_told_once_and_again_after_the_interval():
    service = Service(restarts_max=5)
    service.create("a", "b")
    told = Told(service)
    service.exits("a", KILLED)
    [message] = told.now()
    assert (message.event, message.crawl.name, message.crawl.jobdir) == ("crash", "a", "/crawls/a")
    assert message.text == "a has crashed, and is started again: killed by signal 9"
    assert message.details == {"state": "restarting", "reason": "killed by signal 9", "crashes": 1}

    service.passes(10)
    service.exits("a", KILLED)
    assert told.now() == []
    service.passes(1000)
    service.exits("a", KILLED)
    assert len(told.now()) == 1
    assert told.now() == []


def test_a_crawl_that_is_given_up_or_refused_is_told_at_once():
    service = Service(restarts_max=0)
    service.create("a", "b")
    told = Told(service)
    service.exits("a", KILLED)
    service.exits("b", REFUSED)
    assert [message.text for message in told.now()] == [
        "a does not run any more: given up after its first crash: killed by signal 9",
        "b does not run any more: REDIS_URL: must be a URL",
    ]


def test_ends_are_told_by_the_crawls_themselves():
    service = Service()
    service.create("a", "b")
    told = Told(service)
    service.exits("a", FINISHED)
    service.command("stop", "b")
    assert told.now() == []


def test_the_next_service_does_not_tell_again():
    service = Service(restarts_max=0)
    service.create("a")
    service.exits("a", KILLED)
    assert Told(service.again()).now() == []
