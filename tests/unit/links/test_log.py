"""The store of the link log: groups whole or not at all, segments that roll, what a crash leaves."""

from __future__ import annotations

import errno
import gzip
import json

import pytest

from tests.unit.archive.samples import NOW
from tests.unit.links.logged import SETTINGS, keep, kept, page, sitemap, store
from webcrawl.archive.disk import ArchiveError, Disk
from webcrawl.archive.listed_links import PART_CHARACTERS, PART_LINKS, link_rows
from webcrawl.links import segments
from webcrawl.links import segments as index
from webcrawl.links.reading import LinkLogs

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"


def lines(directory):
    """What the standard library's gzip reads in all segments, in their order."""
    folder = directory / segments.FOLDER
    paths = sorted(folder.glob("*.jsonl.gz*"))
    return [json.loads(line) for path in paths for line in gzip.decompress(path.read_bytes()).splitlines()]


def names(directory):
    return sorted(path.name for path in (directory / segments.FOLDER).iterdir())


def told(directory):
    return {each.page: [link.to for link in each.links] for each in LinkLogs([directory]).pages()}


def test_a_group_is_there_whole_or_not_at_all(tmp_path):
    log = store(tmp_path)
    keep(log, page(A, [B]), page(B))
    log.write([page(C, [A])])
    log.sync()
    log.rollback()
    keep(log, page(C, [B]))
    log.close()
    assert [line["page"] for line in lines(tmp_path)] == [A, B, C]
    assert told(tmp_path) == {A: [B], B: [], C: [B]}
    assert log.size == 0
    (stem,) = {name.split(".")[0] for name in names(tmp_path)}
    assert names(tmp_path) == [f"{stem}.idx", f"{stem}.jsonl.gz"]


def test_what_was_not_kept_leaves_no_file(tmp_path):
    log = store(tmp_path)
    log.write([page(A)])
    log.rollback()
    log.close()
    assert names(tmp_path) == []
    store(tmp_path).close()
    assert names(tmp_path) == []


def test_segments_roll_by_size_and_every_page_is_in_one(tmp_path):
    groups = [[page(f"{A}{number}", [B, f"{C}{number}"])] for number in range(30)]
    kept(tmp_path, *groups, settings={**SETTINGS, "LINK_LOG_ROLL_BYTES": 1024})
    assert len(names(tmp_path)) > 4
    assert [line["page"] for line in lines(tmp_path)] == [f"{A}{number}" for number in range(30)]
    assert len(list(LinkLogs([tmp_path]).into(B))) == 30
    assert [one.page for one, _ in LinkLogs([tmp_path]).into(f"{C}17")] == [f"{A}17"]


def test_long_groups_are_several_members(tmp_path, monkeypatch):
    monkeypatch.setattr("webcrawl.links.log.MEMBER_BYTES", 300)
    kept(tmp_path, [page(f"{A}{number}", [B]) for number in range(9)])
    (path,) = (tmp_path / segments.FOLDER).glob("*.gz")
    beside = segments.index_path(path).read_bytes()
    blocks = list(index.blocks(beside, path.stat().st_size))
    assert len(blocks) > 2
    assert blocks[-1].end == path.stat().st_size
    assert len(told(tmp_path)) == 9


@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize("torn", [b"", b"\x1f\x8b\x08", b"\0" * 70])
def test_after_a_crash_whole_members_stay_and_the_rest_is_cut(tmp_path, torn, with_index):
    log = store(tmp_path)
    keep(log, page(A, [B]))
    keep(log, page(B, [C]))
    (left,) = (tmp_path / segments.FOLDER).glob("*.open")
    whole = left.stat().st_size
    with left.open("ab") as file:
        file.write(torn)
    beside = segments.index_path(left.with_suffix(""))
    if with_index:
        beside.write_bytes(beside.read_bytes()[:-3] + b"\0\0\0" + b"LIX1")
    else:
        beside.unlink()
    again = store(tmp_path)
    assert [path.stat().st_size for path in (tmp_path / segments.FOLDER).glob("*.gz")] == [whole]
    assert not list((tmp_path / segments.FOLDER).glob("*.open"))
    if with_index:
        assert len(list(index.blocks(beside.read_bytes(), whole, check=True))) == 1
    keep(again, page(C, [A]))
    again.close()
    assert told(tmp_path) == {A: [B], B: [C], C: [A]}
    assert [one.page for one, _ in LinkLogs([tmp_path]).into(C)] == [B]


