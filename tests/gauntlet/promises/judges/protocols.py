"""Judges of the protocol in which hosts are asked, by the log of a web that speaks HTTP/2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from tests.gauntlet.promises.judges.starts import start_crawl
from tests.gauntlet.promises.table import judge, need

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Short
    from tests.gauntlet.promises.table import Promise

WAYS = ("both", "426", "505", "close")


@judge
def chooses_the_protocol(stage: Short, promise: Promise) -> str:
    """Each value of the setting, on hosts that answer HTTP/1.1 and on hosts that do not."""
    found = {policy: _requests(stage, promise, policy) for policy in ("needed", "never", "offer")}
    needed, never, offer = found["needed"], found["never"], found["offer"]
    return need(
        needed["both"][1] == 0
        and all(needed[way][0] <= len(stage.workers) and needed[way][1] > 3 for way in WAYS[1:])
        and not any(http2 for _, http2 in never.values())
        and not any(http11 for http11, _ in offer.values()),
        "; ".join(
            f"{policy}: "
            + ", ".join(f"{way} {one} in HTTP/1.1 and {two} in HTTP/2" for way, (one, two) in ways.items())
            for policy, ways in found.items()
        ),
    )


def _requests(stage: Short, promise: Promise, policy: str) -> dict[str, tuple[int, int]]:
    """Return the requests of HTTP/1.1 and of HTTP/2 that each host has got in a crawl."""
    config = Config(hosts=len(WAYS), pages=24, zipf=0.0, tls=True, https=1.0, http2=WAYS, dns=True)
    with serve_in_process(config, stage.folder / f"http2-{policy}.log") as web:
        seeds = [f"https://{host}:{web.ports.https}/" for host in web.web.hosts]
        settings = {"POLITENESS_MIN_DELAY": 0.1, "FRONTIER_PATIENCE_SECONDS": 1, "RETRY_TIMES": 0}
        start_crawl(
            stage, promise, seeds, DNS_NAMESERVERS=web.nameserver, **settings, **{promise.name: policy}
        )
        need(set(stage.statuses()) == {0}, "the crawl did not end well")
        hits = [hit for hit in web.hits() if hit.scheme == "https"]
    counts = {}
    for host, way in zip(web.web.hosts, WAYS, strict=True):
        protocols = [hit.protocol for hit in hits if hit.host == host]
        counts[way] = (protocols.count("http/1.1"), protocols.count("h2"))
    return counts
