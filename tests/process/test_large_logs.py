"""What is told of a crawl is made in bounded memory, however many lines its log has."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from isal import igzip

from tests.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MILLIONS = int(os.environ.get("SOAK_MILLIONS", "10"))
"""Lines of the log; the promise is made for ten millions."""
LINES = 1_000_000
HOSTS = 300_000
SECONDS = 3600
T0 = 1_790_000_000.0
TAILS = ["com"] * 10 + ["org"] * 4 + ["de", "fr", "co.uk", "net"]


def lines(part: int) -> Iterator[bytes]:
    """A million lines: few hosts with many pages and many with few, folders and files of all of them."""
    source = random.Random(part)
    at = T0 + part * LINES / 300
    for _ in range(LINES):
        host = int(HOSTS * source.random() ** 4)
        key = f"site{host}.{TAILS[host % len(TAILS)]}"
        at += source.expovariate(300)
        end = at + source.lognormvariate(-1.2, 1)
        chance = source.random()
        path = f"d{source.randrange(20)}/e{source.randrange(50)}/p{source.randrange(10**6)}.html"
        result = '"error":"timeout"' if chance < 0.04 else f'"status":{404 if chance < 0.1 else 200}'
        size = int(source.lognormvariate(9.8, 1.3))
        kind, more = "page", ""
        if chance > 0.93:
            kind, path = "robots", "robots.txt"
            more = f',"origin":"http://www.{key}","robots":"rules","until":{end + 86400:.6f}'
        yield (
            f'{{"start":{at:.6f},"end":{end:.6f},"url":"http://www.{key}/{path}","key":"{key}","ip":"192.0.2.1",'
            f'"kind":"{kind}",{result},"mime":"text/html","bytes":{size},"location":null,"via":null,'
            f'"depth":{source.randrange(9)},"worker":"w1","delay":5.0,"number":1{more}}}\n'
        ).encode()


@pytest.fixture(scope="module")
def jobdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    for part in range(MILLIONS):
        with igzip.open(folder / f"fetch-{20260101000000000 + part}.jsonl.gz", "wb", 1) as file:
            file.writelines(lines(part))
    return folder


@pytest.mark.soak
@pytest.mark.parametrize(("words", "most_mb"), [(("report",), 400), (("export", "tree"), 300)])
def test_memory_does_not_grow_with_the_log(
    jobdir: Path, tmp_path: Path, words: tuple[str, ...], most_mb: int
) -> None:
    command = [sys.executable, "-m", "scrapy", *words, str(jobdir), "-o", str(tmp_path / "out")]
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "webcrawl.settings", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    mb = used.ru_maxrss >> 10
    cpu = used.ru_utime + used.ru_stime
    print(f"{' '.join(words)}: {MILLIONS} million lines, {cpu / MILLIONS:.1f} CPU-us a line, {mb} MB at most")
    assert (tmp_path / "out").stat().st_size > 10_000
    assert mb < most_mb
