"""A checkpoint is a whole crawl, as of one moment, whatever the crawl does meanwhile; or it is not there at
all.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from webcrawl.features.checkpoints import checkpoint
from webcrawl.storage.sqlite import copying

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def jobdir(tmp_path: Path) -> Path:
    """A crawl in which every URL that is done has its line in the log."""
    directory = tmp_path / "crawl"
    (directory / "warc").mkdir(parents=True)
    with closing(sqlite3.connect(directory / "frontier.db")) as connection:
        connection.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);"
            "CREATE TABLE done (number INTEGER); CREATE TABLE total (number INTEGER);"
            "INSERT INTO total VALUES (0);"
        )
    (directory / "fetch.jsonl").write_text('{"a":1}\n')
    (directory / "fetch-20260101000000000.jsonl.gz").write_bytes(b"old lines")
    (directory / "warc/closed.warc.gz").write_bytes(b"closed")
    (directory / "warc/open.warc.gz.open").write_bytes(b"open")
    (directory / "progress.jsonl").write_text('{"at":1}\n')
    (directory / "found.jsonl").write_text('{"url":"http://a.test/"}\n')
    (directory / "segment.jsonl.gz").write_bytes(b"a segment")
    (directory / "lock").write_text("process 1\n")
    (directory / "errors.log").write_text("timeout\n")
    return directory


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def ask(database: Path, question: str) -> Any:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(question).fetchone()[0]


def test_state_log_and_archive_are_in_the_copy_and_nothing_else(jobdir: Path, tmp_path: Path) -> None:
    copied = checkpoint.take(jobdir, tmp_path / "copy")
    assert names(tmp_path / "copy") == [
        "fetch-20260101000000000.jsonl.gz",
        "fetch.jsonl",
        "found.jsonl",
        "frontier.db",
        "progress.jsonl",
        "segment.jsonl.gz",
        "warc/closed.warc.gz",
        "warc/open.warc.gz.open",
    ]
    assert copied.names == set(names(tmp_path / "copy"))


def test_files_that_never_change_are_shared_and_those_that_grow_are_not(jobdir: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    copied = checkpoint.take(jobdir, target)
    assert copied.linked == 3
    for name in ("warc/closed.warc.gz", "segment.jsonl.gz", "fetch-20260101000000000.jsonl.gz"):
        assert (target / name).samefile(jobdir / name)
    for name in ("fetch.jsonl", "found.jsonl", "progress.jsonl", "warc/open.warc.gz.open", "frontier.db"):
        assert not (target / name).samefile(jobdir / name)


def test_the_link_log_is_in_the_copy_with_its_indexes(jobdir: Path, tmp_path: Path) -> None:
    stems = ("links/links-20260101000000000", "links/links-20260101000000001")
    (jobdir / "links").mkdir()
    for name in (f"{stems[0]}.jsonl.gz", f"{stems[0]}.idx", f"{stems[1]}.jsonl.gz.open", f"{stems[1]}.idx"):
        (jobdir / name).write_bytes(name.encode())
    copied = checkpoint.take(jobdir, tmp_path / "copy")
    assert copied.names == set(names(tmp_path / "copy"))
    assert {name for name in copied.names if name.startswith("links/")} == {
        str(path.relative_to(jobdir)) for path in (jobdir / "links").iterdir()
    }
    assert (tmp_path / "copy" / f"{stems[0]}.jsonl.gz").samefile(jobdir / f"{stems[0]}.jsonl.gz")
    assert not (tmp_path / "copy" / f"{stems[1]}.idx").samefile(jobdir / f"{stems[1]}.idx")


def test_where_links_are_impossible_files_are_copied(
    jobdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("webcrawl.features.checkpoints.checkpoint.os.link", refuse)
    copied = checkpoint.take(jobdir, tmp_path / "copy")
    assert copied.linked == 0
    assert (tmp_path / "copy/warc/closed.warc.gz").read_bytes() == b"closed"


def test_the_copy_is_of_one_moment_while_the_crawl_commits(jobdir: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    committed = threading.Event()

    def crawl() -> None:
        with closing(sqlite3.connect(jobdir / "frontier.db", isolation_level=None)) as connection:
            while not stop.is_set():
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT INTO done VALUES (?)", [(number,) for number in range(200)])
                connection.execute("UPDATE total SET number = number + 200")
                connection.execute("COMMIT")
                committed.set()

    writer = threading.Thread(target=crawl)
    writer.start()
    try:
        assert committed.wait(10)
        for number in range(5):
            checkpoint.take(jobdir, tmp_path / f"copy-{number}")
    finally:
        stop.set()
        writer.join()
    counts = []
    for number in range(5):
        database = tmp_path / f"copy-{number}/frontier.db"
        counts.append(ask(database, "SELECT count(*) FROM done"))
        assert counts[-1] == ask(database, "SELECT number FROM total")
        assert ask(database, "PRAGMA integrity_check") == "ok"
    assert counts == sorted(counts)
    assert counts[0] > 0


def test_the_archive_is_copied_after_the_state(
    jobdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_database = copying._copy_database

    def slow(*args: Any) -> Path:
        copy = copy_database(*args)
        with (jobdir / "fetch.jsonl").open("a") as log:
            log.write('{"b":2}\n')
        return copy

    monkeypatch.setattr(copying, "_copy_database", slow)
    checkpoint.take(jobdir, tmp_path / "copy")
    assert (tmp_path / "copy/fetch.jsonl").read_text() == '{"a":1}\n{"b":2}\n'


def while_copying(jobdir: Path, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Let ``happens`` come to pass once, right after the first file that grows was copied."""
    copy, left = shutil.copyfile, [happens]

    def copying(source: Path, target: Path) -> None:
        copy(source, target)
        if left:
            left.pop()()

    monkeypatch.setattr("webcrawl.features.checkpoints.checkpoint.shutil.copyfile", copying)


