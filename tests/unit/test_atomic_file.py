"""A file has its name when it is whole, and what was there stays when it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from webcrawl.atomic_file import replace, replacement, replacing, unfinished_path


@pytest.mark.parametrize("sync", [False, True])
def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path, sync):
    path = tmp_path / "file.json"
    path.write_bytes(b"old")
    with replacing(path, sync=sync) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        assert unfinished_path(path).read_bytes() == b"new"
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file.json": b"new"}


def write_and_raise(path, error):
    with replacing(path) as file:
        file.write(b"new")
        raise error


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_nothing_is_left_of_a_file_that_was_not_completed(tmp_path, error):
    path = tmp_path / "file.json"
    path.write_bytes(b"old")
    with pytest.raises(error):
        write_and_raise(path, error)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file.json": b"old"}


def test_the_error_of_the_write_is_raised_where_the_rest_cannot_be_removed(tmp_path):
    unfinished_path(tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        replace(tmp_path / "file", b"new")


def test_the_content_is_on_the_disk_before_the_file_takes_its_name(tmp_path, monkeypatch):
    path, seen = tmp_path / "file", []
    monkeypatch.setattr(os, "fsync", lambda _handle: seen.append(path.exists()))
    replace(path, b"new", sync=True)
    assert seen == [False]


def test_a_folder_is_no_file_even_if_it_has_no_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"'\.part' -> '\.'"):
        replace(Path(), b"new")
    assert not list(tmp_path.iterdir())


def test_another_name_may_be_used_until_then(tmp_path):
    with replacement(tmp_path / "file", tmp_path / ".hidden") as unfinished:
        unfinished.write_bytes(b"new")
        assert [each.name for each in tmp_path.iterdir()] == [".hidden"]
    assert (tmp_path / "file").read_bytes() == b"new"
