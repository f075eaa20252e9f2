from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from webcrawl.archive import process as room
from webcrawl.archive.process import Payloads

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["in memory", "in a file"])
def between(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Payloads]:
    """Also as on systems that have no files in memory."""
    if request.param == "in a file":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    made = Payloads.new()
    yield made
    made.close()


def test_what_was_put_is_taken_by_whoever_has_the_file_too(between: Payloads) -> None:
    other = Payloads(os.dup(between.handle))
    for group in ([b"a", b"", b"bcd"], [], [b"%d" % number for number in range(2500)], [b"e"]):
        between.put(group)
        assert other.take(map(len, group)) == group
    other.close()


def test_what_is_not_there_is_not_taken(between: Payloads) -> None:
    between.put([b"abc"])
    with pytest.raises(EOFError):
        between.take([4])


def test_room_for_a_large_group_is_given_back(between: Payloads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "KEPT_BYTES", 10)
    between.put([b"a" * 11])
    assert between.take([11]) == [b"a" * 11]
    between.put([b"b"])
    assert os.fstat(between.handle).st_size == 1
    assert between.take([1]) == [b"b"]


def test_all_is_put_also_where_the_system_takes_a_part(
    between: Payloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "writev", lambda handle, parts: os.write(handle, parts[0][:2]))
    between.put([b"abcd", b"ef"])
    assert between.take([4, 2]) == [b"abcd", b"ef"]
