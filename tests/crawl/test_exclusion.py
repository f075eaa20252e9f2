"""``scrapy exclude`` while a crawl of one process runs, and a page of the site is just on its way."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from tests.commands import in_process
from tests.fakeweb import Placement

SLOW, SECONDS = "h0001.localhost", 3
"""Its front page takes so long that the command comes in between."""


@pytest.fixture(scope="module")
def web(serve):
    slow = Placement("slow-body", hosts=(SLOW,), paths=("/",), options={"seconds": SECONDS})
    return serve(hosts=3, pages=40, zipf=0.1, same_host=0.8, placements=(slow,))


def test_what_is_on_its_way_comes_and_leads_nowhere(web, start, folder, monkeypatch, capsys):
    file = folder / "exclusions.txt"
    file.write_text("# nobody yet\n")
    settings = {"EXCLUSION_FILE": file, "EXCLUSION_CHECK_SECONDS": 900, "POLITENESS_MIN_DELAY": 0.3}
    crawled = start([*web.seeds, f"http://{SLOW}:{web.port}/"], **settings)
    crawled.until(lambda: any(SLOW in line["url"] for line in crawled.lines("robots")))
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    said = in_process("exclude", capsys)(SLOW, EXCLUSION_FILE=file, JOBDIR=crawled.path).said
    crawled.wait().assert_ended_well()

    [told] = re.findall(r"^In force since (\S+), version \w{16}: ", said, re.MULTILINE)
    stated = datetime.fromisoformat(told).timestamp()
    assert re.search(r"^  queued  \d+ URLs? on 1 host$", said, re.MULTILINE)
    [page] = [line for line in crawled.lines() if SLOW in line["url"]]
    assert page["start"] < stated < page["end"]
    hits = [hit for hit in web.hits() if hit.host == SLOW]
    assert [hit.path for hit in hits] == ["/robots.txt", "/"]
    assert crawled.assert_sound().queued == 0
