"""``scrapy segments``: what is wrong is said in a line, and the same words serve a JOBDIR and a Redis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.commands import in_process
from webcrawl.config import Configuration
from webcrawl.control.selection import select_crawl_in
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.features.steering.store import SteeringStore, WorkerState
from webcrawl.storage import technology_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.commands import Command
    from tests.redis_server import RedisServer

DEFAULT = Configuration().politeness_key


@pytest.fixture
def segments(capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process("segments", capsys)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    lines = [{"url": f"http://{host}.test/{n}", "level": n} for host in "ba" for n in range(3)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["take"], "take: is no subcommand of segments; there are export and import"),
        (["export"], "export: takes one argument"),
        (["export", "a", "b"], "export: takes one argument"),
        (["import"], "import: nothing to import"),
        (["import", "x", "--files", "2"], "--files: is for export"),
        (["export", "x", "--files", "2", "--urls", "5"], "--files: excludes --urls"),
        (["export", "x", "--all"], "--all: is no option of this command"),
        (["export", "new"], "which crawl? give -s REDIS_URL"),
        (["import", "mine.jsonl"], "into which crawl?"),
    ],
    ids=" ".join,
)
def test_wrong_words_are_told(segments: Command, words: list[str], says: str) -> None:
    done = segments(*words)
    assert done.status == 2
    assert done.err.startswith(f"scrapy segments: {says}")
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_what_cannot_be_brought_home_is_told(segments: Command, mine: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, says in (
        ([tmp_path / "none"], "none cannot be read: No such file"),
        ([empty], "holds no segments, and is the JOBDIR of no crawl of one"),
    ):
        done = segments("import", *map(str, words), JOBDIR=whole)
        assert (done.status, done.out) == (2, "")
        assert says in done.err
    jobdir = Jobdir(whole)
    jobdir.hold()
    try:
        assert "is in use by process" in segments("import", str(mine), JOBDIR=whole).err
    finally:
        jobdir.leave()


def test_a_crawl_that_runs_is_exported_with_a_warning(segments: Command, mine: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert "new         6 are" in segments("import", str(mine), JOBDIR=whole).said
    jobdir = Jobdir(whole)
    jobdir.hold()
    try:
        done = segments("export", str(tmp_path / "parts"), JOBDIR=whole)
    finally:
        jobdir.leave()
    assert done.status == 0
    assert "is running: URLs that it fetches from now on are in these segments too" in done.err


def test_a_queue_goes_from_a_folder_to_redis_and_back(
    segments: Command, mine: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    shared = {"REDIS_URL": redis_server.url, "FRONTIER_BACKEND": "redis"}
    segments("import", str(mine), JOBDIR=tmp_path / "whole")
    said = segments("export", str(tmp_path / "one"), "--urls", "1", JOBDIR=tmp_path / "whole").said
    assert said.endswith("6 URLs in 2 segments\n")
    assert "new         6 are" in segments("import", str(tmp_path / "one"), **shared).said
    assert "known       6 were" in segments("import", str(tmp_path / "one"), **shared).said
    segments("export", str(tmp_path / "two"), "--files", "2", **shared)
    one, two = (sorted((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_what_is_brought_home_has_the_keys_with_which_the_crawl_was_started(
    segments: Command, mine: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    other = "host" if DEFAULT != "host" else "domain"
    assert segments("import", str(mine), JOBDIR=whole, POLITENESS_KEY=other).status == 0
    assert f"was started with POLITENESS_KEY={other}" in segments("import", str(mine), JOBDIR=whole).err
    crawl = select_crawl_in(whole, technology_in(whole))
    started = WorkerState("w0", 1.0, start={"DEPTH_LIMIT": "0"}, kept={"POLITENESS_KEY": other})
    crawl.change_store(SteeringStore, lambda store, now: store.acknowledge(started))
    assert segments("import", str(mine), JOBDIR=whole).said
    assert segments("export", str(tmp_path / "parts"), JOBDIR=whole).said
    assert segments("import", str(mine), JOBDIR=whole, POLITENESS_KEY=DEFAULT).status == 2
