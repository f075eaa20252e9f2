"""Lines that several processes append to one feed file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from webcrawl.workers.feed_storage import AT_ONCE_BYTES, SharedFeedStorage, SharedLineFile


def test_only_whole_lines_are_written_and_they_are_written_at_a_flush(tmp_path):
    path = tmp_path / "items.jsonl"
    first, second = SharedLineFile(path), SharedLineFile(path)
    first.write(b'{"a": 1}\n{"a":')
    second.write(b'{"b": 1}\n')
    assert path.read_bytes() == b""
    second.flush()
    first.flush()
    first.write(b" 2}\n")
    first.close()
    second.close()
    assert path.read_bytes() == b'{"b": 1}\n{"a": 1}\n{"a": 2}\n'


def test_what_a_killed_process_has_left_of_a_line_is_cut_off(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2')
    file = SharedLineFile(path)
    file.write(b'{"b": 1}\n')
    file.close()
    assert path.read_bytes() == b'{"a": 1}\n{"b": 1}\n'


def test_lines_that_cannot_be_written_are_kept_and_leave_no_part(tmp_path, monkeypatch):
    path = tmp_path / "items.jsonl"
    file = SharedLineFile(path)
    file.write(b'{"a": 1}\n')
    write, calls = os.write, []

    def full(descriptor, data):
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(descriptor, bytes(data)[:4])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        file.flush()
    assert path.read_bytes() == b""
    monkeypatch.undo()
    file.close()
    assert path.read_bytes() == b'{"a": 1}\n'


def test_processes_never_mix_their_lines(tmp_path):
    path = tmp_path / "items.jsonl"
    children = []
    for number in range(4):
        if not (child := os.fork()):
            file = SharedLineFile(path)
            for place in range(200):
                file.write(json.dumps({"of": number, "place": place, "text": "x" * 997}).encode() + b"\n")
            file.close()
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert AT_ONCE_BYTES < 200 * 1000
    for number in range(4):
        assert [item["place"] for item in found if item["of"] == number] == list(range(200))


def test_scrapy_opens_and_stores_it(tmp_path):
    for uri in (str(tmp_path / "new" / "a.jsonl"), (tmp_path / "b.jsonl").as_uri()):
        storage = SharedFeedStorage(uri, feed_options={"overwrite": True})
        file = storage.open(cast("Any", SimpleNamespace()))
        file.write(b"{}\n")
        assert file.tell() == 0
        storage.store(file)
        assert Path(storage.path).read_bytes() == b"{}\n"