def test_a_log_that_is_rotated_meanwhile_is_in_the_copy_once(
    jobdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rotate() -> None:
        (jobdir / "fetch.jsonl").rename(jobdir / "fetch-20260202000000000.jsonl")
        (jobdir / "fetch.jsonl").write_text('{"c":3}\n')

    while_copying(jobdir, monkeypatch, rotate)
    checkpoint.take(jobdir, tmp_path / "copy")
    assert (tmp_path / "copy/fetch.jsonl").read_text() == '{"c":3}\n'
    assert (tmp_path / "copy/fetch-20260202000000000.jsonl").read_text() == '{"a":1}\n'


def test_a_warc_file_that_is_closed_meanwhile_is_in_the_copy_once(
    jobdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close() -> None:
        (jobdir / "warc/open.warc.gz.open").rename(jobdir / "warc/open.warc.gz")

    while_copying(jobdir, monkeypatch, close)
    checkpoint.take(jobdir, tmp_path / "copy")
    assert [name for name in names(tmp_path / "copy") if "open" in name] == ["warc/open.warc.gz"]


def test_a_part_that_is_being_compressed_is_taken_in_one_form(jobdir: Path, tmp_path: Path) -> None:
    (jobdir / "fetch-20260101000000000.jsonl").write_text("old lines")
    (jobdir / "fetch-20260303000000000.jsonl.gz.part").write_bytes(b"half")
    checkpoint.take(jobdir, tmp_path / "copy")
    assert "fetch-20260101000000000.jsonl" not in names(tmp_path / "copy")
    assert "fetch-20260303000000000.jsonl.gz.part" not in names(tmp_path / "copy")


def name_filter(jobdir: Path, generation: int) -> None:
    with closing(sqlite3.connect(jobdir / "frontier.db")) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('bloom_generation', ?)", (str(generation),))


def test_the_filter_that_the_state_names_is_in_the_copy(jobdir: Path, tmp_path: Path) -> None:
    name_filter(jobdir, 7)
    for generation in (6, 7):
        (jobdir / f"seen-{generation}.bloom").write_bytes(b"%d" % generation)
    checkpoint.take(jobdir, tmp_path / "copy")
    assert [name for name in names(tmp_path / "copy") if "seen" in name] == ["seen-7.bloom"]


def test_a_filter_that_was_replaced_meanwhile_makes_the_state_be_copied_again(
    jobdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_filter(jobdir, 7)
    copy_database, times = copying._copy_database, []

    def replaced_meanwhile(*args: Any) -> Path:
        copy = copy_database(*args)
        times.append(1)
        name_filter(jobdir, 9)
        (jobdir / "seen-9.bloom").write_bytes(b"9")
        return copy

    monkeypatch.setattr(copying, "_copy_database", replaced_meanwhile)
    checkpoint.take(jobdir, tmp_path / "copy")
    assert len(times) == 2
    assert ask(tmp_path / "copy/frontier.db", "SELECT value FROM meta") == "9"


def test_a_filter_that_is_nowhere_is_told(jobdir: Path, tmp_path: Path) -> None:
    name_filter(jobdir, 7)
    with pytest.raises(checkpoint.CheckpointError, match="seen filter"):
        checkpoint.take(jobdir, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl"]


def test_a_copy_that_fails_leaves_nothing_that_could_be_taken_for_one(
    jobdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("webcrawl.features.checkpoints.checkpoint.shutil.copyfile", full)
    with pytest.raises(checkpoint.CheckpointError, match="No space left"):
        checkpoint.take(jobdir, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl"]


def test_a_destination_in_use_is_refused_and_an_empty_one_is_not(jobdir: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    checkpoint.take(jobdir, tmp_path / "empty")
    for taken in (tmp_path / "empty", jobdir / "lock"):
        with pytest.raises(checkpoint.CheckpointError, match="exists already"):
            checkpoint.take(jobdir, taken)


def test_what_is_left_of_an_earlier_try_is_not_written_over(jobdir: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.part").mkdir()
    with pytest.raises(checkpoint.CheckpointError, match="incomplete checkpoint"):
        checkpoint.take(jobdir, tmp_path / "copy")


def test_a_folder_without_a_frontier_is_no_crawl(tmp_path: Path) -> None:
    with pytest.raises(checkpoint.CheckpointError, match=r"has no frontier\.db"):
        checkpoint.take(tmp_path, tmp_path / "copy")


def test_a_database_that_is_none_is_told_in_one_line(jobdir: Path, tmp_path: Path) -> None:
    (jobdir / "frontier.db").write_bytes(b"no database" * 100)
    with pytest.raises(checkpoint.CheckpointError) as caught:
        checkpoint.take(jobdir, tmp_path / "copy")
    assert "\n" not in str(caught.value)


def test_progress_ends_with_everything(jobdir: Path, tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    checkpoint.take(jobdir, tmp_path / "copy", lambda done, total: progress.append((done, total)))
    assert progress
    assert progress[-1][0] == progress[-1][1] > 0
