"""``scrapy plan`` from the command line: for people, for programs, and what is wrong with its arguments."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rows import each_row
from webcrawl.commands.plan import seconds, whole

ROOT = Path(__file__).parents[3]
SCRAPY = str(Path(sys.executable).with_name("scrapy"))


def planned(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRAPY, "plan", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.slow
def test_a_program_reads_what_a_person_reads() -> None:
    told = planned(
        "--urls", "2M", "--hosts", "10k", "--workers", "4", "--json", "-s", "POLITENESS_MIN_DELAY=2"
    )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert (found["size"]["urls"], found["size"]["queued"], found["size"]["pages"]) == (2_000_000,) * 3
    assert (found["size"]["delay_seconds"], found["size"]["workers"]) == (2.0, 4)
    shown = planned("--urls", "2_000_000", "--hosts", "10_000", "--delay", "2", "--workers", "4")
    assert "2,000,000 URLs of 60 characters on 10,000 hosts" in shown.stdout
    for section in ("redis_memory", "redis_disk", "sqlite_disk", "worker_memory", "archive", "time"):
        for figure in found[section].values():
            assert figure["because"] in shown.stdout
    assert found["redis_memory"]["total"]["bytes"] > 100_000_000


@pytest.mark.slow
def test_everything_that_is_wrong_is_told_at_once() -> None:
    told = planned("--urls", "10", "--hosts", "30", "--queued", "50", "-s", "POLITENESS_MIN_DELAY=x")
    assert (told.returncode, told.stdout) == (2, "")
    assert [line.split(": ")[:2] for line in told.stderr.splitlines()] == [
        ["scrapy plan", "--hosts"],
        ["scrapy plan", "--queued"],
        ["scrapy plan", "POLITENESS_MIN_DELAY"],
    ]


@each_row(
    ("text", "number"),
    [("12", 12), ("2_000", 2000), ("1.5k", 1500), ("2M", 2_000_000), ("3G", 3_000_000_000)],
)
def test_numbers_may_be_short(text: str, number: int) -> None:
    assert whole(text) == number


@each_row("text", ["", "x", "1.5", "-1", "M", "1e30", "nan", "inf"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises((ValueError, argparse.ArgumentTypeError)):
        whole(text)


@each_row("text", ["-1", "86401", "x", "nan"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises((ValueError, argparse.ArgumentTypeError)):
        seconds(text)
