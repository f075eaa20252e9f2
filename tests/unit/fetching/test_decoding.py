"""Content codings are undone as far as they can be, and never beyond the limit."""

import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.fetching.decoding import CODINGS_MAX, MEMBERS_MAX, Decoded, decode, decoded_chunks, zstd

TEXT = b"".join(b"A line of text, number %d, which repeats itself like most text.\n" % n for n in range(3000))


def gzip(data: bytes) -> bytes:
    return zlib.compress(data, 6, 31)


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data, 6, -15)


def brotli_fast(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=4))


Coder = Callable[[bytes], bytes]
CODERS: list[tuple[str, Coder]] = [
    ("gzip", gzip),
    ("x-gzip", gzip),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli_fast),
    ("zstd", zstd.compress),
]
every_coding = pytest.mark.parametrize(("name", "encode"), CODERS)


@every_coding
def test_a_payload_is_decoded(name: str, encode: Coder) -> None:
    assert decode(encode(TEXT), name, 1 << 20) == Decoded(TEXT)


@every_coding
def test_an_empty_payload_has_nothing_to_decode(name: str, encode: Coder) -> None:
    assert decode(b"", name, 100) == Decoded(b"")
    assert decode(encode(b""), name, 100) == Decoded(b"")


@every_coding
def test_the_body_is_cut_at_the_limit_and_not_before(name: str, encode: Coder) -> None:
    payload = encode(TEXT)
    assert decode(payload, name, 1000) == Decoded(TEXT[:1000], truncated=True)
    assert decode(payload, name, len(TEXT) - 1) == Decoded(TEXT[:-1], truncated=True)
    assert decode(payload, name, len(TEXT)) == Decoded(TEXT)


