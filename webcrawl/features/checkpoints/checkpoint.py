"""A checkpoint: a consistent copy of a running or stopped crawl that is itself a JOBDIR.

The order makes it consistent. The frontier's database is copied first, as of one moment. URLs that are done in it
were durable in the archive by then, so they are in the archive's files, which are copied after it; URLs that only
these files have are fetched again, as after a crash. A file that is being written may be torn at its end, as after a
crash: the next start repairs it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.atomic_file import UNFINISHED, link_or_copy, sync_file, sync_folder, unfinished_path
from webcrawl.crawl.feature_table import SEGMENT_FILE
from webcrawl.crawl.moved import refuse_moved
from webcrawl.crawl.seeded_hosts import NAME as SEED_ADDRESSES
from webcrawl.errors import CrawlError, JobdirDamaged, StartRefused, StorageLost
from webcrawl.features.focus.store import NAME as LEARNED
from webcrawl.features.segments.results import NAME as FOUND
from webcrawl.reports.progress_log import NAME as PROGRESS
from webcrawl.search import journal
from webcrawl.search.store import FOLDER as SEARCH
from webcrawl.storage import technologies, technology_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.storage.technology import Technology

FETCH_LOG = "fetch.jsonl"
WARC = "warc"
INDEX = "index"
LINKS = "links"
_OPEN = ".open"
_LINKS_INDEX = ".idx"
_TRIES = 5


class CheckpointError(CrawlError):
    """The copy could not be made; its destination has nothing that could be taken for a checkpoint."""


@dataclass(slots=True)
class CheckpointCounts:
    """Content of a checkpoint."""

    linked: int = 0
    """Files that both folders share; they never change again."""
    copied: int = 0
    bytes: int = 0
    """Total size of the copied files."""
    names: set[str] = field(default_factory=set)


def take(source: Path, target: Path, progress: Callable[[int, int], None] | None = None) -> CheckpointCounts:
    """Copy the crawl in ``source`` to ``target``, which must not exist or be empty.

    ``progress`` is called with the numbers of copied and of all parts of the frontier. The copy is made beside
    ``target`` and gets its name when it is complete and durable.

    :raises CheckpointError: ``source`` is no crawl, ``target`` is in use, or the disk fails.
    """
    try:
        refuse_moved(source)
    except StartRefused as error:
        raise CheckpointError(str(error)) from error
    storage = technology_in(source)
    if storage is None or not storage.takes_checkpoints:
        names = " or ".join(
            str(technology.frontier_file) for technology in technologies() if technology.takes_checkpoints
        )
        raise CheckpointError(f"{source} is no crawl with a frontier on disk: it has no {names}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CheckpointError(f"{target} exists already; give the name of a new folder")
    unfinished = unfinished_path(target)
    if unfinished.exists():
        raise CheckpointError(f"{unfinished} is an incomplete checkpoint; remove it first")
    try:
        unfinished.mkdir(mode=0o700, parents=True)
        try:
            copied = _fill(storage, source, unfinished, progress)
            unfinished.replace(target)
            sync_folder(target.parent)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    except JobdirDamaged as error:
        raise CheckpointError(str(error)) from error
    except (OSError, StorageLost) as error:
        raise CheckpointError(f"no checkpoint of {source} in {target}: {error}") from error
    return copied


def _fill(
    storage: Technology, source: Path, target: Path, progress: Callable[[int, int], None] | None
) -> CheckpointCounts:
    copied = CheckpointCounts()
    for path in storage.copy_state(source, target, progress):
        _count(copied, path)
    if (source / LEARNED).is_file():
        # The file is never changed in place, only replaced.
        link_or_copy(source / LEARNED, target / LEARNED)
        _count(copied, target / LEARNED)
    _copy_archive(source, target, copied)
    for path in journal.copy(source / SEARCH, target / SEARCH):
        sync_file(path)
        _count(copied, path)
    for folder in (
        target / WARC,
        target / INDEX,
        target / LINKS,
        target / SEARCH,
        target / SEARCH / INDEX,
        target,
    ):
        if folder.is_dir():
            sync_folder(folder)
    return copied


def _copy_archive(source: Path, target: Path, copied: CheckpointCounts) -> None:
    """Copy fetch log and WARC files; repeat that if the crawl rolled one of them over meanwhile."""
    for _ in range(_TRIES):
        before = set(_archive_files(source))
        for name in sorted(before - copied.names):
            _copy_one(source / name, target / name, copied)
        if set(_archive_files(source)) == before:
            return
        # A file was renamed: data copied while it grew may be in the copy twice now.
        for name in [name for name in copied.names if _grows(name)]:
            copied.names.discard(name)
            (target / name).unlink(missing_ok=True)
    raise CheckpointError(f"the files in {source} are rotated too fast to be copied")


def _archive_files(source: Path) -> Iterator[str]:
    """Yield the names of fetch log parts, of the progress log, of the files of a segment's crawl, of WARC files and
    of segments of the link log, relative to ``source``. A compressed part hides its uncompressed one."""
    names = {path.name for path in source.glob("fetch*.jsonl*") if not path.name.endswith(UNFINISHED)}
    yield from (name for name in names if f"{name}.gz" not in names)
    yield from (name for name in (PROGRESS, FOUND, SEGMENT_FILE, SEED_ADDRESSES) if (source / name).is_file())
    yield from (f"{WARC}/{path.name}" for path in (source / WARC).glob("*.warc.gz*"))
    # An index that is still being written is not copied: a crawl that starts from the copy rebuilds it.
    closed = (path.name for path in (source / INDEX).glob("*.cdxj") if f"{_OPEN}-" not in path.name)
    yield from (f"{INDEX}/{name}" for name in closed)
    yield from (f"{LINKS}/{path.name}" for path in (source / LINKS).glob("links-*"))


def _grows(name: str) -> bool:
    return name in (FETCH_LOG, PROGRESS, FOUND, SEED_ADDRESSES) or name.endswith((_OPEN, _LINKS_INDEX))


def _copy_one(source: Path, target: Path, copied: CheckpointCounts) -> None:
    """Copy a file that grows, share one that does not; skip one that vanished, since it was renamed."""
    target.parent.mkdir(exist_ok=True)
    try:
        if _grows(source.name):
            shutil.copyfile(source, target)
            sync_file(target)
        else:
            link_or_copy(source, target)
    except FileNotFoundError:
        return
    _count(copied, target)


def _count(copied: CheckpointCounts, path: Path) -> None:
    folder = path.parent.name
    copied.names.add(f"{folder}/{path.name}" if folder in (WARC, INDEX, LINKS) else path.name)
    status = path.stat()
    if status.st_nlink > 1:
        copied.linked += 1
    else:
        copied.copied += 1
        copied.bytes += status.st_size


def main(source: str, target: str) -> int:
    """Entry point of the child process, which yields CPU time to the crawl. Prints the content of the copy."""
    os.nice(10)
    try:
        copied = take(Path(source), Path(target))
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"linked": copied.linked, "copied": copied.copied, "bytes": copied.bytes}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