def test_a_file_that_holds_no_whole_line_is_removed(tmp_path):
    log = store(tmp_path)
    keep(log, page(A, [B]))
    (left,) = (tmp_path / segments.FOLDER).glob("*.open")
    left.write_bytes(left.read_bytes()[:-1])
    (sentence,) = store_sentences(tmp_path)
    assert "removed, it held no line" in sentence
    assert names(tmp_path) == []


def store_sentences(directory):
    from webcrawl.links.log import LinkLog

    return LinkLog(directory, worker="w", settings=SETTINGS).open()


class NoIndex(Disk):
    """Has no room for an index."""

    def write_whole(self, handle, data):
        if data.startswith(b"LIX1"):
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write_whole(handle, data)


def test_an_index_that_cannot_be_written_is_done_without(tmp_path):
    kept(tmp_path, [page(A, [B])], [page(C, [B])], disk=NoIndex())
    assert told(tmp_path) == {A: [B], C: [B]}
    assert [one.page for one, _ in LinkLogs([tmp_path]).into(B)] == [A, C]


def test_only_what_was_answered_has_a_line_and_a_redirect_is_a_link(tmp_path):
    kept(
        tmp_path,
        [
            page(A, [], kind="robots"),
            page("http://hub.test/", [], kind="websub"),
            page(B, [], status=None, error="timeout"),
            page(C, [], status=304),
            page("http://d.test/x", [], status=301, location="/y"),
            page("http://e.test/x", [], status=302, location="mailto:a@b"),
            page("http://f.test/", [], status=404),
        ],
    )
    assert told(tmp_path) == {
        "http://d.test/x": ["http://d.test/y"],
        "http://e.test/x": ["mailto:a@b"],
        "http://f.test/": [],
    }
    assert [line["type"] for line in lines(tmp_path) if line["to"]] == [["redirect"], ["redirect"]]


def test_lists_of_urls_have_lines_of_their_kind(tmp_path):
    named = page(f"{A}robots.txt", kind="robots")
    named.links, named.other_links = link_rows([f"{A}sitemap.xml", "ftp://a.test/map"])
    short = page(f"{A}sitemap.xml", [(B, "sitemap", "", "")], kind="sitemap")
    moved = page(f"{A}old.xml", kind="sitemap", status=301, location="/sitemap.xml")
    kept(tmp_path, [named, short, moved, page(f"{A}none.xml", kind="sitemap", status=404)])
    assert [(line["page"], line.get("kind"), line["to"], line["type"]) for line in lines(tmp_path)] == [
        (f"{A}robots.txt", "robots", [f"{A}sitemap.xml", "ftp://a.test/map"], ["sitemap"] * 2),
        (f"{A}sitemap.xml", "sitemap", [B], ["sitemap"]),
        (f"{A}old.xml", "sitemap", [f"{A}sitemap.xml"], ["redirect"]),
        (f"{A}none.xml", "sitemap", [], []),
    ]
    assert not any("part" in line for line in lines(tmp_path))


def test_a_long_list_is_several_lines_none_of_them_long(tmp_path):
    urls = [f"{B}{'x' * 5000 if number < 100 else ''}{number}" for number in range(3100)]
    kept(tmp_path, [sitemap(tmp_path, A, urls), page(C)])
    parts = lines(tmp_path)[:-1]
    assert [line["part"] for line in parts] == list(range(1, len(parts) + 1))
    assert [url for line in parts for url in line["to"]] == urls
    assert max(len(line["to"]) for line in parts) == PART_LINKS
    assert max(sum(map(len, line["to"])) for line in parts) <= PART_CHARACTERS
    assert "part" not in lines(tmp_path)[-1]


def test_a_list_whose_file_is_gone_is_an_error_of_the_archive(tmp_path):
    gone = sitemap(tmp_path, A, [B] * 1200)
    gone.listed.remove()
    with pytest.raises(ArchiveError, match="No such file"):
        store(tmp_path).write([gone])


def test_a_clock_that_was_set_back_puts_no_segment_before_another(tmp_path):
    for at in (NOW, NOW - 5000):
        kept(tmp_path, [page(A, [B], at)], clock=lambda at=at: at)
    assert len(segments.times(tmp_path)) == 2
    assert [line["at"] for line in lines(tmp_path)] == [NOW, NOW - 5000]


def test_a_disk_that_refuses_is_told_and_the_group_comes_again(tmp_path):
    class Refuses(Disk):
        def sync(self, handle):
            raise OSError(errno.EIO, "Input/output error")

    log = store(tmp_path, disk=Refuses())
    log.write([page(A)])
    with pytest.raises(ArchiveError):
        log.sync()
    log.rollback()
    log._disk = Disk()
    assert log.size == 0