@each_row(("name", "encode"), [coder for coder in CODERS if coder[0] != "zstd"])
def test_of_a_payload_that_ends_early_most_is_kept(name: str, encode: Coder) -> None:
    payload = encode(TEXT)
    decoded = decode(payload[: len(payload) // 2], name, 1 << 20)
    assert decoded.error == f"{name}: ends early"
    assert TEXT.startswith(decoded.body)
    assert len(decoded.body) > len(TEXT) // 4


@pytest.mark.parametrize(
    ("name", "encode"), [("gzip", gzip), ("deflate", zlib.compress), ("br", brotli_fast)]
)
def test_of_a_damaged_payload_the_beginning_is_kept(name: str, encode: Coder) -> None:
    payload = bytearray(encode(TEXT))
    middle = len(payload) // 2
    payload[middle : middle + 64] = bytes(64)
    decoded = decode(bytes(payload), name, 1 << 20)
    assert decoded.error is not None
    assert decoded.body[:10_000] == TEXT[:10_000]


def test_members_of_a_gzip_stream_and_frames_of_a_zstd_stream_are_joined() -> None:
    assert decode(gzip(TEXT[:70]) + gzip(TEXT[70:]), "gzip", 1 << 20) == Decoded(TEXT)
    assert decode(zstd.compress(TEXT[:70]) + zstd.compress(TEXT[70:]), "zstd", 1 << 20) == Decoded(TEXT)


def test_what_follows_a_gzip_stream_is_overlooked() -> None:
    assert decode(gzip(TEXT) + b"\0\0padding", "gzip", 1 << 20) == Decoded(TEXT)


def test_a_plain_body_that_says_it_is_gzip_is_left_as_it_is() -> None:
    decoded = decode(TEXT, "gzip", 1000)
    assert decoded == Decoded(TEXT[:1000], truncated=True, error="gzip: not compressed")


def test_codings_in_a_row_are_undone_from_the_last_to_the_first() -> None:
    assert decode(brotli_fast(gzip(TEXT)), "gzip, BR", 1 << 20) == Decoded(TEXT)
    assert decode(gzip(gzip(gzip(TEXT))), "gzip,gzip , x-gzip", 1 << 20) == Decoded(TEXT)


def test_more_codings_than_anybody_means_are_not_undone() -> None:
    decoded = decode(b"x", ",".join(["gzip"] * (CODINGS_MAX + 1)), 100)
    assert decoded.body == b"x"
    assert decoded.error is not None


@each_row("header", [None, "", "identity", " , Identity,"])
def test_without_a_coding_the_body_is_the_payload(header: str | None) -> None:
    assert decode(TEXT, header, 1 << 20) == Decoded(TEXT)
    assert decode(TEXT, header, 10) == Decoded(TEXT[:10], truncated=True)


def test_an_unknown_coding_leaves_the_payload_and_is_named() -> None:
    assert decode(b"x", "sdch", 100) == Decoded(b"x", error="unknown content coding sdch")
    assert decode(gzip(b"x"), "compress, gzip", 100) == Decoded(b"x", error="unknown content coding compress")


@pytest.mark.parametrize(("name", "encode"), [("gzip", gzip), ("zstd", zstd.compress)])
def test_a_stream_of_too_many_empty_members_is_given_up(name: str, encode: Coder) -> None:
    decoded = decode(encode(b"") * (MEMBERS_MAX + 1), name, 100)
    assert decoded.body == b""
    assert str(MEMBERS_MAX) in str(decoded.error)


@given(st.sampled_from(CODERS), st.binary(max_size=300), st.integers(0, 200), st.binary(max_size=8))
def test_nothing_raises_and_nothing_exceeds_the_limit(
    coder: tuple[str, Coder], data: bytes, place: int, noise: bytes
) -> None:
    name, encode = coder
    payload = encode(data)
    for damaged in (payload[:place] + noise + payload[place + len(noise) :], data, noise):
        assert len(decode(damaged, name, 100).body) <= 100


BOMB = """
import resource, sys, zlib
import brotli
from webcrawl.fetching.decoding import decode, zstd

def pieces(coder, finish):
    return b"".join([*(coder(bytes(1 << 20)) for _ in range(64)), finish()])

gz, br = zlib.compressobj(9, wbits=31), brotli.Compressor(quality=5)
zs = zstd.ZstdCompressor()
bombs = {"gzip": pieces(gz.compress, gz.flush), "br": pieces(br.process, br.finish)}
bombs["zstd"] = pieces(zs.compress, zs.flush)
bombs["gzip,gzip"] = zlib.compress(bombs["gzip"], wbits=31)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (10 if sys.platform == "darwin" else 0)
for name, bomb in bombs.items():
    before = peak()
    decoded = decode(bomb, name, 1 << 20)
    assert decoded.truncated and len(decoded.body) == 1 << 20 and not decoded.error, (name, decoded.error)
    assert peak() - before < 20_480, (name, peak() - before)
"""


@pytest.mark.slow
def test_bombs_take_little_more_memory_than_the_limit() -> None:
    subprocess.run([sys.executable, "-c", BOMB], check=True, cwd=Path(__file__).parents[3])


def chunks(tmp_path: Path, payload: bytes, coding: str, limit: int = 10**9) -> list[bytes]:
    path = tmp_path / "payload"
    path.write_bytes(payload)
    return list(decoded_chunks(str(path), coding, limit))


@every_coding
def test_a_file_is_decoded_a_piece_at_a_time(name: str, encode: Coder, tmp_path: Path) -> None:
    found = chunks(tmp_path, encode(TEXT * 20), name)
    # gzip is left to who reads it.
    whole = encode(TEXT * 20) if name.endswith("gzip") else TEXT * 20
    assert b"".join(found) == whole
    assert max(map(len, found)) < 4_000_000


@pytest.mark.parametrize("name", ["deflate", "br", "zstd"])
def test_of_a_file_that_unfolds_to_more_than_the_limit_no_more_is_decoded(name: str, tmp_path: Path) -> None:
    encode = dict(CODERS)[name]
    bomb = encode(b"\0" * 200_000_000)
    found = chunks(tmp_path, bomb, name, 1_000_000)
    assert 1_000_000 <= sum(map(len, found)) < 12_000_000


def test_a_damaged_file_gives_what_is_before_the_damage(tmp_path: Path) -> None:
    packed = zlib.compress(TEXT * 20)
    found = b"".join(chunks(tmp_path, packed[:-2000] + b"x" * 2000, "deflate"))
    assert found.startswith(TEXT * 10)


@pytest.mark.parametrize("coding", ["", "identity", "br, deflate", "none of these"])
def test_a_file_whose_coding_cannot_be_undone_is_given_as_it_is(coding: str, tmp_path: Path) -> None:
    assert b"".join(chunks(tmp_path, TEXT, coding)) == TEXT


@every_coding
def test_what_unfolds_to_very_much_is_decoded_to_its_end(name: str, encode: Coder) -> None:
    assert decode(encode(TEXT * 20), name, 10**9) == Decoded(TEXT * 20)
