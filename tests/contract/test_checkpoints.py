"""A checkpoint is a copy as of one moment, and itself a crawl that opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import NOW, entry, found, pages, settled, urls
from webcrawl.storage import technology_named
from webcrawl.storage.sqlite.frontier import SqliteBackend

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.driven import DrivenSqlite


def opened_copy(backend: DrivenSqlite, directory: Path) -> SqliteBackend:
    copy = SqliteBackend(directory, backend._options, {"POLITENESS_KEY": "host"})
    backend.run(copy.open(NOW))
    return copy


def take(backend: DrivenSqlite, directory: Path) -> Path:
    directory.mkdir()
    technology_named("sqlite").copy_state(backend.directory, directory)
    return directory


def test_a_checkpoint_opens_and_holds_all_that_was_committed(sqlite: DrivenSqlite, tmp_path: Path) -> None:
    known = pages("a", 100)
    sqlite.commit(found(*known))
    sqlite.activate_one()
    sqlite.commit(settled(known[0]))
    copy = opened_copy(sqlite, take(sqlite, tmp_path / "copy"))
    counts = sqlite.run(copy.read_counts())
    assert (counts.queued, counts.done) == (99, 1)
    [active] = sqlite.run(copy.activate_keys(10, NOW, sqlite.sampler))
    assert urls(active.queue.entries) == urls(known[1:17])
    assert sqlite.run(copy.commit(found(*pages("a", 100)))).queued == []
    sqlite.run(copy.close())


def test_what_comes_after_a_checkpoint_is_not_in_it(sqlite: DrivenSqlite, tmp_path: Path) -> None:
    sqlite.commit(found(*pages("a", 3)))
    directory = take(sqlite, tmp_path / "copy")
    sqlite.commit(found(*pages("b", 3)))
    copy = opened_copy(sqlite, directory)
    assert sqlite.run(copy.read_counts()).queued == 3
    assert len(sqlite.run(copy.commit(found(*pages("b", 3)))).queued) == 3
    sqlite.run(copy.close())


def test_a_checkpoint_is_two_files_at_most_and_needs_no_log(sqlite: DrivenSqlite, tmp_path: Path) -> None:
    sqlite.commit(found(*pages("a", 3)))
    sqlite.reopen()  # a filter is written when the crawl ends
    names = {path.suffix for path in take(sqlite, tmp_path / "copy").iterdir()}
    assert names == ({".db"} if sqlite.exact else {".db", ".bloom"})


def test_the_crawl_goes_on_after_a_checkpoint_and_survives_a_crash(
    sqlite: DrivenSqlite, tmp_path: Path
) -> None:
    sqlite.commit(found(*pages("a", 3)))
    take(sqlite, tmp_path / "one")
    sqlite.commit(found(*pages("b", 3)))
    take(sqlite, tmp_path / "two")
    sqlite.commit(found(*pages("c", 3)))
    sqlite.crash()
    assert sqlite.commit(found(*pages("a", 3), *pages("b", 3), *pages("c", 3))).queued == []


def test_after_a_failed_commit_a_checkpoint_does_not_know_what_was_not_committed(
    sqlite: DrivenSqlite, tmp_path: Path
) -> None:
    sqlite.commit(found(*pages("a", 1)))
    sqlite.connection.execute("PRAGMA max_page_count = 1")
    lost = [entry(f"http://b/{'x' * 100}{number}") for number in range(1000)]
    with pytest.raises(Exception, match="full"):
        sqlite.commit(found(*lost))
    sqlite.connection.execute("PRAGMA max_page_count = 1000000")
    copy = opened_copy(sqlite, take(sqlite, tmp_path / "copy"))
    assert len(sqlite.run(copy.commit(found(*lost))).queued) == 1000
    sqlite.run(copy.close())
