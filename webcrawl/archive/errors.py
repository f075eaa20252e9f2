"""What the archive raises when the disk refuses, in place of the operating system's own exceptions.

::

    ArchiveError            a file of the archive could not be changed; nothing of the group was kept
      StorageFull           because there is no room: worth another try when there is
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class ArchiveError(errors.StorageLost):
    """A file of the archive could not be written, closed or repaired. Names the file and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class StorageFull(ArchiveError, errors.StorageFull):  # noqa: N818 - a state of the disk, not a mistake
    """There is no room for the group, on the disk or in the quota. What was kept before is whole."""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into the archive's own, about the file it names or else ``path``."""
    try:
        yield
    except OSError as error:
        kind = StorageFull if error.errno in NO_ROOM else ArchiveError
        named = error.filename
        raise kind(Path(named) if isinstance(named, str) else path, error.strerror or str(error)) from error
