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
    assert going_on(case["words"], Settings()) == case["gone_on_with"]


@pytest.mark.parametrize("given", [["-s", "FEEDS={}"], ["--set=FEEDS={}"], ["-sFEEDS={}"], []])
def test_feeds_of_the_settings_are_continued_too(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    feeds = {
        "a.jsonl": {"format": "jsonl", "overwrite": True, "fields": ["url"]},
        "b.json": {"format": "json", "overwrite": True},
        "c.csv": {"format": "csv"},
    }
    *words, option, setting = going_on(["shop", *given, "-s", "JOBDIR=x"], Settings({"FEEDS": feeds}))
    assert (words, option) == (["shop", "-s", "JOBDIR=x"], "-s")
    name, _, value = setting.partition("=")
    assert (name, json.loads(value)) == (
        "FEEDS",
        {
            "a.jsonl": {"format": "jsonl", "overwrite": False, "fields": ["url"]},
            "b-2.json": {"format": "json", "overwrite": False},
            "c.csv": {"format": "csv"},
        },
    )


def test_feeds_that_lose_nothing_or_are_no_json_stay_as_they_are(tmp_path):
    words = ["shop", "-s", "JOBDIR=x"]
    for options in ({"format": "csv"}, {"format": "csv", "overwrite": True, "item_classes": [dict]}):
        assert going_on(words, Settings({"FEEDS": {"a.csv": options}})) == words


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
