"""A crawl in parts: what is queued goes out as segments, and when all are home nothing is lost and nothing twice."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.commands import in_process
from tests.crawl import expectation
from tests.crawl.crawling import AT_ONCE, Jobdir
from tests.fakeweb import witness

if TYPE_CHECKING:
    from pathlib import Path

    from tests.commands import Command

PAGES = 70


@pytest.fixture
def segments(capsys) -> Command:
    return in_process("segments", capsys, **AT_ONCE)


def told(path: Path) -> list[dict]:
    _, *lines = gzip.decompress(path.read_bytes()).splitlines()
    return [json.loads(line) for line in lines]


def test_a_crawl_in_parts_asks_for_each_page_once_and_loses_none(
    serve, start, crawl, segments, tmp_path
) -> None:
    web = serve(hosts=8, pages=PAGES, zipf=0.3, seed=21)
    mother = crawl(web.seeds, CLOSESPIDER_PAGECOUNT=12).assert_ended_well()
    before = mother.assert_sound()
    assert before.queued > 8

    folder = tmp_path / "parts"
    said = segments("export", str(folder), "--files", "2", JOBDIR=mother.path).said
    assert f"{before.queued} URLs in 2 segments" in said
    files = sorted(folder.iterdir())
    assert [path.name for path in files] == ["segment-00001.jsonl.gz", "segment-00002.jsonl.gz"]
    assert not {line["key"] for line in told(files[0])} & {line["key"] for line in told(files[1])}
    assert sum(len(told(path)) for path in files) == before.queued

    whole = start(arguments={"segment": str(files[0])}).wait().assert_ended_well()
    part = (
        start(arguments={"segment": str(files[1])}, CLOSESPIDER_PAGECOUNT=3, CONCURRENT_REQUESTS=1)
        .wait()
        .assert_ended_well()
    )
    assert set(whole.fetched()) == {line["url"] for line in told(files[0])}
    left = part.assert_sound().queued
    assert left

    said = segments("import", str(whole.path), str(part.path), JOBDIR=mother.path).said
    after = mother.assert_sound()
    assert f"left        {left} of the segments" in said
    assert after.totals["done"] == before.totals["done"] + len(whole.fetched()) + len(part.fetched())
    again = segments("import", str(whole.path), str(part.path), JOBDIR=mother.path).said
    assert again.startswith("settled     0 ")
    assert mother.assert_sound() == after

    crawl(of=mother).assert_ended_well()
    assert Counter(expectation.asked(web)) == dict.fromkeys(web.web.urls(), 1)
    assert witness.pages_before_robots(web.hits()) == []
    assert Jobdir(mother.path).assert_sound().states == {1: PAGES}


@pytest.mark.soak
def test_rounds_of_parts_that_are_killed_bring_a_whole_web_home(serve, start, segments, tmp_path) -> None:
    seed = random.randrange(1 << 20)
    print("seed:", seed)
    draw = random.Random(seed)
    web = serve(hosts=20, pages=400, zipf=0.5, seed=seed)
    whole, seeds = Jobdir(tmp_path / "whole"), tmp_path / "seeds.jsonl"
    seeds.write_text("".join(json.dumps({"url": url}) + "\n" for url in web.seeds))
    assert "new         " in segments("import", str(seeds), JOBDIR=whole.path).said
    rounds = kills = 0
    while whole.assert_sound().queued:
        rounds += 1
        folder = tmp_path / f"round{rounds}"
        assert "segment" in segments("export", str(folder), "--files", "3", JOBDIR=whole.path).said
        parts = []
        for path in sorted(folder.iterdir()):
            part = start(arguments={"segment": str(path)})
            if draw.random() < 0.5:
                part.until(lambda part=part: (part.path / "frontier.db").exists())
                time.sleep(draw.uniform(0.0, 0.5))  # the moment of the kill is what this test draws
                kills += part.process.poll() is None
                part.kill()
                # By the copy in its JOBDIR it knows what it is, if it came so far.
                known = (part.path / "segment.jsonl.gz").exists()
                part = start(of=part, arguments={} if known else {"segment": str(path)})
            parts.append(part.wait().assert_ended_well().path)
        assert "settled" in segments("import", *map(str, parts), JOBDIR=whole.path).said
    print(f"{rounds} rounds, {kills} kills")
    asked = Counter(expectation.asked(web))
    assert set(asked) == set(web.web.urls())
    assert sum(asked.values()) - len(asked) <= kills * 16  # what was in flight
    assert whole.figures().states == {1: len(asked)}
