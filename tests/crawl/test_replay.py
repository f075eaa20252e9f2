"""pywb replays a crawl that runs and one that has ended, byte for byte. It wants an environment of its own: put its
``wayback`` on the PATH (``python -m venv V; V/bin/pip install pywb setuptools; PATH=$PATH:$PWD/V/bin``).
"""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from socket import create_connection, socket
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.fakeweb import Placement
from tests.unit.archive.groups import archive
from tests.unit.archive.samples import NOW, capture, entry, record
from webcrawl.archive.capture import ArchiveEntry, Revisit
from webcrawl.archive.cdxj import SECONDS_MAX

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(shutil.which("wayback") is None, reason="pywb is not installed"),
]


@contextmanager
def replaying(job, folder):
    """Serves a crawl; gives what asks it for a URL: status and body."""
    folder.mkdir()
    paths = f"    index_paths: {job}/index/\n    archive_paths: {job}/warc/\n"
    (folder / "config.yaml").write_text(f"collections:\n  crawl:\n{paths}")
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["wayback", "-b", "127.0.0.1", "-p", str(port), "-d", str(folder)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.1)

        def ask(url, at=""):
            try:
                with urlopen(f"http://127.0.0.1:{port}/crawl/{at}id_/{url}", timeout=30) as answer:
                    return answer.status, answer.read()
            except HTTPError as error:
                return error.code, b""

        yield ask
    finally:
        process.terminate()
        process.wait(120)


def test_every_page_is_replayed_while_the_crawl_runs_and_after_it(serve, start, tmp_path):
    web = serve(hosts=6, pages=240, seed=3, placements=(Placement("gzip", share=0.2),))
    crawl = start(web.seeds, RETRY_TIMES=0, POLITENESS_MIN_DELAY=0.5)
    crawl.until(lambda: (crawl.path / "index").exists())
    pages = {web.web.url(page): web.web.html(page)[1] for page in web.web.pages()}

    def kept():
        return [line for line in crawl.lines() if line.get("status") == 200]

    with replaying(crawl.path, tmp_path / "pywb") as ask:
        crawl.until(lambda: kept() and kept()[-1]["end"] - kept()[0]["end"] > 1.5 * SECONDS_MAX)
        now = time.time()
        old = [line["url"] for line in kept() if line["end"] < now - SECONDS_MAX - 3]
        assert len(old) > 10
        assert crawl.process.poll() is None
        assert {url: ask(url) for url in old} == {url: (200, pages[url]) for url in old}
        crawl.wait(120).assert_ended_well()
        every = [line["url"] for line in kept()]
        assert {url: ask(url) for url in every} == {url: (200, pages[url]) for url in every}


SAME = capture(url="http://example.test/again", started_at=NOW + 50, payload=b"<p>the same</p>")
NOT_MODIFIED = capture(
    url="http://example.test/0",
    started_at=NOW + 50,
    response_head=b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n',
    payload=b"",
)


@pytest.mark.parametrize(
    ("again", "profile"), [(SAME, "identical-payload-digest"), (NOT_MODIFIED, "server-not-modified")]
)
def test_a_revisit_is_replayed_with_the_payload_that_it_refers_to(tmp_path, again, profile):
    original = entry(0, b"<p>the same</p>")
    revisit = Revisit(profile, "http://example.test/0", NOW)
    made = archive(tmp_path / "job", index=True)
    made.open()
    made.append([original, ArchiveEntry(record(url=again.url, start=NOW + 50), again, revisit)])
    made.close()
    with replaying(tmp_path / "job", tmp_path / "pywb") as ask:
        assert ask(again.url) == (200, b"<p>the same</p>")
        # That which is asked for is the revisit: it is the later one.
        at = f"{datetime.fromtimestamp(NOW + 50, UTC):%Y%m%d%H%M%S}"
        assert ask(again.url, at) == (200, b"<p>the same</p>")


def test_a_page_of_other_software_is_replayed(tmp_path):
    cached = capture(
        request_head=b"",
        response_head=b"",
        payload=b"<p>from a cache</p>",
        resource_type="text/html; charset=utf-8",
        source="cache",
    )
    made = archive(tmp_path / "job", index=True)
    made.open()
    made.append([ArchiveEntry(record(url=cached.url), cached)])
    made.close()
    with replaying(tmp_path / "job", tmp_path / "pywb") as ask:
        assert ask(cached.url) == (200, b"<p>from a cache</p>")


def test_all_that_pages_embed_is_replayed(serve, crawl, tmp_path):
    web = serve(kind="gallery")
    done = crawl(web.seeds, arguments={"domains": web.site.origin("pages")}, ARCHIVE_COMPLETE_PAGES=True)
    done.assert_ended_well()
    with replaying(done.path, tmp_path / "pywb") as ask:
        for url in (*web.site.pages, *web.site.embeds()):
            if not url.endswith("/moved.svg"):  # a redirect, to where the image was
                assert ask(url) == (200, web.site.body(url)), url
