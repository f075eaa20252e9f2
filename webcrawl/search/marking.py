"""The mark of an index: the engine that wrote it, and the version of its division into words."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from webcrawl.archive.disk import ArchiveError, translated
from webcrawl.atomic_file import replace
from webcrawl.search.engine import READING

if TYPE_CHECKING:
    from pathlib import Path

NAME = "index.json"


@dataclass(frozen=True, slots=True)
class Marking:
    """The mark of an index, which is searched as it was written."""

    engine: str
    """The import path of the engine."""
    stemmer: str
    reading: int = READING
    """``engine.READING`` when it was written."""

    def claim(self, folder: Path) -> None:
        """Mark a new index. Raises ArchiveError if there is one with another mark."""
        there = read_marking(folder)
        if there is None:
            with translated(folder):
                replace(folder / NAME, json.dumps(asdict(self)).encode())
            return
        there.check(folder)
        if there != self:
            was = f"SEARCH_ENGINE={there.engine} and SEARCH_STEMMER={there.stemmer}"
            raise ArchiveError(folder, f"was written with {was}; go on with these, or remove the folder")

    def check(self, folder: Path) -> None:
        """:raises ArchiveError: an earlier or later version wrote it"""
        if self.reading != READING:
            raise ArchiveError(
                folder,
                "was written by another version, which reads words otherwise; remove the folder, and pages that are "
                "fetched from then on are indexed",
            )


def read_marking(folder: Path) -> Marking | None:
    """Return the mark of the index in a folder; None if there is none. Raises ArchiveError."""
    try:
        fields = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return Marking(str(fields["engine"]), str(fields["stemmer"]), int(fields.get("reading", 1)))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(folder / NAME, f"is damaged: {error}") from error
    except OSError as error:
        raise ArchiveError(folder / NAME, error.strerror or str(error)) from error
