"""Archive sinks of an operator, as the documentation shows them, in a crawl."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest

from tests.crawl.crawling import ROOT

FAILING = """
from webcrawl.archive.line_sink import LineFile

class Failing(LineFile):
    name = "failing.txt"

    def lines(self, entry):
        if entry.record.kind == "page":
            raise ValueError("cannot keep " + entry.record.url)
        return [entry.record.url.encode()]
"""


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """The code of the documentation that names a file, as modules on the path."""
    page = (ROOT / "docs/internals/add-an-archive-sink.md").read_text(encoding="utf-8")
    for name, code in re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(code, encoding="utf-8")
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_the_sinks_of_the_documentation_keep_what_they_say(serve, crawl, examples):
    web = serve(hosts=3, pages=12, seed=5)
    done = crawl(
        web.seeds, ARCHIVE_SINKS="titles.Titles,hostbook.HostBook", RETRY_TIMES=0
    ).assert_ended_well()

    lines = [json.loads(line) for line in (done.path / "titles.jsonl").read_text().splitlines()]
    written = {line["page"]: set(line["called"]) for line in lines}
    linked = {
        web.web.url(page): {link.origin + link.path for link in web.web.links(page)}
        for page in web.web.pages()
    }
    assert written == {url: targets for url, targets in linked.items() if targets}
    with closing(sqlite3.connect(done.path / "hosts.db")) as database:
        seen = set(database.execute("SELECT key, ip FROM seen"))
    assert seen == {(line["key"], "127.0.0.1") for line in done.log()}


def test_a_sink_that_fails_ends_the_crawl_and_nothing_of_its_group_is_done(serve, crawl, examples):
    web = serve(hosts=1, pages=3, seed=5)
    done = crawl(web.seeds, ARCHIVE_SINKS="failing.Failing", RETRY_TIMES=0)

    assert done.status == 1
    assert "failing.Failing: ValueError: cannot keep http://" in done.stderr
    assert {line["kind"] for line in done.log()} <= {"robots"}
    assert done.figures().totals["done"] == 0
    again = crawl(of=done, RETRY_TIMES=0)
    assert again.status == 0
    assert again.statuses().keys() == {web.web.url(page) for page in web.web.pages()}


def test_a_wrong_sink_is_reported_before_anything_begins(crawl, tmp_path):
    done = crawl(["http://a.test/"], ARCHIVE_SINKS="webcrawl.items.Page")
    assert done.status == 2
    assert (
        "ARCHIVE_SINKS: must be a list of import paths of archive sinks (webcrawl.items.Page is no class with"
        in done.stderr
    )
    assert not done.path.exists()
