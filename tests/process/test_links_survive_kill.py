"""kill -9 in the midst of a crawl: in the end the link log has all there is."""

from __future__ import annotations

import gzip
import json

import pytest

from webcrawl.linklog import segments
from webcrawl.linklog.reading import LinkLogs


def linked(path):
    return {page.page: {link.to for link in page.links} for page in LinkLogs([path]).pages()}


@pytest.mark.soak
def test_all_links_are_there_at_the_end_though_the_crawl_was_killed(serve, start, crawl):
    web = serve(hosts=3, pages=50, seed=8)
    settings = {"LINK_LOG_ROLL_BYTES": 1500, "CONCURRENT_REQUESTS": 4, "RETRY_TIMES": 0}
    killed = start(web.seeds, **settings)
    killed.until_logged(25)
    killed.kill()

    again = crawl(of=killed, **settings).assert_ended_well()
    served = {
        web.web.url(page): {link.origin + link.path for link in web.web.links(page)}
        for page in web.web.pages()
    }
    assert linked(again.path) == served
    folder = again.path / segments.FOLDER
    assert not list(folder.glob("*.open"))
    read = [gzip.decompress(path.read_bytes()).splitlines() for path in folder.glob("*.gz")]
    assert {json.loads(line)["page"] for lines in read for line in lines} == served.keys()
