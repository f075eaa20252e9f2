"""Changes on their way to an index."""

from __future__ import annotations

import pytest

from tests.unit.search.samples import change
from webcrawl.search import journal
from webcrawl.search.journal import Journal, JournalPosition, JournalReader, segment_path, segments


@pytest.fixture
def writer(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 200)
    writer = Journal(tmp_path)
    assert writer.open() == []
    yield writer
    writer.close()


def keep(writer, *urls):
    """A group that is kept: how far the journal may be read."""
    writer.roll_if_full()
    writer.write([change(url, "text of " + url).line() for url in urls])
    writer.sync()
    writer.keep()
    return writer.position


def read(reader, position, bytes_max=1 << 20):
    return [each.url for each in reader.read(position, bytes_max)]


def test_what_was_kept_is_read_in_order_over_all_segments(writer, tmp_path):
    positions = [keep(writer, f"u{number}", f"v{number}") for number in range(9)]
    assert len(segments(tmp_path)) == positions[-1].segment > 2
    reader = JournalReader(tmp_path)
    assert read(reader, positions[1]) == ["u0", "v0", "u1", "v1"]
    assert read(reader, positions[1]) == []
    assert read(reader, positions[-1]) == [f"{letter}{number}" for number in range(2, 9) for letter in "uv"]


def test_a_batch_is_bounded_and_has_whole_lines(writer, tmp_path):
    position = [keep(writer, f"u{number}") for number in range(20)][-1]
    reader = JournalReader(tmp_path)
    batches = []
    while batch := read(reader, position, 60):
        batches.append(batch)
    assert [url for batch in batches for url in batch] == [f"u{number}" for number in range(20)]
    assert max(map(len, batches)) <= 2


def test_what_was_rolled_back_is_not_read(writer, tmp_path):
    first = keep(writer, "u0")
    writer.write([change("never").line()])
    writer.sync()
    writer.rollback()
    reader = JournalReader(tmp_path)
    assert read(reader, first) == ["u0"]
    assert read(reader, keep(writer, "u1")) == ["u1"]


def test_segments_go_once_they_were_read_and_the_next_began(writer, tmp_path):
    position = [keep(writer, f"u{number}", f"v{number}") for number in range(9)][-1]
    reader = JournalReader(tmp_path)
    read(reader, position)
    reader.discard()
    assert segments(tmp_path) == [position.segment]
    reader.discard(whole=True)
    assert segments(tmp_path) == []


def test_after_a_crash_the_journal_ends_with_a_whole_line_and_goes_on_in_a_new_segment(tmp_path):
    writer = Journal(tmp_path)
    writer.open()
    keep(writer, "u0", "u1")
    with segment_path(tmp_path, 1).open("ab") as stream:
        stream.write(b'["torn", 1')
    again = Journal(tmp_path)
    assert again.open() == ["journal-00000001.jsonl: 10 bytes of an unfinished line cut off."]
    reader = JournalReader(tmp_path)
    assert read(reader, keep(again, "u2")) == ["u0", "u1", "u2"]
    writer.close()
    again.close()


def test_lines_that_are_no_changes_are_counted_and_passed_over(tmp_path):
    segment_path(tmp_path, 3).write_bytes(b'{}\n[1]\nx\n["u", 1.0]\n')
    reader = JournalReader(tmp_path)
    assert read(reader, JournalPosition(3, segment_path(tmp_path, 3).stat().st_size)) == ["u"]
    assert reader.damaged == 3
