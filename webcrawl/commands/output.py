"""Where a command writes what may be long: to a file that appears whole or not at all, or to standard output."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write(parts: Iterable[str], path: Path | None) -> None:
    """Write ``parts`` as they come, as UTF-8; without ``path`` to standard output.

    :raises OSError: it cannot be written
    """
    if path is None:
        _print(parts)
        return
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(parts)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _print(parts: Iterable[str]) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    try:
        for part in parts:
            sys.stdout.write(part.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has seen enough. What Python would still flush at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
