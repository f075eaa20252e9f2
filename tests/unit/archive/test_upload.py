"""Closed files go to an object storage: compared, tried again, and never lost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

from tests.unit.archive.groups import GROUPS, archive, archived, group, urls_of
from webcrawl.archive import upload as upload_room
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.upload import Upload, open_remote

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def url() -> Iterator[str]:
    """A folder of a storage in memory."""
    yield "memory://bucket/crawl"
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """An archive of several WARC files."""
    made = archive(tmp_path / "job", index=True, roll_bytes=3000)
    made.open()
    for number in range(GROUPS):
        made.append(group(number))
    made.close()
    return tmp_path / "job"


def files_of(job: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for name in ("warc", "index") for path in (job / name).iterdir()}


def stored() -> dict[str, bytes]:
    files = fsspec.filesystem("memory").store
    return {path.rpartition("/")[2]: bytes(file.getbuffer()) for path, file in files.items()}


class Failing:
    """A storage that fails as often as it is told, in one of its calls."""

    def __init__(self, call: str, times: int, lies: bool = False) -> None:
        self.remote, self.path = open_remote("memory://bucket/crawl")
        self.call, self.times, self.lies = call, times, lies

    def __getattr__(self, name: str) -> Any:
        if name == self.call and self.times > 0:
            self.times -= 1
            raise ConnectionError("the storage is away")
        return getattr(self.remote, name)


def run(job: Path, url: str, *, keep: bool = True, passes: int = 1, remote: Any = None) -> list[float]:
    """Upload, and close after so many passes. The pauses that it made."""
    pauses: list[float] = []

    def wait(ending: threading.Event, seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) >= passes:
            ending.set()

    made = Upload(
        job,
        job / "warc",
        url,
        keep=keep,
        wait=wait,
        remote=open_remote if remote is None else lambda url: (remote, remote.path),
    )
    made.open()
    made._thread.join()
    made.close()
    return pauses


def test_closed_files_and_their_indexes_are_copied_and_stay(job: Path, url: str) -> None:
    before = files_of(job)
    assert run(job, url) == [upload_room.RESCAN_SECONDS]
    assert len(before) > 4
    assert stored() == before == files_of(job)


def test_what_was_compared_is_removed_if_that_is_wanted_and_its_index_stays(job: Path, url: str) -> None:
    before = files_of(job)
    run(job, url, keep=False)
    assert stored() == before
    assert list((job / "warc").iterdir()) == []
    assert {path.name for path in (job / "index").iterdir()} < before.keys()


def test_a_file_that_is_still_written_is_left_alone(job: Path, url: str) -> None:
    path = next((job / "warc").iterdir())
    path.rename(f"{path}.open")
    run(job, url)
    assert path.name not in stored()


@pytest.mark.parametrize("call", ["open", "size", "makedirs"])
def test_a_storage_that_is_away_is_tried_again_after_longer_and_longer_pauses(
    job: Path, url: str, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = files_of(job)
    files = len(list((job / "warc").iterdir()))
    with caplog.at_level(logging.WARNING):
        pauses = run(job, url, keep=False, passes=4, remote=Failing(call, 3 * files))
    assert pauses == [1, 2, 4, upload_room.RESCAN_SECONDS]
    assert stored() == before
    assert "the storage is away" in caplog.text


def test_what_no_try_brings_there_stays_here(job: Path, url: str, caplog: pytest.LogCaptureFixture) -> None:
    before = files_of(job)
    run(job, url, keep=False, passes=2, remote=Failing("open", 10_000))
    assert files_of(job) == before
    assert "the next start of the crawl copies it" in caplog.text
    run(job, url, keep=False)
    assert stored() == before


def test_a_copy_that_is_not_what_was_sent_is_made_again(job: Path, url: str) -> None:
    before = files_of(job)
    remote, path = open_remote(url)
    remote.makedirs(path, exist_ok=True)
    for name, data in before.items():
        with remote.open(f"{path}/{name}", "wb") as file:
            file.write(bytes(len(data)))  # as long, and something else
    run(job, url, keep=False)
    assert stored() == before


def test_an_archive_uploads_while_it_is_kept(tmp_path: Path) -> None:
    target = f"file://{tmp_path}/far"
    made = archive(tmp_path / "job", index=True, roll_bytes=3000, upload=target, upload_keep=False)
    made.open()
    for number in range(GROUPS):
        made.append(group(number))
    made.close()
    (tmp_path / "far/warc").mkdir()
    for path in (tmp_path / "far").glob("*.warc.gz"):
        path.rename(tmp_path / "far/warc" / path.name)
    assert archived(tmp_path / "far") == urls_of(range(GROUPS))
    assert list((tmp_path / "job/warc").iterdir()) == []


def test_a_kind_of_storage_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    made = Upload(tmp_path, tmp_path, "quux://a/b", keep=True)
    with pytest.raises(ArchiveError, match="cannot be copied to quux://a/b"):
        made.open()
