"""``scrapy report``: one page of all workers' logs, where it is written, and with which status it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.export.logs import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands import Command


@pytest.fixture
def report(command: Callable[..., Command]) -> Command:
    return command("report")


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    made = []
    for worker in ("w1", "w2"):
        folder = tmp_path / worker
        folder.mkdir()
        lines = "".join(f"{json.dumps(line)}\n" for line in log(len(made), 40, worker))
        # The crawl runs: its last line is being written.
        (folder / "fetch.jsonl").write_text(lines + '{"start": 1', "ascii")
        made.append(str(folder))
    return made


def test_the_report_of_a_crawl_is_written_into_its_folder(report: Command, folders: list[str]) -> None:
    for words, settings in (([folders[0]], {}), ([], {"JOBDIR": folders[1]})):
        assert report(*words, **settings).said == ""
    for folder in folders:
        text = (Path(folder) / "report.html").read_text("utf-8")
        assert f"<h1>{Path(folder).name}</h1>" in text
        assert "<dt>requests</dt><dd>40: pages " in text


def test_that_of_several_workers_is_one_page(report: Command, folders: list[str]) -> None:
    done = report(*folders)
    assert (done.status, done.err) == (
        2,
        "scrapy report: -o: is needed for the report of several folders\n",
    )
    assert report(*folders, "-o", "all.html", "--title", "<both>", "--price-per-gb", "1").said == ""
    text = Path("all.html").read_text("utf-8")
    assert "<h1>&lt;both&gt;</h1>" in text
    assert "<dt>requests</dt><dd>80: pages " in text
    assert "GB received at 1" in text
    assert "<!doctype html>" in report(*folders, "-o", "-").said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "nowhere: is no folder"),
        ([], "which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR"),
        (["w1", "--strange"], "--strange: is no option of this command"),
        (["w1", "--price-per-gb", "cheap"], "must be a price, a number from 0 on, not 'cheap'"),
        (["w1", "-o", "missing/report.html"], "No such file or directory"),
    ],
)
def test_what_is_wrong_is_told(report: Command, folders: list[str], words: list[str], told: str) -> None:
    done = report(*words)
    assert (done.status, done.out) == (2, "")
    assert told in done.err


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(report: Command, folders: list[str]) -> None:
    (Path(folders[0]) / "report.html.part").mkdir()
    done = report(folders[0])

    assert done.status == 2
    [line] = done.err.splitlines()
    assert line == (
        f"scrapy report: {folders[0]}/report.html cannot be used: Is a directory; -o FILE writes it elsewhere, "
        "-o - to standard output"
    )
    assert report(folders[0], "-o", "-").status == 0
