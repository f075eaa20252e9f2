"""Feeds over the runs of a crawl: going on with it loses no items."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scrapy.settings import Settings

from webcrawl.feeds import going_on, lost_feeds, mend_feeds

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


@pytest.mark.parametrize(
    ("name", "kept", "torn"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": 2}\n', '{"a": "' + "x" * 200_000),
        ("a.jl", "", '{"a": '),
        ("a.jsonl", '{"a": 1}\n', ""),
        ("a.jsonl", "", ""),
        ("a.csv", 'a,b\n1,"two\nlines"\n', '2,"of three\n'),
        ("a.csv", 'a,b\n1,"says ""yes"""\n', "2,"),
        ("a.csv", "a,b\n", ""),
    ],
)
def test_an_item_that_a_killed_crawl_left_incomplete_is_cut_off(name, kept, torn, tmp_path):
    path = tmp_path / name
    path.write_text(kept + torn)
    told = list(mend_feeds(Settings({"FEEDS": {str(path): {"format": path.suffix[1:]}}})))

    assert path.read_text() == kept
    assert [f"{len(torn)} bytes were cut off" in sentence for sentence in told] == [True] * bool(torn)


def test_feeds_that_end_otherwise_are_not_cut(tmp_path):
    others = {
        "a.json": {"format": "json"},
        "a.jsonl.gz": {"format": "jsonl", "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]},
        "b.jsonl": {"format": "jsonl", "overwrite": True},
        "%(time)s.jsonl": {"format": "jsonl"},
        "c.pickle": {"format": "pickle"},
    }
    feeds = {str(tmp_path / name): options for name, options in others.items()}
    for name in others:
        (tmp_path / name).write_text("half")
    feeds |= {str(tmp_path): {"format": "jsonl"}, "s3://bucket/a.jsonl": {"format": "jsonl"}}

    assert list(mend_feeds(Settings({"FEEDS": feeds}))) == []
    assert {(tmp_path / name).read_text() for name in others} == {"half"}
