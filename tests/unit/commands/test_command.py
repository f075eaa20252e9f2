"""What all commands of the project have in common: nothing that was misspelt is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands import Command

WORDS = {
    "audit": [],
    "botpage": [],
    "checkpoint": ["a", "b"],
    "complaint": ["a.test"],
    "exclude": ["a.test"],
    "explain": ["http://a.test/"],
    "frontier": ["status"],
    "logs": ["."],
    "plan": ["--urls", "10", "--hosts", "2"],
}
"""What each takes, were it not for the slip."""


@pytest.mark.parametrize("name", WORDS)
def test_a_misspelt_option_is_told(command: Callable[..., Command], name: str) -> None:
    done = command(name)(*WORDS[name], "--forse")
    assert (done.status, done.out) == (2, "")
    assert done.err == f"scrapy {name}: --forse: is no option of this command; see scrapy {name} -h\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("archive", "no command; give check or index"),
        ("botpage x", "x: is one argument too many; botpage takes options alone"),
        ("cat", "no URL; give one, and the JOBDIRs of its crawl"),
        ("complaint", "no domain; give the one that complains"),
        ("demo x", "x: is one argument too many; demo takes options alone"),
        ("exclude", "no domain; give one, or the beginning of URLs, or --now"),
        ("explain", "no URL; give one"),
        ("export", "no command; give tree, urls, seeds or parquet"),
        ("fetch", "no URL; give one"),
        (
            "fetch http://a.test/ --spider brod",
            "--spider: brod is no spider of this project; did you mean broad?",
        ),
        ("frontier", "no command; give status, pause, resume, stop or check"),
        ("links", "no command; give out, in, graph or export"),
        ("links in", "in: no URL; give one"),
        ("parse", "no URL; give one"),
        (
            "parse http://a.test/ --spider nosuch",
            "--spider: nosuch is no spider of this project; there is broad",
        ),
        ("plan --urls 1 --hosts 1 x", "x: is one argument too many; plan takes options alone"),
        ("retry job", "job is no folder"),
        ("segments", "no command; give export with a folder, or import with folders or files"),
        ("shell --spider nosuch", "--spider: nosuch is no spider of this project; there is broad"),
        ("token", "no command; give add, list or revoke"),
        ("token give anna", "give: is no command; give add, list or revoke"),
        ("token add", "add: no name; give that of the operator"),
        ("token list --read", "--read: is for add"),
        ("unpark", "no host; give one or several, or all"),
        ("view", "no URL; give one"),
    ],
)
def test_what_is_missing_or_too_much_is_told(
    command: Callable[..., Command], words: str, sentence: str
) -> None:
    name, *rest = words.split()
    done = command(name)(*rest)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"scrapy {name}: {sentence}\n"


@pytest.mark.parametrize("name", sorted(WORDS.keys() - {"checkpoint"}))
def test_a_misspelt_setting_is_told(command: Callable[..., Command], name: str) -> None:
    done = command(name)(*WORDS[name], POLITENES_MIN_DELAY=3)
    assert (done.status, done.out) == (2, "")
    line = f"scrapy {name}: POLITENES_MIN_DELAY: is not a setting; did you mean POLITENESS_MIN_DELAY?"
    assert line in done.err.splitlines()
