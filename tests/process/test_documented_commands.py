"""Every block of README and docs is executed as its page shows it, and prints what the page says."""

from __future__ import annotations

import argparse
import re
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest
from scrapy.settings import Settings

from tests import documented
from tests.documented import Block, agrees, blocks_of
from tests.redis_server import RedisServer

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCKS = {str(page.relative_to(ROOT)): blocks_of(page) for page in PAGES if page.name != "CHANGELOG.md"}
ALL = [block for blocks in BLOCKS.values() for block in blocks]


def is_executed(block: Block) -> bool:
    return block.reason is None and (block.language in documented.EXECUTED or block.file is not None)


EXECUTED = [page for page, blocks in BLOCKS.items() if any(map(is_executed, blocks))]


@pytest.mark.parametrize("page", EXECUTED)
def test_commands_do_what_the_page_says(page, tmp_path_factory, request):
    blocks = BLOCKS[page]
    redis: RedisServer | None = None
    if any(":6379" in block.text for block in blocks if is_executed(block)):
        request.getfixturevalue("needs_redis")
        redis = request.getfixturevalue("redis_server")
    session = documented.Session(tmp_path_factory.mktemp(Path(page).stem), redis)
    with closing(session):
        for block in filter(is_executed, blocks):
            session.execute(block)


def options_of(name: str) -> set[str]:
    command = import_module(f"webcrawl.commands.{name}").Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    return {option for action in parser._actions for option in action.option_strings}


def test_the_options_of_a_usage_are_those_of_the_command():
    wrong = []
    for block in ALL:
        if block.language != "usage":
            continue
        name = ""
        for line in block.text.splitlines():
            name = line.split()[1] if line.startswith("scrapy ") else name
            strange = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", line)) - options_of(name)
            wrong += [f"{block.name}: scrapy {name} has no {option}" for option in strange]
    assert wrong == []


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("pages 498 (50/s)", "pages   498 (1.5/s)"),
        ("9 requests at 2026-11-21 10:35:40.102", "9 requests at 2027-01-01 09:00:00"),
        ("after 8.2 s, 31.8 kB, 0 in flight", "after 12 s, 7 bytes, 0 in flight"),
        ("joined as vm-28688", "joined as vm-3"),
        ("a\n...\nz", "a\nb\nc\nz"),
        ("a\n...\nz", "a\nz"),
        ("kept in crawls/...", "kept in crawls/broad-vm-1"),
        ("12.1 MB", "97 kB"),
    ],
)
def test_what_varies_agrees(expected, printed):
    assert agrees(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("pages 498", "pages none"),
        ("pages 498", "pages 499"),
        ("1,279 requests", "1,280 requests"),
        ("left in queues 0  40 hosts", "left in queues 0  41 hosts"),
        ("a\nb", "a\nb\nc"),
        ("a\nb\nc", "a\nb"),
        ("kept in crawls/first", "kept in crawls/second"),
        ("failed 0", "refused 0"),
    ],
)
def test_what_differs_does_not_agree(expected, printed):
    assert not agrees(expected, printed)


def test_any_number_will_do_in_the_lines_that_vary():
    assert agrees("queued 3\nfailed 0", "queued 9\nfailed 0", varies=["queued"])
    assert not agrees("queued 3\nfailed 0", "queued 9\nfailed 1", varies=["queued"])
    assert agrees("idle; 43 URLs queued", "idle; 1 URL queued", varies=["queued"])


def test_numbers_are_compared_where_they_are_exact():
    assert agrees("6.5 pages", "6.5 pages", exact=True)
    assert not agrees("6.5 pages", "6.6 pages", exact=True)
