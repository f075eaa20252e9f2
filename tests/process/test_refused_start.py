"""A start that is refused is a line and status 2 under Scrapy's own commands too; a script gets the exception."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import forked
from tests.crawl.crawling import ROOT

SPIDER = """
import scrapy

class Mine(scrapy.Spider):
    name = "mine"
    start_urls = ["http://127.0.0.1:9/"]
"""
MODULES = {
    # The project's settings under commands of another one.
    "others": "from webcrawl.settings import *\nCOMMANDS_MODULE = ''\n",
    "lacking": "from webcrawl.settings import *\nSPIDER_MIDDLEWARES_BASE = {}\n",
    "alone": "SCHEDULER = 'webcrawl.scheduler.Scheduler'\nSPIDER_MODULES = ['webcrawl.spiders']\n",
    "wrong": "from webcrawl.settings import *\nPOLITENESS_MIN_DELAY = 'abc'\nLOG_ENABLED = False\n",
    "without_extensions": (
        "from webcrawl.settings import *\nEXTENSIONS_BASE = {}\nCOMMANDS_MODULE = ''\n"
        "DOWNLOADER_MIDDLEWARES_BASE = {}\n"
    ),
}
SCRIPT = """
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
from mine import Mine

process = AsyncCrawlerProcess(get_project_settings())
crawls = [process.crawl(Mine), process.crawl(Mine)]
process.start()
for crawl in crawls:
    print(type(crawl.exception()).__name__, crawl.exception())
"""
WRONG = "POLITENESS_MIN_DELAY: must be a number from 0 to 86400, not 'abc'"
SEEDS = "seeds=http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def place(folder):
    """Where the commands are given."""
    home = folder / "place"
    home.mkdir()
    (home / "mine.py").write_text(SPIDER)
    (home / "a-file").touch()
    for name, text in MODULES.items():
        (home / f"{name}.py").write_text(text)
    return home


def environment(place, module):
    path = os.pathsep.join([str(place), str(ROOT)])
    return {**os.environ, "SCRAPY_SETTINGS_MODULE": module, "PYTHONPATH": path, "COLUMNS": "200"}


def given(place, words, module="webcrawl.settings"):
    """A command to its end: its status, and what it says beside the log. There is no traceback."""
    ended = forked.run(words, place, environment(place, module))
    assert "Traceback" not in ended.stderr + ended.stdout, ended.stderr[-5000:]
    assert "Unhandled" not in ended.stderr, ended.stderr[-5000:]
    lines = [line for line in ended.stderr.splitlines() if line.startswith("scrapy ")]
    return ended.returncode, lines


@pytest.mark.parametrize(
    ("module", "words", "said"),
    [
        ("webcrawl.settings", ["runspider", "mine.py", "-s", "POLITENESS_MIN_DELAY=abc"], [WRONG]),
        (
            "webcrawl.settings",
            ["runspider", "mine.py", "-s", "POLITENESS_MIN_DELAY=abc", "-s", "CONCURRENT_REQUESTS=0"],
            [WRONG, "CONCURRENT_REQUESTS: must be"],
        ),
        (
            "webcrawl.settings",
            ["runspider", "mine.py", "-s", "EXCLUSION_FILE=none"],
            ["EXCLUSION_FILE: must be"],
        ),
        ("lacking", ["runspider", "mine.py"], ["SPIDER_MIDDLEWARES: the crawl needs webcrawl."]),
        ("others", ["crawl", "broad", "-a", SEEDS, "-s", "JOBDIR=a-file"], ["JOBDIR: must be a folder"]),
        (
            "others",
            ["crawl", "broad", "-a", "seeds=none", "-s", "JOBDIR=no-seeds"],
            ["cannot read the seeds in"],
        ),
        ("alone", ["crawl", "broad", "-a", SEEDS], ["SCHEDULER: is this crawler's without its other parts"]),
        (
            "without_extensions",
            ["crawl", "broad", "-a", SEEDS],
            ["DOWNLOADER_MIDDLEWARES: the crawl needs", "EXTENSIONS: the crawl needs"],
        ),
    ],
)
def test_what_is_wrong_is_said_in_lines_and_the_status_is_2(place, module, words, said):
    status, lines = given(place, words, module)
    assert status == 2
    assert len(lines) == len(said), lines
    for line, word in zip(lines, said, strict=True):
        assert line.startswith(f"scrapy {words[0]}: {word}"), line


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        (["runspider", "mine.py"], 'DOWNLOADER_MIDDLEWARES={"nowhere.Part": 500}'),
        (["runspider", "mine.py"], 'ITEM_PIPELINES={"nowhere.Part": 500}'),
        (["runspider", "mine.py"], 'DOWNLOAD_HANDLERS={"https": "nowhere.Part"}'),
        (["crawl", "broad", "-a", SEEDS], 'SPIDER_MIDDLEWARES={"nowhere.Part": 500}'),
    ],
)
def test_a_part_that_cannot_be_created_is_named_with_its_traceback(place, words, setting):
    module = environment(place, "others")
    ended = forked.run([*words, "-s", setting, "-s", "CRAWLER_CONTACT=me@crawler.example"], place, module)
    assert ended.returncode == 1
    assert "CRITICAL: The crawl could not start" in ended.stderr, ended.stderr
    assert ended.stderr.count("ModuleNotFoundError: No module named 'nowhere'") == 1, ended.stderr


def test_a_jobdir_that_is_held_is_refused_too(place, serve, start):
    web = serve(hosts=4, pages=40)
    first = start(web.seeds, POLITENESS_MIN_DELAY=0.5)
    first.until_logged(2)
    for module, words in (
        ("webcrawl.settings", ["runspider", "mine.py"]),
        ("others", ["crawl", "broad", "-a", SEEDS]),
    ):
        status, lines = given(place, [*words, "-s", f"JOBDIR={first.path}"], module)
        assert (status, len(lines)) == (2, 1)
        assert f"in use by process {first.process.pid}" in lines[0]
    first.wait().assert_ended_well()
    assert first.assert_sound().queued == 0


@pytest.mark.parametrize(
    ("words", "status"),
    [
        # Of these Scrapy's command forgets what it has begun; it ends before the event loop has turned.
        (["crawl", "broad", "-s", "POLITENESS_MIN_DELAY=abc"], 1),
        (["crawl", "broad", "-a", "seeds=none", "-s", "JOBDIR=no-seeds-either"], 2),
    ],
)
def test_a_crawl_of_deferreds_says_a_line_and_does_not_end_well(place, words, status):
    ended, lines = given(place, [*words, "-s", "FORCE_CRAWLER_PROCESS=True"], "others")
    assert (ended, len(lines)) == (status, 1)


def test_a_script_gets_the_exception_of_each_crawl(place):
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=place,
        env=environment(place, "wrong"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout.splitlines() == [f"ConfigurationError {WRONG}"] * 2
    assert "scrapy " not in ended.stderr
