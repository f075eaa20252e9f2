"""What of a crawl's figures the rules get, and who of several workers tells."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

from tests.rows import each_row
from webcrawl.config import Configuration
from webcrawl.errors import StorageAway
from webcrawl.features.notifications.feature import NotificationsFeature, receivers, take_measurement
from webcrawl.features.notifications.receivers import Mailbox, Webhook
from webcrawl.frontier.tally import Snapshot, Tally

SNAPSHOT = Snapshot(
    queued=9,
    known_hosts=3,
    active_hosts=2,
    ready_hosts=1,
    waiting_hosts=0,
    parked_hosts=0,
    given_up_hosts=0,
    in_flight=4,
    unsettled=0,
    next_ready_at=None,
    stalled="disk full",
)


def test_robots_txt_is_no_progress_and_failures_are_those_of_the_crawl_and_of_servers():
    tally = Tally(pages=20, robots=7, sitemaps=2, inline=1)
    tally.statuses.update({200: 15, 404: 1, 429: 2, 503: 2})
    tally.errors.update({"timeout": 3, "dns": 1})
    found = take_measurement(tally, SNAPSHOT, is_paused=False, disk_free=5)
    assert (found.fetched, found.failed, found.ended) == (23, 8, 27)
    assert (found.queued, found.ready_hosts, found.in_flight) == (9, 1, 4)
    assert (found.is_paused, found.blocked_by, found.disk_free) == (False, "disk full", 5)


def test_a_crawl_that_waits_for_its_hours_has_not_stalled():
    found = take_measurement(Tally(), replace(SNAPSHOT, opens_at=1e9), is_paused=False, disk_free=5)
    assert found.is_paused


class Tables:
    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def lock(self, name, holder, seconds):
        self.asked.append((name, holder, seconds))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@each_row(
    ("answer", "tells"), [(True, True), (False, False), (StorageAway("no route"), True), (OSError(), True)]
)
def test_one_worker_tells_and_a_storage_that_is_away_silences_nobody(answer, tells):
    tables = Tables(answer)
    configuration = Configuration(notify_webhooks=("http://127.0.0.1/",), worker_name="w1")
    parts = SimpleNamespace(
        configuration=configuration, backend=SimpleNamespace(tables=tables), folder=None, clock=lambda: 0.0
    )
    feature = NotificationsFeature(parts)
    feature._scheduler = SimpleNamespace(close_reason="finished")
    asyncio.run(feature.drained())
    assert feature._tells_end == tells
    assert tables.asked == [("notify/end/finished", "w1", 120.0)]


def test_receivers_are_those_of_the_settings():
    from scrapy.settings import Settings

    configuration = Configuration(
        notify_webhooks=("https://a.test/x", "https://b.test/"), notify_mail_to=("ops@a.test",)
    )
    found = receivers(configuration, Settings({"MAIL_HOST": "mail.a.test", "MAIL_PORT": "587"}))
    assert [type(one) for one in found] == [Webhook, Webhook, Mailbox]
    assert [one.name for one in found] == [
        "https://a.test",
        "https://b.test",
        "ops@a.test by mail.a.test:587",
    ]
    assert receivers(Configuration(), Settings()) == []
