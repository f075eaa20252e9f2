"""kill -9 while the archive writes: what was acknowledged is there, nothing is torn, the next run goes on."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.unit.archive import strictwarc
from webcrawl.archive.fetchlog import read
from webcrawl.archive.store import Archive

ROUNDS = 10
GROUP = 40  # 1.6 MB: more than one write call
PROJECT = Path(__file__).parents[2]
WRITER = """
import signal, sys
from pathlib import Path
from tests.unit.archive.samples import entry, noise
from webcrawl.archive.store import Archive

directory, number, groups = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
archive = Archive(directory, worker="w0", info={}, roll_bytes=9_000_000, log_roll_bytes=60_000)
for sentence in archive.open().sentences:
    print("repaired:", sentence, flush=True)
for _ in range(groups):
    group = [entry(each, noise(40_000, seed=each)) for each in range(number, number + 40)]
    archive.append(group)
    number += 40
    print("kept:", number, flush=True)
signal.pause()
"""


def write_until_killed(directory: Path, start: int, seconds: float = 0, groups: int = 1_000_000) -> int:
    """Run the writer for a while after its first group. Returns the first number not kept."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory), str(start), str(groups)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    ) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if line.startswith("kept:"):
                break
        time.sleep(seconds)  # the moment of the kill is what this test draws
        process.kill()
        said += [line.strip() for line in process.stdout if line.endswith("\n")]
    kept = [int(line.removeprefix("kept: ")) for line in said if line.startswith("kept:")]
    return max(kept, default=start)


def archived(directory: Path) -> set[str]:
    """The URLs of all responses in closed files, every file verified."""
    found = set()
    for path in (directory / "warc").glob("*.warc.gz"):
        found |= {
            record.url
            for record in strictwarc.strict_records(path, repaired=True)
            if record.type == "response"
        }
    return found


def test_what_was_appended_survives_ten_kills_at_random_moments(tmp_path: Path) -> None:
    draw = random.Random(1)
    start = 0
    for _ in range(ROUNDS - 1):
        start = write_until_killed(tmp_path, start, draw.uniform(0, 0.25))
    # A random moment may be one between two files. After one group the writer waits, with its file open.
    start = write_until_killed(tmp_path, start, groups=1)
    archive = Archive(tmp_path, worker="w0", info={})
    assert archive.open().sentences
    archive.close()

    expected = {f"http://example.test/{number}" for number in range(start)}
    logged = [line["url"] for line in read(tmp_path)]
    assert expected <= set(logged)
    assert expected <= archived(tmp_path)
    # A kill between the last write and the acknowledgement leaves a group that the next run writes again.
    assert len(logged) - len(set(logged)) <= GROUP * ROUNDS
    assert not list(tmp_path.rglob("*.open"))
    assert not list(tmp_path.rglob("*.part"))
