"""Questions to link logs: the last line of a page counts, over all workers, with an index and without."""

from __future__ import annotations

import random

import pytest

from tests.unit.links.logged import keep, kept, page, sitemap, store
from webcrawl.archive.disk import ArchiveError
from webcrawl.links import reading, segments
from webcrawl.links.reading import LinkLogs
from webcrawl.urls.canonical import canonical

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"


def pages_to(logs, url):
    return sorted(one.page for one, _ in logs.into(url))


def test_links_are_found_by_the_comparable_form_and_told_as_linked(tmp_path):
    kept(tmp_path, [page(A, ["http://b.test/%7eanna?", ("http://b.test/~anna", "area", "Anna", "nofollow")])])
    found = list(LinkLogs([tmp_path]).into("http://b.test/~anna"))
    assert [(link.to, link.type, link.text, link.rel) for _, link in found] == [
        ("http://b.test/%7eanna?", "a", "", ""),
        ("http://b.test/~anna", "area", "Anna", "nofollow"),
    ]
    assert list(LinkLogs([tmp_path]).into("http://b.test/%7eanna?")) == []


@pytest.mark.parametrize("at_a_time", [1_000_000, 1])
def test_of_a_page_that_was_fetched_again_the_last_line_counts(tmp_path, monkeypatch, at_a_time):
    monkeypatch.setattr(reading, "AT_A_TIME", at_a_time)
    kept(tmp_path / "w1", [page(A, [B], 10.0), page(C, [A], 11.0)], [page(A, [C], 30.0)])
    kept(tmp_path / "w2", [page(A, [B, C], 20.0), page(B, [B], 5.0)])
    logs = LinkLogs([tmp_path / "w1", tmp_path / "w2"])
    assert [link.to for link in logs.of(A).links] == [C]
    assert pages_to(logs, B) == [B]
    assert pages_to(logs, C) == [A]
    assert sorted(each.page for each in logs.pages()) == [A, B, C]
    assert logs.of("http://d.test/") is None


def test_the_last_line_is_known_by_a_time_of_any_fineness(tmp_path):
    first, last = 1_795_303_274.7013891, 1_795_303_280.7094689
    kept(tmp_path, [page(A, [B], first)], [page(A, [C], last)])
    assert [[link.to for link in each.links] for each in LinkLogs([tmp_path]).pages()] == [[C]]
    assert pages_to(LinkLogs([tmp_path]), C) == [A]


def test_a_line_that_came_twice_counts_once(tmp_path):
    kept(tmp_path, [page(A, [B])], [page(A, [B])])
    assert pages_to(LinkLogs([tmp_path]), B) == [A]
    assert len(list(LinkLogs([tmp_path]).pages())) == 1


def test_a_log_that_is_still_written_is_read_as_far_as_it_is_kept(tmp_path):
    log = store(tmp_path)
    keep(log, page(A, [B]))
    before = LinkLogs([tmp_path])
    keep(log, page(C, [B]), page(A, [], 3e9))
    assert pages_to(before, B) == [A]
    assert pages_to(LinkLogs([tmp_path]), B) == [C]
    after = LinkLogs([tmp_path])
    log.close()
    assert pages_to(before, B) == [A]
    assert pages_to(after, B) == [C]


@pytest.mark.parametrize("index", ["whole", "half", "none"])
def test_answers_are_those_of_a_recount(tmp_path, index):
    chance = random.Random(7)
    urls = [
        f"http://{host}.test/{'%7e' if number % 3 else '~'}{number}" for host in "abc" for number in range(20)
    ]
    groups = [
        [page(chance.choice(urls), chance.sample(urls, chance.randrange(9)), at * 10.0 + n) for n in range(5)]
        for at in range(20)
    ]
    kept(tmp_path, *groups)
    for path in (tmp_path / segments.FOLDER).glob("*.idx"):
        data = path.read_bytes()
        path.write_bytes(data[: {"whole": len(data), "half": len(data) // 2, "none": 0}[index]])
    last = {canonical(entry.record.url): entry for group in groups for entry in group}
    logs = LinkLogs([tmp_path])
    for url in map(canonical, urls):
        expected = sorted(
            entry.record.url for entry in last.values() for row in entry.links if canonical(row[0]) == url
        )
        assert pages_to(logs, url) == expected
        page_of = logs.of(url)
        assert (page_of and [link.to for link in page_of.links]) == (
            [row[0] for row in last[url].links] if url in last else None
        )


@pytest.mark.parametrize("indexed", [True, False])
def test_links_of_older_lines_are_named_too_as_long_as_there_is_time(tmp_path, indexed):
    kept(tmp_path, [page(A, [B], 10.0)], [page(A, [C], 20.0)], [page(C, [B], 30.0)], [page(C, [B], 40.0)])
    if not indexed:
        for path in (tmp_path / segments.FOLDER).glob("*.idx"):
            path.unlink()
    logs = LinkLogs([tmp_path])
    assert [(one.page, one.at) for one, _ in logs.naming(B, lambda: True)] == [
        (A, 10.0),
        (C, 30.0),
        (C, 40.0),
    ]
    asked = iter([True, True, False])
    assert 0 < len(list(logs.naming(B, lambda: next(asked)))) < 3
    assert list(logs.naming(B, lambda: False)) == []


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("member_bytes", [1 << 20, 1000])
def test_the_parts_of_a_list_are_one_and_those_of_the_last_time_count(
    tmp_path, monkeypatch, indexed, member_bytes
):
    monkeypatch.setattr("webcrawl.links.log.MEMBER_BYTES", member_bytes)
    job, old, new = tmp_path / "job", [f"{B}{n}" for n in range(3200)], [f"{B}{n}" for n in range(100, 2500)]
    kept(job, [sitemap(tmp_path, A, old, 10.0), page(C, [f"{B}5"], 11.0)])
    kept(job, [sitemap(tmp_path, A, new, 20.0)], [sitemap(tmp_path, A, new, 20.0)])
    if not indexed:
        for path in (job / segments.FOLDER).glob("*.idx"):
            path.unlink()
    logs = LinkLogs([job])
    found = logs.of(A)
    assert (found.at, found.part, [link.to for link in found.links]) == (20.0, None, new)
    parts = [each for each in logs.pages() if each.page == A]
    assert [each.part for each in parts] == [1, 2, 3]
    assert [link.to for each in parts for link in each.links] == new
    assert pages_to(logs, f"{B}5") == [C]
    assert pages_to(logs, f"{B}2400") == [A]
    kept(job, [page(A, [C], 30.0, kind="sitemap")])
    logs = LinkLogs([job])
    assert [link.to for link in logs.of(A).links] == [C]
    assert pages_to(logs, f"{B}2400") == []
    assert [each.part for each in logs.pages() if each.page == A] == [None]


def test_links_of_other_schemes_are_found_as_they_are(tmp_path):
    mail = "mailto:a@b.test?subject=%7e"
    made = page(A, [B])
    made.other_links = [(mail, "a", "write", "")]
    kept(tmp_path, [made])
    assert [(one.page, link.text) for one, link in LinkLogs([tmp_path]).into(mail)] == [(A, "write")]


def test_damage_is_named_with_its_place(tmp_path):
    kept(tmp_path, [page(A, [B])])
    (path,) = (tmp_path / segments.FOLDER).glob("*.gz")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match="the member at byte 0 is damaged"):
        list(LinkLogs([tmp_path]).into(B))


def test_a_folder_without_a_log_has_no_pages(tmp_path):
    logs = LinkLogs([tmp_path])
    assert (logs.segments, list(logs.pages()), list(logs.into(A)), logs.of(A)) == (0, [], [], None)
