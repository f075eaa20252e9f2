"""Crawls that go on: pages are visited again, with conditions, politely, and through kills and stops."""

from __future__ import annotations

import itertools
import json
import signal
import sqlite3
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.commands import own_process
from tests.crawl.crawling import start
from webcrawl.archive.records import warc_date
from webcrawl.urls.canonical import canonical
from webcrawl.urls.fingerprint import fingerprint

ITEMS = {"FEEDS": json.dumps({"items.jsonl": {"format": "jsonlines"}})}
OFTEN = {"REVISIT_POLICY": "fixed", "REVISIT_INTERVAL_SECONDS": 1, "REVISIT_INTERVAL_MIN_SECONDS": 0}


class Site:
    """A site whose pages change, vanish and know conditions; and what it was asked for, and how."""

    def __init__(self):
        self.asked = []
        self.crawler_killed_at = 0.0
        self._counts = {}
        self._lock = Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1  # an answer in one packet

            def do_GET(self):
                began = time.time()
                with site._lock:
                    visit = site._counts[self.path] = site._counts.get(self.path, 0) + 1
                condition = self.headers.get("If-None-Match"), self.headers.get("If-Modified-Since")
                status, fields, body = site.answer(self.path, visit, condition)
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", **fields}.items():
                    self.send_header(name, value)
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                # Before anything is sent: the client's clock starts later than this.
                site.asked.append((began, time.time(), self.path, status, condition))
                self.wfile.write(b"" if status == 304 else body)

            def log_message(self, *words):
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, path, visit, condition):
        fields, text = {}, f"<title>{path}</title>{path}"
        if path == "/robots.txt":
            return 404, {}, b""
        if path == "/":
            names = ("same", "tagged", "dated", "changing", "gone", "moved")
            text = "".join(f"<a href='/{name}'>{name}</a>" for name in names)
        elif path == "/tagged":
            # A new version with each third visit.
            fields["ETag"] = f'W/"{visit // 3}"'
            text += f" {visit // 3}"
        elif path == "/dated":
            fields["Last-Modified"] = "Sat, 21 Nov 2020 08:00:00 GMT"
        elif path == "/changing":
            text += f" {visit}"
        elif visit > 1 and path == "/gone":
            return 410, {}, b""
        elif visit > 1 and path == "/moved":
            return 301, {"Location": "/same"}, b""
        if condition != (None, None) and condition == (fields.get("ETag"), fields.get("Last-Modified")):
            return 304, fields, b""
        return 200, fields, text.encode()

    def __enter__(self):
        Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()

    def of(self, path):
        """Status and conditions of each request for ``path``."""
        return [(status, condition) for _, _, asked, status, condition in self.asked if asked == path]


