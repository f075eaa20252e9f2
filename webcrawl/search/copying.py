"""A copy of a search index and its journal, taken while both are written."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from webcrawl.search import marking
from webcrawl.search.journal import path_of, segments

if TYPE_CHECKING:
    from pathlib import Path

INDEX, META = "index", "meta.json"
_TRIES = 20


def copy(source: Path, target: Path) -> list[Path]:
    """Copy the folder of full text; its files in ``target``, none where ``source`` has no index.

    The journal comes first: what it has no more by the time it is read is in the index, which comes after it. What
    the index has on top comes again, as after a crash. Files that never change are hard links where that is possible.

    :raises OSError: the disk refuses, or the index changes too fast
    """
    if not (source / marking.NAME).is_file():
        return []
    target.mkdir(parents=True)
    shutil.copyfile(source / marking.NAME, target / marking.NAME)
    for number in segments(source):
        with suppress(FileNotFoundError):
            shutil.copyfile(path_of(source, number), path_of(target, number))
    for _ in range(_TRIES):
        if not (source / INDEX / META).is_file() or _index(source / INDEX, target / INDEX):
            return [path for path in target.rglob("*") if path.is_file()]
    raise OSError(f"{source / INDEX} changes too fast to be copied")


def _index(source: Path, target: Path) -> bool:
    """Copy an index as its list of segments has it. False when that is another one behind it than before."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    before = (source / META).read_bytes()
    for path in source.iterdir():
        if path.name == META or path.suffix == ".lock":
            continue
        with suppress(FileNotFoundError):  # not of this list, or the list is another one by now
            _share(path, target / path.name)
    (target / META).write_bytes(before)
    return (source / META).read_bytes() == before


def _share(source: Path, target: Path) -> None:
    if source.suffix == ".json":
        shutil.copyfile(source, target)
        return
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)
