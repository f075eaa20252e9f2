"""The mark of a move in a JOBDIR: the crawl came from another place, or went there."""

from __future__ import annotations

from pathlib import Path

from webcrawl.atomic_file import replacing
from webcrawl.errors import JobdirUnusable
from webcrawl.storage.move_mark import MoveMark

NAME = "move.json"


def read_mark(folder: Path) -> MoveMark | None:
    """Return the mark in a folder; None if there is none. :raises JobdirUnusable: it cannot be read"""
    path = folder / NAME
    try:
        return MoveMark.read(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise JobdirUnusable(f"{path} cannot be read: {error}") from error


def write_mark(folder: Path, mark: MoveMark | None) -> None:
    """Store a mark on the disk; None removes it. :raises JobdirUnusable: it cannot be stored"""
    path = folder / NAME
    try:
        if mark is None:
            path.unlink(missing_ok=True)
            return
        with replacing(path, sync=True) as file:
            file.write(f"{mark.packed()}\n".encode())
    except OSError as error:
        raise JobdirUnusable(f"{path} cannot be written: {error.strerror or error}") from error


def refuse_moved(folder: Path) -> None:
    """:raises webcrawl.storage.move_mark.CrawlMoved: the crawl cannot go on in this folder"""
    if (mark := read_mark(folder)) is not None:
        mark.refuse(f"the crawl in {folder}")
