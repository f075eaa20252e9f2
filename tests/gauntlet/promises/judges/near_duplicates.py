"""Judge of near-duplicates, by the requests to a web of articles that come again in other surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crawl.near_duplicates import faults, withheld
from tests.gauntlet.promises.table import judge, need

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Varied
    from tests.gauntlet.promises.table import Promise


@judge
def withholds_near(stage: Varied, promise: Promise) -> str:
    """Each page that differs is fetched and stored; near ones are withheld, once the first one is stored."""
    need(stage.statuses() == [0] * len(stage.workers), "a process of the crawl ended with an error")
    requested = [f"http://{hit.host}:{stage.web.port}{hit.path}" for hit in stage.web.pages()]
    lines = [line for crawl in stage.workers for line in crawl.lines()]
    records = [record for crawl in stage.workers for record in crawl.records()]
    items = [
        {"url": line["url"], "cluster": line.get("cluster")} for line in lines if "body_withheld" not in line
    ]
    wrong = faults(stage.site, requested, lines, records, items)
    unfollowed, unstored = withheld(lines, "links_withheld"), withheld(lines, "body_withheld")
    near = len(stage.site.near())
    counts = f"{len(unfollowed)} were not followed and {len(unstored)} not stored"
    return need(
        not wrong and unfollowed and unstored, f"of {near} near-duplicates {counts}; wrong: {wrong[:3]}"
    )
