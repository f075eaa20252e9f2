"""Whether a link log is whole: what is planted is found, and nothing is found where none is."""

import random

import pytest
from isal import isal_zlib

from tests.unit.archive.samples import INFO, NOW, ticking
from tests.unit.links.logged import SETTINGS, page, spooled
from webcrawl.archive.check import Check
from webcrawl.archive.listed_links import link_rows
from webcrawl.archive.reading import GZIP_MEMBER
from webcrawl.archive.store import Archive
from webcrawl.links import segments
from webcrawl.links import segments as index
from webcrawl.links.check import LinkLogCheck
from webcrawl.links.log import LinkLog

PAGES = 12


def entry(number, at=NOW, links=4, **changes):
    """A page with links, and what the log says of them."""
    random_links = random.Random(number).sample(range(1000), links)
    url = f"http://example.test/{number}"
    return page(
        url, [f"http://other.test/{link}" for link in random_links], at, extra={"links": links}, **changes
    )


def keep(folder, *groups, links=True):
    """Fetch log and link log of these groups, a member each."""
    stores = [LinkLog(folder, worker="w0", settings=SETTINGS, clock=ticking().__next__)] if links else []
    made = Archive(folder, worker="w0", warc=False, info=INFO, sinks=stores)
    made.open()
    for group in groups:
        made.append(group)
    made.close()


@pytest.fixture
def job(tmp_path):
    """Groups of three pages, and what has no line: a robots.txt, a failure, a 304."""
    others = [
        page("http://example.test/robots.txt", kind="robots"),
        entry(91, status=None, error="timeout"),
        entry(92, status=304),
    ]
    moved = page("http://example.test/moved", status=301, location="/0")
    groups = [[entry(number + each, NOW + each) for each in range(3)] for number in range(0, PAGES, 3)]
    keep(tmp_path / "job", *groups, others, [moved])
    return tmp_path / "job"


def check(*folders, **more):
    """The problems and the remarks; how many lines there were."""
    with LinkLogCheck(folders, **more) as links:
        checked = Check(folders, NOW + 3600, [links])
        problems = [f"{problem.where}: {problem.what}" for problem in checked.problems()]
    return problems, checked.totals.remarks, checked.totals.links


def segment_of(job):
    [time] = segments.times(job)
    return segments.segment_path(job, time)


def members_of(path):
    with path.open("rb") as stream:
        return [member.data for member in segments.members(stream, 0, path.stat().st_size)]


def rewrite(path, change):
    """The members with other lines, without an index."""
    data = [change(number, member) for number, member in enumerate(members_of(path))]
    path.write_bytes(b"".join(isal_zlib.compress(each, 2, GZIP_MEMBER) for each in data if each))
    segments.index_path(path).unlink(missing_ok=True)


def without_line(number):
    """Of the first member."""
    return lambda at, data: data if at else b"".join(
        line for place, line in enumerate(data.splitlines(keepends=True)) if place != number
    )  # fmt: skip


@pytest.mark.parametrize("chunk_bytes", [1 << 20, 100])
def test_nothing_is_wrong_with_what_a_crawl_wrote(job, chunk_bytes):
    assert check(job, chunk_bytes=chunk_bytes) == ([], [], PAGES + 1)


def test_without_its_index_nothing_is_wrong_with_it(job):
    segments.index_path(segment_of(job)).unlink()
    assert check(job) == ([], [], PAGES + 1)


def test_a_crawl_without_a_link_log_lacks_none(tmp_path):
    keep(tmp_path, [entry(0)], links=False)
    assert check(tmp_path) == ([], [], 0)


@pytest.mark.parametrize("at", [0, 60, -20])
def test_bytes_that_were_damaged_are_found(job, at):
    path = segment_of(job)
    data = bytearray(path.read_bytes())
    for each in range(at, at + 4):
        data[each] ^= 0x55
    path.write_bytes(data)
    problems, _, _ = check(job)
    assert any(f"{path} byte " in problem and "the data is no gzip member" in problem for problem in problems)


def test_a_file_that_is_cut_off_is_wrong_when_it_has_its_final_name(job):
    path = segment_of(job)
    path.write_bytes(path.read_bytes()[:-3])
    problems, remarks, _ = check(job)
    assert len(problems) == 1
    assert len(remarks) == 1
    path.rename(segments.open_name(path))
    problems, remarks, _ = check(job)
    assert problems == []
    assert "without their counterpart: 1, as after a crash" in remarks[0]


def test_a_line_that_is_none_is_found(job):
    rewrite(segment_of(job), lambda at, data: data if at != 3 else b"nonsense\n" + data)
    [problem] = check(job)[0]
    assert "in the member there: " in problem


def test_a_member_that_ends_within_a_line_is_found(job):
    rewrite(segment_of(job), lambda at, data: data if at else data + b"{")
    [problem] = check(job)[0]
    assert "byte 0: the member ends within a line" in problem


def test_a_page_without_its_line_is_found_and_a_line_without_its_page(job):
    rewrite(segment_of(job), without_line(1))
    [problem] = check(job)[0]
    assert "fetch.jsonl: the page http://example.test/1 has no line in the link log" in problem
    log = job / "fetch.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[2:]))
    [problem] = check(job)[0]
    assert f"{segment_of(job)}: the line of http://example.test/0 has none in the fetch log" in problem


