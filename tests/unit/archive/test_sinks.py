"""Sinks behind WARC files and fetch log: all or nothing, in the order of the setting."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from tests.rows import each_row
from tests.unit.archive.groups import archive, archived, group, logged, urls_of
from tests.unit.archive.samples import INFO, capture, record
from webcrawl.archive.capture import ArchiveEntry, Revisit
from webcrawl.archive.disk import ArchiveError, DiskFull
from webcrawl.archive.line_sink import LineFile
from webcrawl.archive.listed_links import SpooledLinks
from webcrawl.archive.process import RemoteArchive, entry_payload, entry_to_row, row_to_entry
from webcrawl.archive.sinks import OPERATIONS, ArchiveSink, Guarded, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HERE = __name__
LINKS = (("http://b.test/", "a", "Größe \ud800", "nofollow"), ("http://c.test/", "img", "", ""))


class Told(ArchiveSink):
    """Remembers what it was told, and fails where ``settings`` say so."""

    settings = ("FAILS", "WITH")
    calls: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def __init__(self, directory: Path, *, worker: str, settings: Any) -> None:
        self.given = (directory, worker, settings)

    def _called(self, name: str) -> None:
        self.calls = (*self.calls, name)
        if self.given[2].get("FAILS") == name:
            raise self.given[2]["WITH"]

    def open(self) -> Sequence[str]:
        self._called("open")
        return ["told.txt: mended."]

    def roll_if_full(self) -> None:
        self._called("roll_if_full")

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        self._called("write")
        self.urls += tuple(entry.record.url for entry in entries)

    def sync(self) -> None:
        self._called("sync")

    def keep(self) -> None:
        self._called("keep")

    def rollback(self) -> None:
        self._called("rollback")

    def close(self) -> None:
        self._called("close")


class Lines(LineFile):
    name = "more/lines.txt"
    wants_links = True
    wants_fields = True
    settings = ("PREFIX",)

    def lines(self, entry: ArchiveEntry) -> Iterator[bytes]:
        for url, *_ in entry.links:
            yield f"{self.given['PREFIX']} {self.worker} {url} {entry.fields['title']}".encode()


class Incomplete(LineFile):
    name = "never.txt"


def guarded(directory: Path, **settings: Any) -> Guarded:
    return Guarded(f"{HERE}.Told", directory, "w0", settings)


def told_by(sink: Guarded) -> Told:
    assert isinstance(sink._sink, Told)
    return sink._sink


def linked(number: int) -> list[ArchiveEntry]:
    made = group(number)
    for entry in made:
        entry.links, entry.fields = LINKS[1:], {"title": f"t{number}"}
    return made


def test_sinks_get_everything_in_their_order(tmp_path: Path) -> None:
    sinks = [guarded(tmp_path), guarded(tmp_path)]
    target = archive(tmp_path, sinks=sinks)
    assert target.open().sentences == ("told.txt: mended.",) * 2
    target.append(group(0))
    target.close()
    for sink in map(told_by, sinks):
        assert sink.calls == ("open", "roll_if_full", "write", "sync", "keep", "close")
        assert sink.urls == tuple(urls_of(range(1)))


@pytest.mark.parametrize("step", ["roll_if_full", "write", "sync"])
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), DiskFull),
        (OSError(errno.EIO, "Input/output error"), ArchiveError),
        (KeyError("title"), ArchiveError),
    ],
)
def test_a_sink_that_fails_leaves_nothing_of_the_group_anywhere(
    tmp_path: Path, step: str, error: Exception, expected: type[ArchiveError]
) -> None:
    failing, before, after = guarded(tmp_path, FAILS=step, WITH=error), guarded(tmp_path), guarded(tmp_path)
    target = archive(tmp_path, sinks=[before, failing, after])
    target.open()
    with pytest.raises(expected) as told:
        target.append(group(0))
    assert type(told.value) is expected
    assert [told_by(sink).calls[-1] for sink in (before, failing, after)] == ["rollback"] * 3
    assert logged(tmp_path) == []
    told_by(failing).given[2].clear()
    target.append(group(1))
    target.close()
    assert logged(tmp_path) == archived(tmp_path) == urls_of(range(1, 2))


def test_what_fails_in_a_sink_is_named_with_it(tmp_path: Path) -> None:
    sink = guarded(tmp_path, FAILS="write", WITH=KeyError("title"))
    with pytest.raises(ArchiveError, match=r"test_sinks\.Told: KeyError: 'title'"):
        sink.write([])


def test_a_group_that_a_sink_cannot_keep_is_not_acknowledged_and_kept_by_the_others(tmp_path: Path) -> None:
    failing, after = guarded(tmp_path, FAILS="keep", WITH=ValueError("lost")), guarded(tmp_path)
    target = archive(tmp_path, sinks=[failing, after])
    target.open()
    with pytest.raises(ArchiveError, match="lost"):
        target.append(group(0))
    assert told_by(after).calls[-1] == "keep"
    assert logged(tmp_path) == urls_of(range(1))


def test_a_rollback_that_fails_fails_the_next_group(tmp_path: Path) -> None:
    sink = guarded(tmp_path, FAILS="rollback", WITH=ValueError("stuck"))
    sink.rollback()
    with pytest.raises(ArchiveError, match="stuck"):
        sink.roll_if_full()
    sink.roll_if_full()


def test_all_parts_are_closed_also_behind_one_that_cannot_be(tmp_path: Path) -> None:
    failing, after = guarded(tmp_path, FAILS="close", WITH=OSError(errno.EIO, "gone")), guarded(tmp_path)
    target = archive(tmp_path, sinks=[failing, after])
    target.open()
    with pytest.raises(ArchiveError, match="gone"):
        target.close()
    assert told_by(after).calls[-1] == "close"


@each_row(
    ("path", "expected"),
    [
        ("Told", ImportError),
        (f"{HERE}.Nothing", ImportError),
        (f"{HERE}.HERE", TypeError),
        (f"{HERE}.Incomplete", TypeError),
        ("webcrawl.archive.disk.Disk", TypeError),
    ],
)
def test_what_is_no_sink_is_found_out_before_the_crawl(path: str, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        load(path)


def test_every_operation_of_a_part_is_one_that_is_looked_for() -> None:
    assert set(OPERATIONS) == {
        name for name in vars(ArchiveSink) if callable(getattr(ArchiveSink, name)) and name[0] != "_"
    }


def test_links_and_fields_and_what_was_there_before_arrive_at_the_other_end() -> None:
    earlier = Revisit("identical-payload-digest", "http://a.test/", 17.25, "<urn:uuid:1>")
    fields = {"title": "t", "sizes": [1, 2.5, None, {"a": b"\0"}]}
    entry = ArchiveEntry(record(), None, earlier, LINKS, fields)
    assert row_to_entry(entry_to_row(entry), entry_payload(entry)) == entry
    other = ArchiveEntry(
        record(), capture(response_head=b"", truncated="time", resource_type="application/zip")
    )
    assert row_to_entry(entry_to_row(other), entry_payload(other)) == other
    entry.other_links, entry.listed = (("mailto:a@b.test", "a", "", ""),), SpooledLinks("/of/a/list")
    assert row_to_entry(entry_to_row(entry), entry_payload(entry)) == entry
    assert row_to_entry(entry_to_row(entry, links=False, fields=False), entry_payload(entry)) == ArchiveEntry(
        record(), None, earlier
    )


@pytest.mark.slow
def test_a_sink_in_the_process_of_the_archive_gets_what_it_wants_and_its_settings(tmp_path: Path) -> None:
    target = RemoteArchive(tmp_path, worker="w7", info=INFO, sinks=[(f"{HERE}.Lines", {"PREFIX": "p"})])
    assert (target.wants_links, target.wants_fields) == (True, True)
    target.open()
    target.append(linked(0))
    target.close()
    assert (tmp_path / "more/lines.txt").read_text() == "p w7 http://c.test/ t0\n" * 3


@pytest.mark.slow
def test_a_sink_that_fails_over_there_says_which_it_was(tmp_path: Path) -> None:
    target = RemoteArchive(tmp_path, worker="w7", info=INFO, sinks=[(f"{HERE}.Lines", {})])
    target.open()
    target.append(group(0))
    with pytest.raises(ArchiveError, match=r"test_sinks\.Lines: KeyError: 'PREFIX'"):
        target.append(linked(1))
    target.append(group(2))
    target.close()
    assert logged(tmp_path) == archived(tmp_path) == urls_of(range(1)) + urls_of(range(2, 3))


def test_a_file_of_lines_is_cut_behind_its_last_line_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more/lines.txt").write_bytes(b"whole\nto")
    sink = Lines(tmp_path, worker="w", settings={"PREFIX": "p"})
    assert sink.open() == ["lines.txt: 2 bytes of an unfinished line cut off."]
    sink.write(linked(0))
    sink.rollback()
    sink.write(linked(1)[:1])
    sink.sync()
    sink.keep()
    assert sink.size == 6 + len(b"p w http://c.test/ t1\n")
    sink.close()
    assert (tmp_path / "more/lines.txt").read_bytes() == b"whole\np w http://c.test/ t1\n"
