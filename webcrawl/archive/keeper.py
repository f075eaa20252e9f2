"""The process that writes an archive: ``python -m webcrawl.archive.keeper``, started by ``RemoteArchive``.

Digests, compression and the writing of lines need only the bytes of the crawl; in a process of their own they never
block the event loop by holding the interpreter. The process ends with the crawl, in whatever way the crawl ends:
groups that were received whole are kept and the files are closed; a group that was received in part is not.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.archive.disk import ArchiveError, DiskFull
from webcrawl.archive.process import CLOSE, Payloads, payload_bytes, row_to_entry
from webcrawl.archive.sinks import Guarded
from webcrawl.archive.store import Archive
from webcrawl.child_process import leave_signals_to_the_crawl, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from webcrawl.archive.capture import ArchiveEntry


def keep(requests: BinaryIO, replies: BinaryIO) -> None:
    """Serve one crawl, from its options to the end of ``requests``."""
    archive: Archive | None = None

    def start() -> Sequence[str]:
        nonlocal archive
        archive = _archive(options)
        return archive.open().sentences

    options = receive(requests)
    payloads = Payloads(options.pop("payloads"))
    _reply(replies, start)
    if archive is None:
        return
    try:
        while (entries := _group(requests, payloads)) is not None:
            _reply(replies, partial(_append, archive, entries))
    except EOFError:
        # The crawl ended without closing the archive, so there is no process that could read a reply.
        with suppress(ArchiveError):
            archive.close()
    else:
        _reply(replies, archive.close)


def _archive(options: dict[str, Any]) -> Archive:
    """Build the archive with its sinks. Raises ArchiveError when one of them cannot be built."""
    directory, worker = Path(options.pop("directory")), options["worker"]
    sinks = [Guarded(path, directory, worker, arguments) for path, arguments in options.pop("sinks", ())]
    return Archive(directory, sinks=sinks, **options)


def _append(archive: Archive, entries: Sequence[ArchiveEntry]) -> int:
    """Append a group. Return the bytes that the archive has written since it was opened."""
    archive.append(entries)
    return archive.bytes_written


def _group(requests: BinaryIO, payloads: Payloads) -> list[ArchiveEntry] | None:
    """Read the next group of entries; None when the crawl ends."""
    rows = receive(requests)
    if rows == CLOSE:
        return None
    return list(map(row_to_entry, rows, payloads.take(map(payload_bytes, rows))))


def _reply(replies: BinaryIO, step: Callable[[], Any]) -> None:
    """Run a step and send its outcome."""
    reply: tuple[Any, ...]
    try:
        done = step()
        reply = ("done",) if done is None else ("done", done)
    except DiskFull as error:
        reply = ("full", str(error.path), error.reason)
    except ArchiveError as error:
        reply = ("failed", str(error.path), error.reason)
    except Exception:
        reply = ("wrong", traceback.format_exc())
    send(replies, reply)


def main() -> None:
    """Keep the archive whose options arrive on standard input."""
    leave_signals_to_the_crawl()
    try:
        keep(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, EOFError):
        sys.exit(1)


if __name__ == "__main__":
    main()
