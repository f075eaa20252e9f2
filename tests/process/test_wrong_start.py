"""What is wrong with a command is said at once and all of it, one line each; nothing is begun, the status is 2."""

from __future__ import annotations

import pytest

PUBLIC = "http://www.example.com/"


def said(crawl):
    """What the command says, without its name; nothing else is on standard error, and nothing was made."""
    assert crawl.status == 2, crawl.stderr[-3000:]
    lines = crawl.stderr.splitlines()
    assert all(line.startswith("scrapy crawl: ") for line in lines), crawl.stderr[-3000:]
    assert not crawl.path.exists()
    return [line.removeprefix("scrapy crawl: ") for line in lines]


@pytest.fixture(scope="module")
def seeds(folder):
    path = folder / "seeds.txt"
    path.write_text("http://h0000.localhost:1/\n")
    return str(path)


def test_every_wrong_setting_and_argument_is_named_at_once(crawl, seeds, folder):
    crawled = crawl(
        seeds,
        arguments={"allow": "(", "sed": "x"},
        POLITENESS_MIN_DELAY="slow",
        CONCURRENT_REQUESTS=0,
        POLITNESS_FACTOR=3,
        EXCLUSION_FILE=folder / "missing.txt",
        CLOSESPIDER_PAGECOUNT="-1",
    )
    lines = said(crawled)

    for name in (
        "POLITENESS_MIN_DELAY",
        "CONCURRENT_REQUESTS",
        "POLITNESS_FACTOR",
        "EXCLUSION_FILE",
        "CLOSESPIDER_PAGECOUNT",
        "-a allow",
        "-a sed",
    ):
        assert sum(line.startswith(f"{name}:") for line in lines) == 1, name
    assert len(lines) == 7
    assert any("POLITENESS_FACTOR" in line for line in lines)


@pytest.mark.parametrize(
    ("content", "word"),
    [(None, "cannot read"), ("", "no seeds"), ("# only words\n\n", "no seeds"), ("x y\n", "line 1")],
)
def test_seeds_that_give_nothing_are_refused(crawl, folder, content, word):
    path = folder / f"seeds-{word.replace(' ', '-')}-{len(content or '')}.txt"
    if content is not None:
        path.write_text(content)

    (line,) = said(crawl(str(path)))
    assert "-a seeds" in line
    assert word in line


def test_no_seeds_at_all_are_refused(crawl):
    (line,) = said(crawl())
    assert "nothing to crawl" in line


def test_the_public_web_is_not_crawled_without_a_contact(crawl):
    (line,) = said(crawl(PUBLIC))

    assert "CRAWLER_CONTACT" in line
    assert "www.example.com" in line


def test_a_log_file_says_it_too(crawl, folder):
    log = folder / "refused.log"
    (line,) = said(crawl(PUBLIC, LOG_FILE=log))

    assert log.read_text() == f"scrapy crawl: {line}\n"


def test_standard_input_is_held_to_the_same(crawl):
    public, empty = crawl("-", stdin=f"{PUBLIC}\n".encode()), crawl("-", stdin=b"# nothing\n")

    for crawled, word in ((public, "CRAWLER_CONTACT"), (empty, "no seeds")):
        assert crawled.status == 2
        assert "Traceback" not in crawled.stderr
        assert [
            line for line in crawled.stderr.splitlines() if line.startswith("scrapy crawl: ") and word in line
        ]
        assert crawled.lines() == []
