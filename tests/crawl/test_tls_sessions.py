"""New connections of a crawl resume the TLS session of the one before, as the server tells it."""

from __future__ import annotations

import re
from collections import defaultdict


def test_each_host_has_one_full_handshake(serve, crawl):
    web = serve(hosts=4, pages=24, zipf=0.0, tls=True, https=1.0)
    seeds = [f"https://{name}:{web.ports.https}/" for name in web.web.hosts]
    # No connection is kept, so that each request opens one.
    crawled = crawl(seeds, DOWNLOAD_IDLE_CONNECTIONS=0, STATS_DUMP=True).assert_ended_well()

    resumed = defaultdict(list)
    for hit in web.hits():
        if hit.scheme == "https":
            resumed[hit.host].append(hit.resumed)
    assert {host: (seen[0], set(seen[1:])) for host, seen in resumed.items()} == dict.fromkeys(
        web.web.hosts, (False, {True})
    )
    connections = sum(map(len, resumed.values()))
    told = dict(re.findall(r"'(tls/\w+)': (\d+)", crawled.stderr))
    assert told == {"tls/connections": str(connections), "tls/resumed": str(connections - 4)}
