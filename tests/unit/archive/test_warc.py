from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.archive import strictwarc
from tests.unit.archive.faultydisk import FaultyDisk
from tests.unit.archive.samples import INFO, NOW, capture, noise, ticking
from webcrawl.archive.capture import Revisit, Spooled
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.warc import WarcWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from webcrawl.archive.capture import Capture

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"
GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
BROTLI = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n"
LONGER = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
EXCHANGES = {
    "a page": {},
    "no body": {"response_head": b"HTTP/1.1 204 No Content\r\n\r\n", "payload": b""},
    "a chunked page": {"response_head": CHUNKED},
    "a chunked page that looks chunked": {"response_head": CHUNKED, "payload": b"5\r\nhello\r\n0\r\n\r\n"},
    "a gzipped page": {"response_head": GZIPPED, "payload": gzip.compress(b"<p>" * 500)},
    "a gzipped page cut off": {
        "response_head": GZIPPED,
        "payload": gzip.compress(noise(4000))[:2000],
        "truncated": "disconnect",
    },
    "gzip that is none": {"response_head": GZIPPED, "payload": b"plain after all"},
    "brotli that is none": {"response_head": BROTLI, "payload": noise(300)},
    "a page cut at the limit": {"response_head": LONGER, "payload": noise(3000), "truncated": "length"},
    "a page that is a record": {"payload": b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"},
    "a form": {"method": "POST", "request_body": b"a=1"},
    "a big page that compresses well": {"payload": b"\0" * 3_000_000},
    "a big page that does not": {"payload": noise(1_500_000)},
}


def writer(folder: Path, **changes: Any) -> WarcWriter:
    settings: dict[str, Any] = {
        "worker": "w0",
        "info": INFO,
        "clock": ticking().__next__,
        "disk": FaultyDisk(),
    }
    return WarcWriter(folder, **(settings | changes))


def write(warc: WarcWriter, *captures: Capture) -> None:
    """One group."""
    warc.roll_if_full()
    for each in captures:
        warc.add(each)
    warc.sync()
    warc.keep()


def written(folder: Path, **changes: Any) -> list[strictwarc.StrictRecord]:
    """The records of a file with one exchange."""
    warc = writer(folder)
    write(warc, capture(**changes))
    warc.close()
    (path,) = folder.iterdir()
    return strictwarc.strict_records(path)


@pytest.mark.parametrize("head", [LONGER, b"HTTP/1.1 200 OK\n\n"], ids=["plain", "not plain"])
@pytest.mark.parametrize("truncated", [None, "length"])
def test_a_payload_in_a_file_is_archived_as_one_in_memory_is(
    tmp_path: Path, head: bytes, truncated: Any
) -> None:
    payload = noise(1_500_000)
    (tmp_path / "payload").write_bytes(payload)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    changes = {"response_head": head, "truncated": truncated}
    in_memory = written(tmp_path / "a", payload=payload, **changes)
    spooled = Spooled(str(tmp_path / "payload"), len(payload), b"")
    from_file = written(tmp_path / "b", payload=b"", spooled=spooled, **changes)

    differ = {"WARC-Record-ID", "WARC-Concurrent-To", "WARC-Refers-To"}
    for one, other in zip(in_memory, from_file, strict=True):
        assert one.block == other.block
        assert {name: value for name, value in one.fields.items() if name not in differ} == {
            name: value for name, value in other.fields.items() if name not in differ
        }


def test_a_payload_whose_file_is_gone_is_an_error_of_the_archive(tmp_path: Path) -> None:
    warc = writer(tmp_path)
    with pytest.raises(ArchiveError, match="is missing"):
        warc.add(capture(payload=b"", spooled=Spooled(str(tmp_path / "payload"), 1000, b"")))
    warc.rollback()


@pytest.mark.parametrize("changes", EXCHANGES.values(), ids=EXCHANGES)
def test_warcio_and_a_strict_reader_accept_every_exchange(
    tmp_path: Path, warcio_accepts: Callable[[Path], bool], changes: dict[str, Any]
) -> None:
    info, response, request = written(tmp_path, **changes)
    assert [info.type, response.type, request.type] == ["warcinfo", "response", "request"]
    assert response.payload == capture(**changes).payload
    assert request.block == capture(**changes).request_head + capture(**changes).request_body
    assert warcio_accepts(next(tmp_path.iterdir()))


@pytest.mark.parametrize("changes", EXCHANGES.values(), ids=EXCHANGES)
def test_fastwarc_verifies_every_digest(tmp_path: Path, changes: dict[str, Any]) -> None:
    fastwarc = pytest.importorskip("fastwarc.warc")
    written(tmp_path, **changes)
    path = str(next(tmp_path.iterdir()))
    plain = fastwarc.ArchiveIterator(path, parse_http=False, fsspec_args=False)
    assert [record.verify_block_digest() for record in plain] == [True] * 3
    http = fastwarc.ArchiveIterator(path, parse_http=True, fsspec_args=False)
    found = [(record.verify_payload_digest(), record.reader.read()) for record in http][1:]
    assert found == [(True, capture(**changes).payload), (True, capture(**changes).request_body)]


def test_both_readers_accept_revisits(tmp_path: Path, warcio_accepts: Callable[[Path], bool]) -> None:
    warc = writer(tmp_path)
    warc.add(capture())
    warc.add(capture(), Revisit("identical-payload-digest", capture().url, NOW))
    not_modified = capture(response_head=b"HTTP/1.1 304 Not Modified\r\n\r\n", payload=b"")
    warc.add(not_modified, Revisit("server-not-modified", capture().url, NOW))
    warc.sync()
    warc.keep()
    warc.close()
    (path,) = tmp_path.iterdir()
    types = [record.type for record in strictwarc.strict_records(path)]
    assert types == ["warcinfo", "response", "request", "revisit", "request", "revisit", "request"]
    assert warcio_accepts(path)


def test_a_failed_connection_writes_nothing_not_even_a_file(tmp_path: Path) -> None:
    warc = writer(tmp_path)
    assert warc.add(capture(response_head=b"", payload=b"")) is None
    write(warc)
    warc.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_open_by_name_until_it_is_closed(tmp_path: Path) -> None:
    warc = writer(tmp_path, worker="host-7:1 \u00fc/..")
    write(warc, capture())
    (path,) = tmp_path.iterdir()
    assert path.name == "webcrawl-20260725172000123-00000-host_7_1_...warc.gz.open"
    warc.close()
    (closed,) = tmp_path.iterdir()
    assert closed.name == path.name.removesuffix(".open")
    warc.close()


def test_files_roll_by_size_between_groups(tmp_path: Path, warcio_accepts: Callable[[Path], bool]) -> None:
    warc = writer(tmp_path, roll_bytes=25_000)
    for number in range(12):
        write(warc, *(capture(url=f"http://a.test/{number}/{i}", payload=noise(4000)) for i in range(2)))
    warc.close()
    paths = sorted(tmp_path.iterdir())
    assert [re.findall(r"-(\d{5})-", path.name) for path in paths] == [
        ["00000"],
        ["00001"],
        ["00002"],
        ["00003"],
    ]
    urls = []
    for path in paths:
        assert warcio_accepts(path)
        assert path.stat().st_size < 25_000 + 10_000
        urls += [record.url for record in strictwarc.strict_records(path) if record.type == "response"]
    assert urls == [f"http://a.test/{number}/{i}" for number in range(12) for i in range(2)]


def test_serial_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    for _ in range(3):
        warc = writer(tmp_path)
        write(warc, capture())
        warc.close()
    names = [path.name.rpartition("-w0")[0][-9:] for path in sorted(tmp_path.iterdir())]
    assert names == ["123-00000", "123-00001", "123-00002"]


def test_a_place_leads_to_the_record(tmp_path: Path) -> None:
    warc = writer(tmp_path)
    warc.add(capture())
    place = warc.add(capture(url="http://a.test/second"))
    warc.sync()
    warc.keep()
    warc.close()
    assert place is not None
    member = (tmp_path / place.filename).read_bytes()[place.offset : place.offset + place.length]
    (record,) = strictwarc.parse(member)
    assert (record.type, record.url) == ("response", "http://a.test/second")


def test_a_group_that_is_rolled_back_leaves_no_trace(
    tmp_path: Path, warcio_accepts: Callable[[Path], bool]
) -> None:
    warc = writer(tmp_path)
    warc.add(capture(payload=noise(2_000_000)))
    warc.rollback()
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [0]
    write(warc, capture(url="http://a.test/1"))
    warc.add(capture(payload=noise(2_000_000)))
    warc.rollback()
    write(warc, capture(url="http://a.test/2"))
    warc.close()
    (path,) = tmp_path.iterdir()
    assert [record.url for record in strictwarc.strict_records(path)[1::2]] == [
        "http://a.test/1",
        "http://a.test/2",
    ]
    assert warcio_accepts(path)


def test_a_file_whose_only_group_was_rolled_back_is_removed_at_the_end(tmp_path: Path) -> None:
    warc = writer(tmp_path)
    warc.add(capture())
    warc.rollback()
    warc.close()
    assert list(tmp_path.iterdir()) == []
