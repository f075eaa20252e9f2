"""Judges of mirrors, by the requests to a host, to its mirror, and to a host that only seems to be one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.gauntlet.promises.table import judge, need

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import MirroredHosts
    from tests.gauntlet.promises.table import Promise


def _requested(stage: MirroredHosts) -> list[str]:
    """Return the URLs of the requests for pages, after the end of the crawl."""
    need(stage.statuses() == [0] * len(stage.workers), "a process of the crawl ended with an error")
    return [f"http://{hit.host}:{stage.web.port}{hit.path}" for hit in stage.web.pages()]


def _mirror(stage: MirroredHosts) -> dict[str, Any]:
    """Return the pair of the host and its mirror."""
    pairs: list[dict[str, Any]] = json.loads(stage.do("mirrors", "--json", **stage.select).out)["mirrors"]
    hosts = {stage.site.origin(name) for name in ("original", "mirror")}
    found = [pair for pair in pairs if {pair["first"], pair["mirror"]} == hosts]
    need(len(found) == 1, f"pairs: {[(pair['first'], pair['mirror'], pair['state']) for pair in pairs]}")
    return found[0]


@judge
def saves_mirrors(stage: MirroredHosts, promise: Promise) -> str:
    """The mirror has each page of the original."""
    urls = _requested(stage)
    missed = stage.site.truth() - {stage.site.text(url) for url in urls}
    names = ("original", "mirror")
    requests = sum(url.startswith(stage.site.origin(name)) for url in urls for name in names)
    return need(
        not missed and requests < 145,
        f"{requests} requests for 160 copies and 5 further pages; missed: {sorted(missed)[:3]}",
    )


@judge
def tells_mirrors(stage: MirroredHosts, promise: Promise) -> str:
    requested = set(_requested(stage))
    pair = _mirror(stage)
    either = [
        path
        for path in range(1, 80)
        if not {f"{stage.site.origin(name)}/page-{path}" for name in ("original", "mirror")} <= requested
    ]
    return need(
        pair["state"] == "confirmed"
        and pair["withheld"] > 40
        and len(either) > 40
        and len(pair["equal"]) >= 8,
        f"{pair['mirror']} is {pair['state']}, {pair['withheld']} URLs withheld, {len(either)} paths requested once",
    )


@judge
def undoes_mirrors(stage: MirroredHosts, promise: Promise) -> str:
    """Each path of both hosts is requested then."""
    before = _requested(stage)
    pair = _mirror(stage)
    stage.do("mirrors", "--undo", pair["id"], **stage.select)
    stage.again()
    urls = set(_requested(stage))
    left = [
        url
        for name in ("original", "mirror")
        for number in range(1, 80)
        if (url := f"{stage.site.origin(name)}/page-{number}") not in urls
    ]
    return need(not left, f"{len(urls) - len(set(before))} further URLs requested; left: {left[:3]}")