def changes(crawl, site, path):
    """What the log says of each visit of ``path``: status, whether it is a revisit, whether it had changed."""
    lines = [line for line in crawl.lines() if line["url"] == site.url + path]
    return [(line["status"], line.get("revisit"), line.get("changed")) for line in lines]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A crawl that was killed, went on, and was asked to stop."""
    folder = tmp_path_factory.mktemp("revisits")
    with Site() as site:

        def go_on():
            return start(folder, [site.url + "/"], arguments={"mode": "continuous"}, **OFTEN, **ITEMS)

        first = go_on()
        names = ("same", "tagged", "dated", "changing", "gone", "moved")
        first.until(lambda: all(len(site.of(f"/{name}")) >= 2 for name in names))
        first.kill()
        site.crawler_killed_at = time.time()
        before = len(site.of("/tagged"))
        second = go_on()
        second.until(lambda: len(site.of("/tagged")) >= before + 4)
        second.signal(signal.SIGTERM)
        yield site, second.wait(), before


def test_it_goes_on_where_it_was_killed_and_ends_well_when_it_is_asked_to(crawled):
    site, crawl, before = crawled
    crawl.assert_ended_well()
    assert before >= 2
    history = crawl.remembered()[f"{site.url}/same"].history
    # What the killed one had visited is remembered: at most what was on its way was asked for once more.
    assert len(site.of("/same")) - 1 <= json.loads(history)[2] <= len(site.of("/same"))
    assert "Going on with the crawl" in crawl.stderr


def test_what_was_sent_is_sent_back_and_304_is_a_visit_without_a_change(crawled):
    site, crawl, _ = crawled
    versions = [f'W/"{visit // 3}"' for visit in range(1, len(site.of("/tagged")) + 1)]
    asked = site.of("/tagged")
    assert asked[0] == (200, (None, None))
    began = [began for began, _, path, _, _ in site.asked if path == "/tagged"]
    for visit, (status, (tag, _)) in enumerate(asked[1:], start=1):
        known = {versions[visit - 1]}
        if began[visit - 1] < site.crawler_killed_at < began[visit]:
            # What was on its way then is perhaps forgotten.
            known.add(versions[visit - 2])
        assert tag in known
        assert status == (304 if versions[visit] == tag else 200)
    assert {condition for _, condition in site.of("/dated")[1:]} == {(None, "Sat, 21 Nov 2020 08:00:00 GMT")}
    assert {status for status, _ in site.of("/dated")[1:]} == {304}
    for status, again, changed in changes(crawl, site, "/tagged")[1:]:
        assert (again, changed) == (True, status == 200)


def test_without_validators_the_content_decides(crawled):
    site, crawl, _ = crawled
    assert {condition for _, condition in site.of("/changing")} == {(None, None)}
    assert set(changes(crawl, site, "/changing")[1:]) == {(200, True, True)}
    assert set(changes(crawl, site, "/same")[1:]) == {(200, True, False)}


def test_a_revisit_says_since_when_what_was_to_be_expected_and_when_the_page_was_modified(crawled):
    site, crawl, _ = crawled
    lines = [line for line in crawl.lines() if line["url"] == f"{site.url}/dated"]
    for number, line in enumerate(lines[1:], start=1):
        known = [lines[number - 1]["start"]]
        if known[0] < site.crawler_killed_at < line["start"]:
            # Its line was written, its visit perhaps not.
            known.append(lines[number - 2]["start"])
        assert min(abs(line["since"] - at) for at in known) <= 0.002
        assert 0.99 < line["expected"]["unchanged"] <= 1
        assert 0 <= line["expected"]["age"] < 1
        assert line["modified"] == pytest.approx(1_605_945_600, abs=2)
    assert not {"since", "expected"} & lines[0].keys()
    assert '<h2 id="freshness">' in (crawl.path / "report.html").read_text()


def test_what_is_gone_or_elsewhere_is_asked_for_later_and_what_a_redirect_leads_to_is_no_news(crawled):
    site, crawl, _ = crawled
    for path, status in (("/gone", 410), ("/moved", 301)):
        statuses = [status for status, _ in site.of(path)]
        # What was on its way when the crawl was killed is asked for twice.
        assert statuses in ([200, status], [200, status, status])
    assert [line.get("via") for line in crawl.lines() if line["url"] == f"{site.url}/same"] == [
        f"{site.url}/"
    ] * len(site.of("/same"))
    gone = {url for url, page in crawl.remembered().items() if page.gone}
    assert gone == {f"{site.url}/gone", f"{site.url}/moved"}


def test_the_stored_status_of_a_page_is_that_of_its_last_visit(crawled):
    site, crawl, _ = crawled
    with closing(sqlite3.connect(crawl.path / "frontier.db")) as connection:
        stored = dict(connection.execute("SELECT fingerprint, status FROM seen WHERE state = 1"))
    last = {line["url"]: line["status"] for line in crawl.lines() if line["kind"] == "page"}
    assert {url: stored[fingerprint(canonical(url))] for url in last} == last
    statuses = {last[f"{site.url}/{name}"] for name in ("same", "dated", "gone", "moved")}
    assert statuses == {200, 304, 410, 301}


def test_no_pipeline_and_no_feed_hears_of_a_304(crawled):
    site, crawl, _ = crawled
    items = [json.loads(line) for line in (crawl.path.parent / "items.jsonl").read_text().splitlines()]
    assert {item["status"] for item in items} == {200}
    fetched = sum(status == 200 for status, _ in site.of("/dated"))
    assert sum(item["url"] == f"{site.url}/dated" for item in items) <= fetched


def test_a_304_is_a_revisit_record_that_names_what_it_confirms(crawled):
    site, crawl, _ = crawled
    found, captured = [], {}
    for path in crawl.warcs():
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                url, date = (record.rec_headers.get_header(f"WARC-{name}") for name in ("Target-URI", "Date"))
                if record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                    captured.setdefault(url, set()).add(date)
                if record.rec_type == "revisit" and record.http_headers.get_statuscode() == "304":
                    found.append(record.rec_headers)
    logged = [(line["url"], warc_date(line["start"])) for line in crawl.lines() if line["status"] == 304]
    kept = [(each.get_header("WARC-Target-URI"), each.get_header("WARC-Date")) for each in found]
    assert set(logged) <= set(kept)
    assert len(set(kept)) == len(kept)
    # The kill may have come between a record and its line: that of the request that was the last then.
    killed = sorted((date, url) for url, date in kept if date < warc_date(site.crawler_killed_at))
    assert [(date, url) for url, date in kept if (url, date) not in logged] in ([], killed[-1:])
    assert found
    for headers in found:
        assert headers.get_header("WARC-Profile").endswith("/server-not-modified")
        target = headers.get_header("WARC-Refers-To-Target-URI")
        assert target == headers.get_header("WARC-Target-URI")
        assert headers.get_header("WARC-Refers-To-Date") in captured[target]


def test_the_site_is_asked_one_thing_at_a_time(crawled):
    site, _, _ = crawled
    spans = sorted((began, ended) for began, ended, *_ in site.asked)
    assert all(ended <= began for (_, ended), (began, _) in itertools.pairwise(spans))


def test_the_archive_is_whole(crawled):
    _, crawl, _ = crawled
    checked = own_process(crawl.path.parent, "archive", "check", crawl.path)
    assert checked.status == 0, checked


class EndlessSite(Site):
    """Each page leads to three that nobody saw before."""

    def answer(self, path, visit, condition):
        if path == "/robots.txt":
            return 404, {}, b""
        number = int(path.strip("/n") or 0)
        links = "".join(f"<a href='/n{3 * number + part}'>{part}</a>" for part in (1, 2, 3))
        return 200, {}, f"<title>{number}</title>{links}".encode()


def test_pages_that_are_due_have_their_share_of_a_host_with_new_urls_and_the_same_clock(tmp_path):
    with EndlessSite() as site:
        delay = {"POLITENESS_MODEL": "fixed", "POLITENESS_MIN_DELAY": 0.01, "POLITENESS_MAX_DELAY": 0.01}
        crawl = start(
            tmp_path, [site.url + "/"], CRAWL_MODE="continuous", REVISIT_SHARE=0.25, **OFTEN, **delay
        )
        crawl.until(lambda: len(site.asked) >= 350)
        crawl.signal(signal.SIGTERM)
        crawl.wait().assert_ended_well()
    pages = [path for _, _, path, _, _ in sorted(site.asked) if path != "/robots.txt"]
    seen, again = set(), []
    for path in pages:
        again.append(path in seen)
        seen.add(path)
    # From the moment on when the first pages are due.
    begun = again.index(True)
    assert sum(again[begun:]) / len(again[begun:]) == pytest.approx(0.25, abs=0.05)
    # They are not fetched in blocks: new pages go on between them. How long a single block becomes depends on how
    # often the feeder runs meanwhile (test_due_pages.py has its limit), so the mean is compared.
    blocks = [len(list(group)) for is_again, group in itertools.groupby(again[begun:]) if is_again]
    assert sum(blocks) / len(blocks) <= 16
    gaps = [
        began - ended for (_, ended), (began, _) in itertools.pairwise(sorted(one[:2] for one in site.asked))
    ]
    assert min(gaps) >= 0.009


def test_several_workers_share_the_visits_and_one_that_is_killed_costs_none(tmp_path, redis_server):
    with Site() as site:
        shared = {**OFTEN, "REDIS_URL": redis_server.url, "LEASE_SECONDS": 2, "REVISIT_INTERVAL_SECONDS": 2}

        def worker(name):
            arguments = {"mode": "continuous"}
            folder = tmp_path / name
            return start(folder, [site.url + "/"], arguments=arguments, **{**shared, "WORKER_NAME": name})

        workers = [worker("a"), worker("b")]
        workers[0].until(lambda: len(site.of("/same")) >= 2)
        # Whoever has the site is killed; the other goes on with what both know.
        lines = [len(one.lines()) for one in workers]
        victim = workers.pop(lines.index(max(lines))).kill()
        killed_at, before = time.time(), len(site.of("/same"))
        workers[0].until(lambda: len(site.of("/same")) >= before + 2)
        workers[0].signal(signal.SIGTERM)
        workers[0].wait().assert_ended_well()
    lines = [line for one in (victim, workers[0]) for line in one.lines()]
    for path in ("/same", "/changing", "/tagged", "/dated"):
        times = [began for began, _, asked, _, _ in sorted(site.asked) if asked == path]
        apart = [
            later - earlier
            for earlier, later in itertools.pairwise(times)
            if not earlier <= killed_at <= later
        ]
        assert min(apart, default=2.0) >= 1.9, "one page is taken by one worker"
    assert {line.get("revisit") for line in lines if line["url"] == f"{site.url}/same"} == {None, True}
    first = [line for line in lines if line["url"] == f"{site.url}/dated" and not line.get("revisit")]
    assert len(first) == 1


class NewsSite(Site):
    """Articles with a footer that is another one at each visit; one of them is rewritten with each third."""

    def answer(self, path, visit, condition):
        if path == "/robots.txt":
            return 404, {}, b""
        links = "".join(f"<li><a href='/{name}'>{name}</a></li>" for name in ("kept", "rewritten"))
        text = "The river has risen by two metres since the morning, and the lower bridge is closed. " * 5
        edition = f"<p>This is edition {visit // 3} of the report.</p>" if path == "/rewritten" else ""
        page = f"<nav><ul>{links}</ul></nav><article><h1>{path}</h1><p>{text}</p>{edition}</article>"
        return 200, {}, f"<html><body>{page}<footer>Visitor number {visit}</footer></body></html>".encode()


def test_by_main_text_another_footer_is_no_change(tmp_path):
    with NewsSite() as site:
        crawl = start(tmp_path, [site.url + "/"], CRAWL_MODE="continuous", REVISIT_CHANGE="text", **OFTEN)
        crawl.until(lambda: all(len(site.of(path)) >= 5 for path in ("/kept", "/rewritten")))
        crawl.signal(signal.SIGTERM)
        crawl.wait().assert_ended_well()
    kept, rewritten = (changes(crawl, site, path) for path in ("/kept", "/rewritten"))
    assert [changed for *_, changed in kept[1:]] == [False] * (len(kept) - 1)
    assert [changed for *_, changed in rewritten[1:]] == [
        visit % 3 == 0 for visit in range(2, len(rewritten) + 1)
    ]
