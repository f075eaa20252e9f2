"""kill -9 in the midst of a crawl: the link log has what is called done, and in the end all there is."""

from __future__ import annotations

import gzip
import json

from webcrawl.frontier.records import State
from webcrawl.links import segments
from webcrawl.links.reading import LinkLogs
from webcrawl.storage.sqlite.inspection import read_snapshot
from webcrawl.urls.canonical import canonical
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host, get_origin


def linked(path):
    return {page.page: {link.to for link in page.links} for page in LinkLogs([path]).pages()}


def is_done(path, url):
    """By the books: a line of the log may be of a group that was not yet kept."""
    found = read_snapshot(
        path / "frontier.db",
        lambda settings: get_host(url),
        fingerprint(canonical(url)),
        get_origin(url),
        0.0,
    )
    return found.state is State.DONE


def test_links_of_pages_that_are_done_are_there_after_a_kill_and_all_at_the_end(serve, start, crawl):
    web = serve(hosts=3, pages=50, seed=8)
    settings = {"LINK_LOG_ROLL_BYTES": 1500, "CONCURRENT_REQUESTS": 4, "RETRY_TIMES": 0}
    killed = start(web.seeds, **settings)
    killed.until_logged(25)
    killed.kill()
    done = {line["url"] for line in killed.lines() if is_done(killed.path, line["url"])}
    print(len(done), "done")
    assert len(done) > 5
    assert done <= linked(killed.path).keys()

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
