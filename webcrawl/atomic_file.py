"""Atomic replacement of files: a reader finds the old file or the whole new one, never a part of it."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

UNFINISHED = ".part"
"""The suffix of the name of a file or folder that is not complete."""


def unfinished_path(path: Path) -> Path:
    """Return the path under which ``path`` is written until it is complete."""
    # Not with_name: "." and "/" have no name, and the error is that they are folders.
    return path.parent / (path.name + UNFINISHED)


@contextmanager
def replacement(path: Path, unfinished: Path | None = None) -> Iterator[Path]:
    """Yield a path to write to. The new file replaces ``path`` at the end of the block, or is deleted if it raises.

    ``unfinished``: another path in the same folder than ``unfinished_path``. Raises OSError.
    """
    unfinished = unfinished or unfinished_path(path)
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def replacing(path: Path, unfinished: Path | None = None, *, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` when the block ends; if it raises, ``path`` stays as it was.

    ``sync``: the content is durable before the file takes its name, so that a power failure leaves the old file or
    the whole new one. Raises OSError.
    """
    with replacement(path, unfinished) as part, part.open("wb") as file:
        yield file
        if sync:
            file.flush()
            os.fsync(file.fileno())


def replace(path: Path, content: bytes, *, sync: bool = False) -> None:
    """Replace ``path`` by a file with this content; ``sync`` as for ``replacing``. Raises OSError."""
    with replacing(path, sync=sync) as file:
        file.write(content)


def sync_file(path: Path) -> None:
    """Make the content of a file durable. Raises OSError."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make creations, renames and removals in a folder durable. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def link_or_copy(source: Path, target: Path) -> None:
    """Let both names stand for one file that never changes again, or copy it durably if links are not possible
    (another file system). Raises OSError, and FileNotFoundError if there is no ``source``."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)
        sync_file(target)
