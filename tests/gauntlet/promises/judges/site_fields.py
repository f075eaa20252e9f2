"""Judges of what sites ask for in header fields, by the requests that they got."""

from __future__ import annotations

import time
from email.utils import formatdate
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.fakeweb.answer import http_answer
from tests.gauntlet.promises.judges.starts import new_sites, start_crawl
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakeweb.answer import Answer, Request
    from tests.gauntlet.promises.stages import Short
    from tests.gauntlet.promises.table import Promise


@judge
def caches_robots(stage: Short, promise: Promise) -> str:
    """Of four hosts with as many pages, those that forbid caching get robots.txt again as often as the setting lets
    them."""
    fields = {"brief": "max-age=1", "never": "no-store", "long": "max-age=3600", "silent": ""}
    requests = {}
    for least in (1, 3600):
        hosts = dict(zip(fields, new_sites(stage, *fields, pages=12), strict=True))
        for name, host in hosts.items():
            stage.site.robots_fields[host] = [("Cache-Control", fields[name])] if fields[name] else []
        seeds = [stage.site.url(host) for host in hosts.values()]
        start_crawl(stage, promise, seeds, POLITENESS_MIN_DELAY=0.1, **{promise.name: least})
        need(set(stage.statuses()) == {0}, "the crawl did not end well")
        requests[least] = {
            name: len(stage.web.hits(host, path="/robots.txt")) for name, host in hosts.items()
        }
    brief = requests[1]
    return need(
        brief["brief"] > 1
        and brief["never"] > 1
        and brief["long"] == brief["silent"] == 1
        and set(requests[3600].values()) == {1},
        f"requests for robots.txt by Cache-Control: {requests[1]} with 1 s, {requests[3600]} with an hour",
    )


@judge
def keeps_off_fresh_pages(stage: Short, promise: Promise) -> str:
    """Of hosts that are visited each second, those with a lifetime rest for it, and ten years are no longer than the
    limit."""
    least = {"silent": 0.9, "brief": 2.0, "dated": 2.0, "decade": 4.0}
    hosts = dict(zip(least, new_sites(stage, *least, pages=0), strict=True))
    decade = "max-age=315360000, immutable"
    for name, fields in (("brief", "max-age=2"), ("decade", decade), ("silent", "s-maxage=3600")):
        stage.site.answers[hosts[name], "/"] = _with_fields(("Cache-Control", fields))

    def dated(request: Request) -> Answer:
        now = time.time()
        # The dates of HTTP have no fractions: the lifetime is what matters.
        times = [("Date", formatdate(now, usegmt=True)), ("Expires", formatdate(now + 2, usegmt=True))]
        return http_answer(200, b"<title>dated</title>", times)

    stage.site.answers[hosts["dated"], "/"] = dated
    settings = {"REVISIT_POLICY": "fixed", "REVISIT_INTERVAL_SECONDS": 1, "REVISIT_INTERVAL_MIN_SECONDS": 0}
    seeds = [stage.site.url(host) for host in hosts.values()]
    continuous = {"CRAWL_MODE": "continuous", "POLITENESS_MIN_DELAY": 0.1, promise.name: 4}
    start_crawl(stage, promise, seeds, **settings, **continuous)
    come = until(lambda: len(stage.web.pages(hosts["decade"])) >= 3)
    stage.kill()
    gaps = {
        name: min((b.start - a.start for a, b in pairwise(stage.web.pages(host))), default=0.0)
        for name, host in hosts.items()
    }
    return need(
        come and all(gaps[name] >= seconds - 0.05 for name, seconds in least.items()) and gaps["silent"] < 2,
        "shortest time between two visits: " + ", ".join(f"{name} {gap:.1f} s" for name, gap in gaps.items()),
    )


def _with_fields(*fields: tuple[str, str]) -> Callable[[Request], Answer]:
    return lambda request: http_answer(200, b"<title>a page</title>", fields)
