"""Everything wrong with the arguments is named in one line each, before anything starts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
import scrapy

from tests.rows import each_row
from webcrawl.config import Configuration
from webcrawl.crawl.arguments import check_arguments
from webcrawl.spiders.broad import BroadSpider

if TYPE_CHECKING:
    from pathlib import Path


class Broad(scrapy.Spider):
    name = "broad"


class Own(scrapy.Spider):
    name = "own"
    start_urls = ["http://127.0.0.1/", "https://shop.example.org/"]  # noqa: RUF012


CONTACT = "https://me.example.org/crawl"


def problems(
    given: dict[str, str], spider: type[scrapy.Spider] = Broad, resuming: bool = False, **settings: Any
) -> list[str]:
    configuration = Configuration(**settings)
    found = [str(problem) for problem in check_arguments(spider, given, configuration, resuming=resuming)]
    assert not [problem for problem in found if "\n" in problem]
    return found


@each_row(
    ("given", "said"),
    [
        ({}, "nothing to crawl; give -a seeds=FILE"),
        ({"seeds": ""}, "nothing to crawl"),
        ({"seeds": "http://a.test/", "mode": "often"}, "-a mode: must be once or continuous, not 'often'"),
        ({"sedes": "http://a.test/"}, "-a sedes: is no argument of the spider broad; did you mean seeds?"),
        (
            {"depth": "3", "seeds": "http://a.test/"},
            "-a depth: is no argument of the spider broad; there are",
        ),
        ({"seeds": "http://a.test/", "allow": "a(b"}, "-a allow: 'a(b' is no regular expression"),
        ({"seeds": "/no/such/file"}, "-a seeds: cannot read the seeds in '/no/such/file': No such file"),
        ({"seeds": "."}, "-a seeds: cannot read the seeds in '.': it is a directory"),
        ({"domains": "/no/such/file"}, "-a domains: '/no/such/file' is neither a file nor a name"),
        ({"seeds": "ftp://a.test/"}, "-a seeds: no seed in 'ftp://a.test/' is a URL; line 1"),
    ],
)
def test_a_wrong_argument_is_named_with_its_remedy(given: dict[str, str], said: str) -> None:
    assert any(problem.startswith(said) for problem in problems(given)), problems(given)


def test_what_a_scheduler_of_jobs_notes_is_accepted() -> None:
    assert problems({"seeds": "http://a.test/", "_job": "5f2a"}) == []
    spider = BroadSpider(seeds="http://a.test/", _job="5f2a")
    assert spider._job == "5f2a"  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="sedes"):
        BroadSpider(sedes="http://a.test/")


def test_the_position_of_a_mistake_in_a_pattern_is_told() -> None:
    (problem,) = problems({"seeds": "http://a.test/", "allow": "ab[c"})
    assert problem.endswith("at position 2")


def test_all_are_found_at_once() -> None:
    wrong = {"seeds": "/no/such/file", "allow": "(", "domains": "/no/such/file", "x": "1"}
    assert [problem.split(":")[0] for problem in problems(wrong)] == [
        "-a x",
        "-a allow",
        "-a domains",
        "-a seeds",
    ]


@pytest.mark.parametrize("text", ["", "# only a comment\n\n", "not a url\nneither this\n"])
def test_a_seeds_file_without_a_single_url_is_refused(text: str, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(text)
    (problem,) = problems({"seeds": str(seeds)})
    assert str(seeds) in problem


def test_one_url_among_wrong_lines_is_enough(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("not a url\nhttp://a.test/\n")
    assert problems({"seeds": str(seeds)}) == []


def test_a_crawl_of_the_public_web_needs_a_contact(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://a.test/\n" * 100 + "https://www.example.org/\n")
    for given in (
        {"seeds": str(seeds)},
        {"domains": "example.org"},
        {"seeds": "http://a.test/", "domains": "x.org"},
    ):
        (problem,) = problems(given)
        assert problem.startswith("CRAWLER_CONTACT: a crawl of the public web")
        assert problems(given, crawler_contact=CONTACT) == []
        assert problems(given, user_agent="bot/1 (me@example.org)") == []


def test_the_missing_contact_is_said_once() -> None:
    (problem,) = problems({"seeds": "http://example.org/", "domains": "example.org"})
    assert problem.startswith("CRAWLER_CONTACT")


def test_a_crawl_of_ones_own_machine_needs_none() -> None:
    assert (
        problems({"seeds": "http://127.0.0.1:8000/,http://x.localhost/", "domains": "http://x.localhost"})
        == []
    )


def test_a_crawl_that_is_gone_on_with_needs_no_seeds() -> None:
    assert problems({}, resuming=True) == []


def test_standard_input_is_left_to_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.BytesIO(b"https://example.org/\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
    assert problems({"seeds": "-"}) == []
    assert given.tell() == 0


def test_the_arguments_of_other_spiders_are_their_own_affair() -> None:
    assert problems({"anything": "goes"}, spider=Own, crawler_contact=CONTACT) == []


def test_other_spiders_need_a_contact_too() -> None:
    (problem,) = problems({}, spider=Own)
    assert "shop.example.org" in problem


def test_a_wrong_exclusion_file_is_named_line_by_line(tmp_path: Path) -> None:
    exclusions = tmp_path / "exclude.txt"
    exclusions.write_text("example.org\n!!\n")
    found = problems({"seeds": "http://a.test/"}, exclusion_file=exclusions)
    assert found
    assert all(problem.startswith("EXCLUSION_FILE: ") for problem in found)


@pytest.mark.parametrize(
    ("given", "settings", "said"),
    [
        ({"segment": "/no/such/file"}, {}, "-a segment: /no/such/file cannot be read: No such file"),
        ({"seeds": "http://a.test/"}, {}, "-a seeds: a crawl of a segment takes its URLs from the segment"),
        ({"domains": "a.test"}, {}, "-a domains: a crawl of a segment takes its URLs from the segment"),
        ({"mode": "continuous"}, {}, "-a mode: a crawl of a segment visits its URLs once"),
        ({}, {"crawl_mode": "continuous"}, "-a mode: a crawl of a segment visits its URLs once"),
        ({}, {"frontier_seen": "bloom"}, "-a segment: needs FRONTIER_SEEN=exact"),
        ({}, {"frontier_backend": "memory"}, "-a segment: needs FRONTIER_BACKEND=sqlite, not memory"),
    ],
)
def test_what_does_not_go_with_a_segment_is_told(
    tmp_path: Path, given: dict[str, str], settings: dict[str, Any], said: str
) -> None:
    segment = tmp_path / "segment.jsonl.gz"
    segment.write_bytes(b"")
    [problem] = problems({"segment": str(segment), **given}, **settings)
    assert problem.startswith(said)


def test_a_crawl_of_a_segment_and_any_other_are_not_mixed(tmp_path: Path) -> None:
    segment = tmp_path / "mine.jsonl"
    segment.write_bytes(b"")
    (tmp_path / "frontier.db").write_bytes(b"")
    [problem] = problems({"segment": str(segment)}, resuming=True, jobdir=tmp_path)
    assert problem == f"-a segment: {tmp_path} is the crawl of no segment; give another JOBDIR"
    (tmp_path / "segment.jsonl.gz").write_bytes(b"")
    assert problems({}, resuming=True, jobdir=tmp_path) == []
    [problem] = problems({"seeds": "http://a.test/"}, resuming=True, jobdir=tmp_path)
    assert problem.startswith("-a seeds: a crawl of a segment takes its URLs from the segment")
