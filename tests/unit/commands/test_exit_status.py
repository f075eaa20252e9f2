"""The exit status of ``scrapy crawl``: 0 ended as asked, 1 ended through errors, 2 did not start, and says
why.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Scrapy = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.slow


def test_a_crawl_that_finished_ended_as_asked(scrapy: Scrapy, project: Path) -> None:
    done = scrapy("crawl", "tiny")
    assert done.returncode == 0, done.stderr
    assert "tiny finished after" in done.stderr
    assert "To resume it: scrapy crawl tiny -s JOBDIR=crawls/tiny-" in done.stderr
    assert "Overridden settings" not in done.stderr
    assert "Traceback" not in done.stderr
    (directory,) = (project / "crawls").iterdir()
    assert (directory / "report.html").exists()


@pytest.mark.parametrize(
    "arguments",
    [["-s", "CLOSESPIDER_PAGECOUNT=1", "-a", "pages=500"], ["-a", "stop=enough"]],
    ids=["limit", "own"],
)
def test_a_crawl_that_was_told_when_to_stop_ended_as_asked(scrapy: Scrapy, arguments: list[str]) -> None:
    assert scrapy("crawl", "tiny", *arguments).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_crawl_as_asked(project: Path, environment: dict[str, str], number: int) -> None:
    command = [sys.executable, "-m", "scrapy", "crawl", "tiny", "-a", "pages=100000", "-a", "pause=0.01"]
    crawl = subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True)
    assert crawl.stderr is not None
    for line in crawl.stderr:
        if "extensions.statistics" in line:  # the crawl runs
            break
    crawl.send_signal(number)
    _, errors = crawl.communicate(timeout=30)
    assert crawl.returncode == 0, errors
    assert "tiny was stopped after" in errors
    assert "to go on: scrapy crawl tiny" in errors


def test_too_many_unanticipated_errors_end_it_through_errors(scrapy: Scrapy, project: Path) -> None:
    done = scrapy(
        "crawl",
        "tiny",
        "-a",
        "bad=1",
        "-a",
        "pages=500",
        "-s",
        "ERRORS_UNANTICIPATED_MAX=3",
        "-s",
        "JOBDIR=job",
    )
    assert done.returncode == 1
    assert "had too many unanticipated errors" in done.stderr
    kept = (project / "job/unanticipated.log").read_text()
    assert kept.count("RuntimeError: bad callback") > 3


def test_a_few_unanticipated_errors_do_not(scrapy: Scrapy) -> None:
    assert scrapy("crawl", "tiny", "-a", "bad=1").returncode == 0


def test_a_start_that_breaks_ends_it_through_errors(scrapy: Scrapy) -> None:
    assert scrapy("crawl", "tiny", "-a", "broken=1").returncode == 1


def test_a_jobdir_that_is_refused_is_told_in_one_line(scrapy: Scrapy) -> None:
    done = scrapy(
        "crawl", "tiny", "-a", "refusal=JobdirDamaged", "-s", "JOBDIR=job", "-s", "LOG_LEVEL=WARNING"
    )
    assert done.returncode == 2
    assert done.stderr == "scrapy crawl: the JOBDIR is refused; do this or that\n"


def test_seeds_that_turn_out_to_be_wrong_are_told_in_one_line(scrapy: Scrapy) -> None:
    done = scrapy("crawl", "tiny", "-a", "late=1", "-s", "LOG_LEVEL=WARNING")
    assert done.returncode == 2
    assert done.stderr.endswith("scrapy crawl: nobody could be asked\n")
    assert "Traceback" not in done.stderr


def test_wrong_settings_are_all_told_and_nothing_but_the_log_is_made(scrapy: Scrapy, project: Path) -> None:
    before = sorted(project.rglob("*"))
    done = scrapy(
        "crawl", "tiny", "-s", "POLITENESS_MIN_DELAY=soon", "-s", "FRONTIER_BAKEND=sqlite", "-s", "JOBDIR=job",
        "--pidfile", "pid", "--logfile", "log",
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "scrapy crawl: FRONTIER_BAKEND: is not a setting; did you mean FRONTIER_BACKEND?",
        "scrapy crawl: POLITENESS_MIN_DELAY: must be a number from 0 to 86400, not 'soon'",
    ]
    made = {path for path in set(project.rglob("*")) - set(before) if "__pycache__" not in path.parts}
    assert made == {project / "log"}
    assert (project / "log").read_text() == done.stderr


def test_log_lines_go_above_the_display(scrapy: Scrapy) -> None:
    done = scrapy(
        "crawl", "tiny", "-s", "PROGRESS_DISPLAY=on", "-a", "pages=60", "-a", "pause=0.02", TERM="xterm"
    )
    assert done.returncode == 0
    assert "5 URLs" in done.stderr, "the display was drawn"
    assert "INFO: Closing spider (finished)\n" in done.stderr, "no log line was torn"
    assert "extensions.statistics" not in done.stderr, "what the display shows is not logged beside it"
    assert "tiny finished after" in done.stderr
