"""What a crawl's error logs say, counted."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from webcrawl.control import error_log
from webcrawl.errors import JobdirUnusable

LINES = [
    "2026-03-01T12:00:00+0000 timeout https://a.test/1",
    "2026-03-01T12:00:01+0000 dns https://b.test/ (no such name)",
    "2026-03-01T12:00:02+0000 timeout https://a.test/2 via https://a.test/ (after 60 s)",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with gzip.open(tmp_path / "errors-20260301120000000.log.gz", "wt") as file:
        file.write(f"{LINES[0]}\n")
    (tmp_path / "errors-20260301120001000.log").write_text(f"{LINES[1]}\ncut off\n2026-03-01 no time here\n")
    (tmp_path / "errors.log").write_text(f"{LINES[2]}\n2026-03-01T12:00:03+0000 tim")
    (tmp_path / "errors-old.log").write_text("2026-03-01T11:00:00+0000 tls https://c.test/\n")
    return tmp_path


def test_all_parts_are_counted_and_the_latest_come_first(folder: Path) -> None:
    found = error_log.read(folder)
    assert (found.total, found.since) == (3, 1772366400.0)
    assert found.kinds == {"timeout": 2, "dns": 1}
    assert found.hosts == {"a.test": 2, "b.test": 1}
    assert [(one.error, one.url, one.detail) for one in found.last] == [
        ("timeout", "https://a.test/2", "via https://a.test/ (after 60 s)"),
        ("dns", "https://b.test/", "(no such name)"),
        ("timeout", "https://a.test/1", ""),
    ]


def test_they_are_selected_by_kind_and_text(folder: Path) -> None:
    assert error_log.read(folder, kind="dns").total == 1
    found = error_log.read(folder, search="a.test/2", limit=0)
    assert (found.total, found.last) == (1, [])
    assert error_log.read(folder, search="no such name").last[0].url == "https://b.test/"


def test_tracebacks_are_counted(folder: Path) -> None:
    (folder / "unanticipated.log").write_text(2 * "x\nTraceback (most recent call last):\n  a\nKeyError: 1\n")
    assert error_log.read(folder).unanticipated == 2


def test_a_crawl_without_errors_has_none(tmp_path: Path) -> None:
    assert error_log.read(tmp_path).as_object() == {
        "total": 0,
        "since": None,
        "kinds": {},
        "hosts": {},
        "unanticipated": 0,
        "remedies": {},
        "last": [],
    }


def test_the_hosts_that_are_counted_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_log, "HOSTS_COUNTED", 20)
    lines = [f"2026-03-01T12:00:00+0000 dns https://{number}.test/" for number in range(100)]
    often = ["2026-03-01T12:00:00+0000 dns https://often.test/"] * 5
    (tmp_path / "errors.log").write_text("\n".join([*often, *lines, ""]))
    found = error_log.read(tmp_path)
    assert found.total == 105
    assert len(found.hosts) <= 20
    assert found.hosts.most_common(1) == [("often.test", 5)]


def test_a_log_that_is_no_file_is_an_error_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "errors.log").mkdir()
    with pytest.raises(JobdirUnusable, match=r"errors\.log cannot be read: Is a directory"):
        error_log.read(tmp_path)


def test_a_part_that_is_damaged_is_an_error_in_one_line(folder: Path) -> None:
    part = folder / "errors-20260301120000000.log.gz"
    part.write_bytes(part.read_bytes()[:-12])
    with pytest.raises(JobdirUnusable, match="cannot be read"):
        error_log.read(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_that_may_not_be_read_is_an_error_in_one_line(folder: Path) -> None:
    (folder / "errors.log").chmod(0)
    with pytest.raises(JobdirUnusable, match="cannot be read"):
        error_log.read(folder)
