"""An archive that is kept by a process of its own, with the same three operations."""

from __future__ import annotations

import fcntl
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from webcrawl.archive.errors import ArchiveError, StorageFull, translated
from webcrawl.archive.payloads import Payloads
from webcrawl.archive.pipe import CLOSE, payload_of, receive, row_of, send
from webcrawl.archive.repair import RepairReport
from webcrawl.archive.stores import load
from webcrawl.ownprocess import command, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from webcrawl.archive.capture import Entry
    from webcrawl.archive.stores import Named

PIPE_BYTES = 1 << 20
"""What may be on its way to the keeper at a time; the most that Linux allows without privileges."""

PATIENCE_SECONDS = 60.0
"""How long the keeper may take to end after its files were closed."""


class RemoteArchive:
    """An ``Archive`` in a process that this one starts (``webcrawl.archive.keeper``) and ends.

    One thread at a time may call; all calls wait. When the keeper is gone every call raises ArchiveError: what was
    appended before is durable, and the next start repairs the rest.
    """

    def __init__(
        self,
        directory: Path,
        *,
        held: Callable[[], Sequence[int]] = tuple,
        stores: Sequence[Named] = (),
        **options: Mapping[str, str] | str | float | None,
    ) -> None:
        """``options``: those of ``Archive`` that are plain values. ``stores`` are built over there.

        ``held``: file descriptors whose locks protect the directory; asked at ``open``, they are the keeper's too, so
        that nobody takes its place while it writes.
        """
        self._directory = directory
        classes = [load(path) for path, _ in stores]
        self.wants_links = any(store.wants_links for store in classes)
        """Whether a store wants the links of pages."""
        self.wants_fields = any(store.wants_fields for store in classes)
        """Whether a store wants what processing finds in pages."""
        self._options = {**options, "stores": [list(store) for store in stores]}
        self._held = held
        self._keeper: _Keeper | None = None

    def open(self) -> RepairReport:
        """Start the process; create the folders and repair what a crash left. Raises ArchiveError."""
        with translated(self._directory):
            self._keeper = keeper = _Keeper(self._held())
        options = {"directory": str(self._directory), "payloads": keeper.payloads.handle, **self._options}
        [sentences] = self._ask(options)
        return RepairReport(sentences)

    def append(self, entries: Sequence[Entry]) -> None:
        """Write and make durable, all or nothing. Raises StorageFull, ArchiveError as ``Archive.append`` does."""
        links, fields = self.wants_links, self.wants_fields
        rows = [row_of(entry, links=links, fields=fields) for entry in entries]
        self._ask(rows, list(map(payload_of, entries)))

    def close(self) -> None:
        """Close all files and end the process. Raises ArchiveError; what was appended is durable anyway."""
        if self._keeper is None:
            return
        try:
            self._ask(CLOSE)
        finally:
            keeper, self._keeper = self._keeper, None
            keeper.end()

    def _ask(self, value: Any, payloads: Sequence[bytes] = ()) -> list[Any]:
        """Send a frame and wait for the answer: what comes behind ``done``."""
        keeper = self._keeper
        if keeper is None:
            raise ArchiveError(self._directory, "the archive is not open")
        with translated(self._directory):
            keeper.payloads.put(payloads)
        try:
            send(keeper.asked, value)
            keeper.asked.flush()
            answer: tuple[Any, ...] = receive(keeper.answers)
        except (BrokenPipeError, EOFError):
            raise ArchiveError(self._directory, f"what keeps the archive {keeper.how_it_ended()}") from None
        kind, *said = answer
        if kind == "wrong":
            raise RuntimeError(f"the archive could not be kept:\n{said[0]}")
        if kind != "done":
            path, reason = said
            raise (StorageFull if kind == "full" else ArchiveError)(Path(path), reason)
        return said


class _Keeper:
    """The process, and the pipes to it and from it, and the file of payloads."""

    def __init__(self, held: Sequence[int]) -> None:
        """:raises OSError: there is no room for such a file, or none for a process"""
        self.payloads = Payloads.new()
        try:
            self._process = self._started(held)
        except OSError:
            self.payloads.close()
            raise
        self.asked = cast("BinaryIO", self._process.stdin)
        self.answers = cast("BinaryIO", self._process.stdout)
        with suppress(OSError, AttributeError):
            fcntl.fcntl(self.asked, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def _started(self, held: Sequence[int]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command("webcrawl.archive.keeper"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            pass_fds=(*held, self.payloads.handle),
            # A key that interrupts the crawl must not interrupt what it still has to keep.
            process_group=0,
        )

    def how_it_ended(self) -> str:
        """In words, when it does not answer any more."""
        try:
            return f"has ended with status {self._process.wait(PATIENCE_SECONDS)}"
        except subprocess.TimeoutExpired:
            return "does not answer"

    def end(self) -> None:
        """Wait for its end, or see to it."""
        with suppress(OSError):
            self.asked.close()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.answers.close()
        self.payloads.close()
