from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from tests.unit.archive import strictwarc
from tests.unit.archive.faultydisk import FaultyDisk
from tests.unit.archive.samples import INFO, capture, noise, record, ticking
from webcrawl.archive.fetchlog import log_line, read
from webcrawl.archive.repair import RepairReport, repair
from webcrawl.archive.warc import WarcWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def open_warc(directory: Path, *payloads: bytes) -> Path:
    """An .open file as after a crash it that came after these exchanges."""
    (directory / "warc").mkdir(exist_ok=True)
    warc = WarcWriter(directory / "warc", worker="w0", info=INFO, clock=ticking().__next__, disk=FaultyDisk())
    for payload in payloads:
        warc.add(capture(payload=payload))
    warc.sync()
    warc.keep()
    name = warc.filename
    warc.close()
    closed = directory / "warc" / str(name)
    return closed.rename(closed.with_name(closed.name + ".open"))


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_a_clean_archive_needs_no_repair(tmp_path: Path) -> None:
    (tmp_path / "fetch.jsonl").write_bytes(log_line(record()))
    path = open_warc(tmp_path, b"abc")
    path.rename(path.with_name(path.name.removesuffix(".open")))
    assert repair(tmp_path) == RepairReport(())
    assert repair(tmp_path / "nothing there") == RepairReport(())


@pytest.mark.slow
def test_a_file_cut_at_any_byte_keeps_exactly_its_whole_records(
    tmp_path: Path, warcio_accepts: Callable[[Path], bool]
) -> None:
    path = open_warc(tmp_path, b"one", noise(60), b"three" * 20)
    closed = path.with_name(path.name.removesuffix(".open"))
    data = path.read_bytes()
    records = strictwarc.parse(data)
    path.unlink()
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        report = repair(tmp_path, FaultyDisk())
        whole = [found for found in records if found.offset + found.length <= cut]
        assert not path.exists()
        assert len(report.sentences) == 1
        assert closed.exists() == (len(whole) > 1), cut
        if closed.exists():
            end = whole[-1].offset + whole[-1].length
            assert closed.read_bytes() == data[:end]
            assert f"{len(whole)} whole records" in report.sentences[0]
            assert (f"{cut - end} bytes of an unfinished record cut off" in report.sentences[0]) == (
                cut > end
            )
            if cut == end:
                assert warcio_accepts(closed)
            closed.unlink()


@pytest.mark.parametrize(
    "tail", [b"\0" * 5000, noise(5000), gzip.compress(b"no record", mtime=0), b"plain text"]
)
def test_what_is_no_record_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    path = open_warc(tmp_path, b"one")
    data = path.read_bytes()
    path.write_bytes(data + tail)
    (sentence,) = repair(tmp_path).sentences
    assert sentence.endswith(
        f"closed with 3 whole records, {len(tail)} bytes of an unfinished record cut off."
    )
    assert path.with_name(path.name.removesuffix(".open")).read_bytes() == data


def test_records_behind_damage_in_the_middle_are_kept_apart_not_deleted(tmp_path: Path) -> None:
    path = open_warc(tmp_path, noise(500), noise(500), noise(500))
    data = bytearray(path.read_bytes())
    records = strictwarc.parse(bytes(data))
    start = records[3].offset
    data[start + 200] ^= 1
    path.write_bytes(data)
    (sentence,) = repair(tmp_path).sentences
    name = path.name.removesuffix(".open")
    assert files(tmp_path) == [name, name + ".damaged"]
    assert path.with_name(name).read_bytes() == data[:start]
    assert path.with_name(name + ".damaged").read_bytes() == data[start:]
    assert f"damaged at byte {start}" in sentence
    assert repair(tmp_path) == RepairReport(())


def test_a_file_that_has_both_names_is_left_alone(tmp_path: Path) -> None:
    path = open_warc(tmp_path, b"one")
    path.with_name(path.name.removesuffix(".open")).write_bytes(path.read_bytes())
    before = files(tmp_path)
    (sentence,) = repair(tmp_path).sentences
    assert "left unchanged" in sentence
    assert files(tmp_path) == before


@pytest.mark.parametrize("block", [1, 3, 1 << 16])
def test_a_log_cut_at_any_byte_keeps_exactly_its_whole_lines(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webcrawl.archive.repair.BLOCK_BYTES", block)
    lines = [log_line(record(url="http://a.test/" + "x" * length)) for length in (0, 5)]
    path = tmp_path / "fetch.jsonl"
    data = b"".join(lines)
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        report = repair(tmp_path, FaultyDisk())
        kept = data[: data.rfind(b"\n", 0, cut) + 1]
        assert path.read_bytes() == kept
        assert report.sentences == (
            ()
            if len(kept) == cut
            else (f"fetch.jsonl: {cut - len(kept)} bytes of an unfinished line cut off.",)
        )


def test_what_a_rotation_left_is_cleaned_up_and_told(tmp_path: Path) -> None:
    line = log_line(record())
    (tmp_path / "fetch-20260725172000123.jsonl").write_bytes(line)
    (tmp_path / "fetch-20260725172000123.jsonl.gz").write_bytes(gzip.compress(line))
    (tmp_path / "fetch-20260725172000124.jsonl").write_bytes(line)
    (tmp_path / "fetch-20260725172000124.jsonl.gz.part").write_bytes(b"half")
    report = repair(tmp_path)
    assert len(report.sentences) == 2
    assert files(tmp_path) == ["fetch-20260725172000123.jsonl.gz", "fetch-20260725172000124.jsonl"]
    assert len(list(read(tmp_path))) == 2
