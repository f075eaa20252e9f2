"""A command whose output nobody reads any more (``| head``) ends quietly, with the status of any such tool."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import forked
from tests.forked import ROOT, Files
from webcrawl.terminal import READER_GONE

pytestmark = pytest.mark.skipif(
    not forked.POSSIBLE, reason="it needs to hold a process between two of its files"
)

JOB, PAGE = "JOB", "PAGE"
COMMANDS: dict[str, list[str]] = {
    "add": [PAGE, "-s", f"JOBDIR={JOB}"],
    "archive": ["check", JOB],
    "audit": [JOB],
    "botpage": ["-s", "CRAWLER_CONTACT=you@your.site"],
    "cat": [PAGE, JOB],
    "complaint": [PAGE, JOB],
    "crawls": ["."],
    "delay": [JOB],
    "dust": [JOB],
    "mirrors": [JOB],
    "errors": [JOB],
    "exclude": ["example.org", "-s", f"JOBDIR={JOB}"],
    "explain": [PAGE, "-s", f"JOBDIR={JOB}"],
    "export": ["urls", "--state", "done", JOB],
    "usage": [JOB],
    "fetch": [PAGE],
    "frontier": ["status", "-s", f"JOBDIR={JOB}"],
    "hosts": [JOB],
    "links": ["in", PAGE, JOB],
    "logs": [JOB],
    "parse": [PAGE],
    "plan": ["--urls", "1000", "--hosts", "10"],
    "search": ["library", JOB],
    "set": [JOB],
    "shell": [PAGE, "-c", "response.url"],
    "status": [JOB],
    "token": ["list", JOB],
    "traps": ["-s", f"JOBDIR={JOB}"],
}
OTHERS = {
    "crawl": "it writes no result but feeds",
    "check": "it writes to standard error",
    "cache": "it is for a running crawl",
    "checkpoint": "it copies a crawl",
    "dashboard": "it serves until it is stopped",
    "demo": "it serves until it is stopped",
    "identity": "it writes files, and lists the keys of one",
    "notify": "it sends a message",
    "pause": "it is for a running crawl",
    "report": "it writes a file",
    "move": "it needs a Redis",
    "resume": "it is for a running crawl",
    "retry": "it is for a running crawl",
    "save": "it is for a running crawl",
    "segments": "it writes files",
    "serve": "it serves until it is stopped",
    "stop": "it is for a running crawl",
    "unpark": "it is for a running crawl",
    "view": "it is fetch with a browser",
    "websub": "it is for a crawl with subscriptions",
}
NO_COMMANDS = {"__init__", "changes", "fetch_logs", "output", "page_commands"}


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=1, pages=3, seed=3)


@pytest.fixture(scope="module")
def job(web, crawl):
    sinks = "webcrawl.links.log.LinkLog,webcrawl.search.store.SearchIndex"
    modules = "webcrawl.processing.main_text.MainText"
    return crawl(web.seeds, ARCHIVE_SINKS=sinks, PROCESSING_MODULES=modules).assert_ended_well().path


def test_every_command_is_tried():
    there = {path.stem for path in (ROOT / "webcrawl/commands").glob("*.py")} - NO_COMMANDS
    assert there == COMMANDS.keys() | OTHERS.keys()


def ended(words: list[str], folder: Path) -> tuple[int, str]:
    """The status of a command and its complaints; the reader of its output has left before it writes anything."""
    out, err = folder / "out", folder / "err"
    for pipe in (out, err):
        os.mkfifo(pipe)
    environment = {**os.environ, "SCRAPY_SETTINGS_MODULE": "webcrawl.settings", "PYTHONPATH": str(ROOT)}
    process = forked.scrapy(words, folder, environment, Files(Path(os.devnull), out, err))
    # It opens its output and then, when that has a reader, waits for one of its complaints.
    os.close(os.open(out, os.O_RDONLY))
    complaints = err.read_text()
    return process.wait(120), complaints


@pytest.mark.parametrize("command", COMMANDS)
def test_it_ends_like_other_tools(command, web, job, tmp_path):
    known = {JOB: str(job), PAGE: web.seeds[0]}
    words = [known.get(word, word.replace(f"={JOB}", f"={job}")) for word in COMMANDS[command]]
    status, complaints = ended([command, *words, "-s", "LOG_ENABLED=False"], tmp_path)
    assert "Traceback" not in complaints
    assert "BrokenPipe" not in complaints
    assert status == READER_GONE, complaints
