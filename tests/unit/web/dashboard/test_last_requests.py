"""The last requests of several workers together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from webcrawl.crawl.jobdir import folder_of_all
from webcrawl.web.dashboard import last_requests
from webcrawl.web.dashboard.last_requests import last_requests as read

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def log(folder: Path, ends: range) -> Path:
    """A folder with a fetch log of requests that ended at these times."""
    folder.mkdir(parents=True)
    lines = [json.dumps({"end": float(end), "url": f"http://a.test/{end}"}) for end in ends]
    (folder / "fetch.jsonl").write_text("".join(f"{line}\n" for line in lines) + '{"end": 1')
    return folder


def test_the_logs_of_all_workers_are_read_by_their_times(tmp_path: Path) -> None:
    folders = [log(tmp_path / "1", range(0, 20, 2)), log(tmp_path / "2", range(1, 20, 2)), tmp_path / "3"]
    assert [line["end"] for line in read(folders)] == [float(end) for end in reversed(range(20))]
    assert [line["end"] for line in read(folders, b"/7")] == [7.0]
    assert list(read([])) == []


def test_nothing_is_shown_from_before_the_part_that_was_read_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [log(tmp_path / "1", range(100, 1000)), log(tmp_path / "2", range(5))]
    monkeypatch.setattr(last_requests, "TAIL_BYTES", 2000)
    ends = [int(line["end"]) for line in read(folders)]
    assert ends == list(range(999, 999 - len(ends), -1))
    assert 10 < len(ends) < 30


def test_the_folder_of_a_worker_leads_to_that_of_all(tmp_path: Path) -> None:
    worker = log(tmp_path / "job" / "workers" / "1", range(1))
    assert folder_of_all(worker) == tmp_path / "job"
    assert folder_of_all(tmp_path / "job") == tmp_path / "job"
    assert folder_of_all(tmp_path / "workers" / "first") == tmp_path / "workers" / "first"
