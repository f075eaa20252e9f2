"""Judges of how commands end: exit statuses, what a wrong command leaves behind, and a reader that goes away."""

from __future__ import annotations

import os
import pty
from pathlib import Path
from typing import TYPE_CHECKING

from tests import forked
from tests.forked import Files
from tests.gauntlet.promises.judges.acting import counted, words_of
from tests.gauntlet.promises.stages import last_line
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import SECONDS

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Stage
    from tests.gauntlet.promises.table import Promise


_NO_CRAWL = ("-wal", "-shm", ".token", ".out", ".err", "lock")
"""Endings of files that are no part of a crawl's state: a command holds the lock while it looks."""


def _files(stage: Stage) -> dict[str, tuple[int, int]]:
    """Return the files of all crawls, with their sizes and times."""
    found = {}
    for path in stage.folder.rglob("*"):
        if path.is_file() and not path.name.endswith(_NO_CRAWL) and not {"redis", "services"} & {*path.parts}:
            about = path.stat()
            found[str(path)] = (about.st_size, about.st_mtime_ns)
    return found


@judge
def ends(stage: Stage, promise: Promise) -> str:
    """Each command ends with the status; with 2 it names the fault on standard error, and changes no file."""
    status = promise.given["status"]
    wrong = []
    cases = [words_of(stage, words) for words in promise.given["cases"]]
    before = _files(stage)
    for words in cases:
        done = stage.run(*words)
        if done.status != status:
            wrong.append(f"{' '.join(words)[-90:]}: {done.status}, {last_line(done.err or done.out)}")
        elif "Traceback" in done.err:
            wrong.append(f"{' '.join(words)[-90:]}: a traceback")
        elif status == 2 and not done.err.strip():
            wrong.append(f"{' '.join(words)[-90:]}: no word on standard error")
    after = _files(stage)
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    if status == 2 and changed:
        wrong.append(f"files changed: {sorted(changed)[:3]}")
    return need(not wrong, "; ".join(wrong) or f"{counted(len(cases), 'command')} ended with {status}")


@judge
def ends_unconfirmed(stage: Stage, promise: Promise) -> str:
    """A terminal answers no: the status is 1, and no file is gone."""
    before = _files(stage)
    terminal, its_end = pty.openpty()
    name = Path(os.ttyname(its_end))
    out = stage.folder / "unconfirmed.out"
    os.write(terminal, b"n\n")
    words = words_of(stage, promise.given["words"])
    try:
        process = forked.scrapy(words, stage.folder, stage.environment, Files(name, out, name))
        status = process.wait(2 * SECONDS)
        said = os.read(terminal, 10_000).decode(errors="replace")
    finally:
        os.close(its_end)
        os.close(terminal)
    lost = sorted(before.keys() - _files(stage).keys())
    return need(
        status == 1 and not lost and "was not removed" in said,
        f"answered no: exit status {status}, {counted(len(lost), 'file')} gone; {last_line(said)}",
    )


@judge
def ends_without_a_reader(stage: Stage, promise: Promise) -> str:
    """Standard output is a pipe whose reader goes away at once, or after the first line."""
    words = words_of(stage, promise.given["words"])
    told = []
    for lines in (0, 1):
        number = stage.kept["pipes"] = stage.kept.get("pipes", 0) + 1
        pipe, err = stage.folder / f"pipe-{number}", stage.folder / f"pipe-{number}.err"
        os.mkfifo(pipe)
        process = forked.scrapy(words, stage.folder, stage.environment, Files(Path(os.devnull), pipe, err))
        with pipe.open("rb", buffering=0) as reader:
            if lines:
                reader.read(80)
        status = process.wait(2 * SECONDS)
        text = err.read_text(errors="replace")
        told.append((status, "Traceback" in text or "BrokenPipe" in text, last_line(text)))
        pipe.unlink()
    bad = [line for _, traceback, line in told if traceback]
    return need(not bad, bad[0] if bad else f"exit status {told[0][0]} and {told[1][0]}, no traceback")
