"""Feeds over the runs of a crawl: going on with it loses no items."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scrapy.settings import Settings

from webcrawl.feeds import going_on, lost_feeds

CASES = json.loads((Path(__file__).parents[1] / "data/feeds_gone_on_with.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["words"]))
def test_the_command_to_go_on_keeps_what_feeds_have(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in case.get("there", ()):
        (tmp_path / name).touch()
    assert going_on(case["words"]) == case["gone_on_with"]


def test_a_feed_that_would_be_written_over_is_named(tmp_path):
    there, empty = tmp_path / "there.json", tmp_path / "empty.jsonl"
    there.write_text("[]")
    empty.touch()
    feeds = {str(path): {"format": path.suffix[1:], "overwrite": True} for path in (there, empty)}
    feeds["s3://bucket/items.jsonl"] = {"format": "jsonl", "overwrite": True}

    (problem,) = lost_feeds(Settings({"FEEDS": feeds}))
    assert str(there) in str(problem)
    assert f"-o {tmp_path / 'there-2.json'} " in str(problem)
    feeds[str(there)]["overwrite"] = False
    assert list(lost_feeds(Settings({"FEEDS": feeds}))) == []
