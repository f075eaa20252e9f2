"""Files of Scrapy's pipelines are whole or not there, whenever the process is killed."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from scrapy.pipelines.files import FilesPipeline, FSFilesStore

from webcrawl.engine.file_stores import WholeFilesStore, write_whole_files


class Killed(BaseException):
    """The end of the process."""


def test_a_file_of_a_killed_process_is_not_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise Killed

    monkeypatch.setattr(Path, "write_bytes", write_half)
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok: None)
    with pytest.raises(Killed):
        WholeFilesStore(tmp_path).persist_file("full/a.png", BytesIO(b"content"), None)
    assert WholeFilesStore(tmp_path).stat_file("full/a.png", None) == {}
    monkeypatch.undo()
    WholeFilesStore(tmp_path).persist_file("full/a.png", BytesIO(b"content"), None)
    assert (tmp_path / "full" / "a.png").read_bytes() == b"content"


def test_a_file_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = WholeFilesStore(f"file://{tmp_path}")
    store.persist_file("a", BytesIO(b"old"), None)

    def fail(path: Path, target: Path) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        store.persist_file("a", BytesIO(b"new"), None)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_names_of_the_longest_length_and_strange_ones_are_written(tmp_path: Path) -> None:
    store = WholeFilesStore(tmp_path)
    for name in ("x" * 255, "\u4e00", "folder/there"):
        store.persist_file(name, BytesIO(name.encode(errors="replace")), None)
        assert store.stat_file(name, None)["checksum"]


def test_pipelines_with_scrapys_store_use_it_and_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(FSFilesStore):
        pass

    monkeypatch.setattr(FilesPipeline, "STORE_SCHEMES", {"": FSFilesStore, "own": Own})
    write_whole_files()
    write_whole_files()
    stores = dict(FilesPipeline.STORE_SCHEMES)
    assert stores == {"": WholeFilesStore, "own": Own}
