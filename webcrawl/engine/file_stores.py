"""Files of ``FilesPipeline`` and ``ImagesPipeline`` on the local disk, which are whole or not there.

Scrapy writes a file under its name. One that a killed process leaves half written is there when the crawl goes on;
the pipeline finds it up to date and does not fetch it again.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.pipelines.files import FilesPipeline, FSFilesStore

if TYPE_CHECKING:
    from io import BytesIO


class WholeFilesStore(FSFilesStore):
    """Writes a file under another name, ``.part-...`` in its folder, and renames it."""

    def persist_file(
        self,
        path: str | os.PathLike[str],
        buf: BytesIO,
        info: Any,
        meta: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Store a file; one that was there is replaced. :raises OSError: it cannot be written"""
        folder, slash, name = os.fspath(path).rpartition("/")
        # A name of the longest length could not be made longer. Other processes may write the same file.
        part = f"{folder}{slash}.part-{os.getpid()}-{sha256(name.encode(errors='replace')).hexdigest()[:16]}"
        written = Path(self.basedir, *part.split("/"))
        try:
            super().persist_file(part, buf, info, meta, headers)
            written.replace(Path(self.basedir, *os.fspath(path).split("/")))
        except BaseException:
            written.unlink(missing_ok=True)
            raise


def write_whole_files() -> None:
    """Let all pipelines that use Scrapy's store of local files use this one. Stores of a project's own stay."""
    stores = FilesPipeline.STORE_SCHEMES
    for scheme, store in stores.items():
        if store is FSFilesStore:
            stores[scheme] = WholeFilesStore