def test_a_page_that_was_fetched_again_after_a_crash_lacks_nothing(job):
    rewrite(segment_of(job), without_line(1))
    keep(job, [entry(1, NOW + 60)])
    assert check(job)[0] == []


def test_pages_from_before_the_link_log_are_told(tmp_path):
    keep(tmp_path, [entry(0), entry(1)], links=False)
    keep(tmp_path, [entry(2)])
    assert check(tmp_path) == ([], ["pages that were fetched before the link log begins: 2"], 1)


def test_another_number_of_links_than_the_fetch_log_has_is_found(job):
    log = job / "fetch.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"links":4', b'"links":5', 1))
    [problem] = check(job)[0]
    assert "has 4 links of http://example.test/0, the fetch log has 5" in problem


@pytest.mark.parametrize("block", range(4))
def test_an_index_that_says_something_else_is_found(job, block):
    path = segments.index_path(segment_of(job))
    data = bytearray(path.read_bytes())
    blocks = list(index.blocks(bytes(data), segment_of(job).stat().st_size))
    data[blocks[block].targets_at] ^= 1
    path.write_bytes(data)
    problems, _, _ = check(job)
    assert f"{path}: does not say what the member at byte {blocks[block].start} has" in problems


def test_an_index_of_another_member_is_found_though_its_sum_is_right(job):
    path = segment_of(job)
    said = segments.index_path(path).read_bytes()
    rewrite(path, lambda at, data: data.replace(b"http://other.test/", b"http://odder.test/"))
    segments.index_path(path).write_bytes(said)
    problems, _, _ = check(job)
    assert all("does not say what the member" in problem for problem in problems)
    assert problems


LIST = "http://example.test/sitemap.xml"


def listing(folder, number, at=NOW, **changes):
    """A sitemap of so many URLs, and what the fetch log says of it."""
    listed = spooled(folder, [f"http://other.test/{place}" for place in range(number)])
    made = page(LIST, at=at, kind="sitemap", extra={"links": number, "urls": number}, **changes)
    made.listed = listed
    return made


def with_lists(folder):
    """A page, its robots.txt, a long sitemap, one that is not there, and one that moved."""
    named = page("http://example.test/robots.txt", kind="robots", extra={"links": 1, "other_links": 1})
    named.links, named.other_links = link_rows([LIST, "ftp://example.test/"])
    absent = page("http://example.test/none.xml", kind="sitemap", status=404)
    moved = page("http://example.test/old.xml", kind="sitemap", status=301, location=LIST)
    keep(folder / "job", [entry(0), named, absent], [moved, listing(folder, 2500)])
    return folder / "job"


def test_nothing_is_wrong_with_lists_of_urls(tmp_path):
    assert check(with_lists(tmp_path)) == ([], [], 1 + 1 + 1 + 1 + 3)


def test_parts_that_came_twice_are_counted_once(tmp_path):
    job = with_lists(tmp_path)
    rewrite(segment_of(job), lambda at, data: data + data if at == 1 else data)
    assert check(job)[0] == []


def test_a_part_that_is_missing_is_found(tmp_path):
    job = with_lists(tmp_path)
    rewrite(
        segment_of(job),
        lambda at, data: b"".join(line for line in data.splitlines(True) if b'"part":2' not in line),
    )
    [problem] = check(job)[0]
    assert f"has 1500 links of {LIST}, the fetch log has 2500" in problem


def test_a_list_without_its_lines_is_found(tmp_path):
    job = with_lists(tmp_path)
    keep(job, [entry(1, NOW + 1)])
    rewrite(
        segments.segment_path(job, segments.times(job)[0]),
        lambda at, data: b"".join(line for line in data.splitlines(True) if b'"kind":' not in line),
    )
    problems = check(job)[0]
    # What the fetch log says nothing of may have a line or none.
    assert len(problems) == 2
    assert all("has no line in the link log" in problem for problem in problems)


def test_lists_of_a_crawl_whose_link_log_had_none_are_not_missed(tmp_path):
    lists = [
        page(LIST, kind="sitemap", extra={"urls": 3}),
        page("http://example.test/robots.txt", kind="robots"),
    ]
    keep(tmp_path, [entry(0)], [entry(1)])
    log = tmp_path / "fetch.jsonl"
    keep(tmp_path / "other", lists, links=False)
    first, second = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + (tmp_path / "other/fetch.jsonl").read_bytes() + second)
    assert check(tmp_path) == ([], [], 2)


def test_links_of_other_schemes_are_counted_with_the_others(tmp_path):
    made = entry(0)
    made.other_links = [("mailto:a@b.test", "a", "", "")]
    made.record.extra["other_links"] = 1
    keep(tmp_path, [made])
    assert check(tmp_path) == ([], [], 1)
    log = tmp_path / "fetch.jsonl"
    log.write_bytes(log.read_bytes().replace(b',"other_links":1', b""))
    [problem] = check(tmp_path)[0]
    assert "has 5 links of http://example.test/0, the fetch log has 4" in problem


def test_the_lines_of_all_workers_are_looked_at(job, tmp_path):
    keep(tmp_path / "w2", [entry(50)])
    assert check(job, tmp_path / "w2") == ([], [], PAGES + 2)
    (tmp_path / "w2/fetch.jsonl").write_bytes(b"")
    assert check(job, tmp_path / "w2")[0] == []
    assert "without their counterpart: 1" in check(job, tmp_path / "w2")[1][0]
