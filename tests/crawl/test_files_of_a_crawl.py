"""docs/reference/files.md names every file that a crawl leaves."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/reference/files.md"


def documented():
    first = re.findall(r"^\| (`.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


def test_every_file_of_a_crawl_is_documented(serve, crawl):
    web = serve(hosts=2, pages=6, seed=3)
    for settings in ({}, {"FRONTIER_SEEN": "bloom", "CRAWL_MODE": "continuous", "CLOSESPIDER_PAGECOUNT": 3}):
        done = crawl(web.seeds, **settings)
        left = {path.name + "/" * path.is_dir() for path in done.path.iterdir()}
        assert {re.sub(r"\d+(?=\.bloom)", "N", name) for name in left} - documented() == set()
        assert {"frontier.db", "fetch.jsonl", "warc/", "report.html", "lock"} <= left
