"""Every page that shows a word is found by it, whatever the shape of the page: recounted by another parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.commands import in_process
from tests.recount import shown_words
from tests.served import serving_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

MENU = "<nav><ul><li><a href=/>Home</a><li><a href=/index.html>Index</a></ul></nav>"
FOOT = (
    "<div class='navfooter'><table><tr><td><a href=/>Prev</a></td><td>Up</td><td>Home</td></tr></table></div>"
)


def _links(names: list[str], of: str) -> str:
    return "".join(f"<dt><span class='sect1'><a href='{of}#{name}'>{name}</a></span></dt>" for name in names)


def _page(title: str, body: str, language: str = "en") -> str:
    return (
        f"<!doctype html><html lang={language}><head><meta charset=utf-8><title>{title}</title></head>"
        f"<body>{MENU}{body}{FOOT}</body></html>"
    )


NAMES = [
    f"{verb}_{noun}" for verb in ("pg", "sync", "vacuum", "analyze") for noun in ("stat", "wal", "freeze")
]
PAGES = {
    "contents.html": _page("Contents", f"<h1>Chapter</h1><p>See:</p><dl class=toc>{_links(NAMES, 'text.html')}</dl>"),
    "links.html": _page("Links", f"<ul>{''.join(f'<li><a href=x>{name} Deferred</a>' for name in NAMES)}</ul>"),
    "text.html": _page(
        "Text",
        "<h1>Settings</h1><p>The call <code><b>f</b>sync()</code> writes; <code>wal_<wbr>level</code> is "
        "hyphen&shy;ated, isn&rsquo;t it? Water<sup>1</sup> and H<sub>2</sub>O.<br>Caf&eacute; na&iuml;ve"
        "<pre>VACUUM\n  ANALYZE</pre>"
        "<p>short</p>",
    ),
    "table.html": _page(
        "Table",
        "<table><caption>Limits</caption><tr><th>name</th><th>unit</th></tr>"
        + "".join(f"<tr><td>{name}</td><td><a href=x>{size}kB</a></td></tr>" for size, name in enumerate(NAMES))
        + "</table>",
    ),
    "forum.html": _page(
        "Thread",
        "<div class=breadcrumbs><a href=/>Boards</a></div>"
        + "".join(
            f"<div class=post id=p{number}><div class=author><a href=text.html>user{number}</a></div>"
            f"<blockquote>quoted {number}</blockquote>Answer {number}<br>with <a href=x>link{number}</a></div>"
            for number in range(9)
        )
        + "<form><input type=text value=typed><input type=submit value=Reply><textarea>draft</textarea></form>"
        "<aside class=sidebar><h3>Popular</h3><a href=text.html>vacuum</a></aside>",
    ),
    "news.html": _page(
        "News",
        "<header><h1>Harbour reopens</h1></header><article><p>The harbour was opened again.</p>"
        "<figure><img src=x.png alt='Ships at anchor'><figcaption>Ships</figcaption></figure></article>"
        "<ul class='related'><li><a href=text.html>Tide tables</a></ul><p hidden>Subscribe today</p>",
    ),
    "korean.html": _page("색인", "<h1>커널 문서</h1><p>메모리 배리어를 설명합니다.<li><a href=x>커널은</a>", "ko"),
    "japanese.html": _page(
        "索引", "<h1>カーネル文書</h1><p>エラー404とサーバーの<ruby>説明<rt>せつめい</rt></ruby>です。</p>", "ja"
    ),
    "chinese.html": _page("目录", "<h1>内核文档</h1><li><a href=x>内存屏障</a><li><a href=y>全文搜索</a>", "zh"),
    "thai.html": _page("ดัชนี", "<p>ภาษาไทยง่าย</p><ul><li><a href=x>เอกสาร</a></ul>", "th"),
}  # fmt: skip
NAMED = {"contents.html", "links.html", "table.html"}
TYPED = {
    "커널": {"korean.html"},
    "배리어": {"korean.html"},
    "サーバー": {"japanese.html"},
    "カーネル": {"japanese.html"},
    "説明": {"japanese.html"},
    "内存": {"chinese.html"},
    "搜索": {"chinese.html"},
    "ไทย": {"thai.html"},
    "wal_level": {"text.html"},
    "isn't": {"text.html"},
    "fsync()": {"text.html"},
    "hyphenated": {"text.html"},
    "H2O": {"text.html"},
    "CAFE": {"text.html"},
    "pg_stat": NAMED,
    "pg stat": NAMED,
    "ships at anchor": {"news.html"},
    "reply": {"forum.html"},
}
"""What people type, some of it with other words right beside it, and the pages that have it."""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("pages")
    for name, page in PAGES.items():
        (folder / name).write_text(page, encoding="utf-8")
    index = "".join(f"<li><a href='{name}'>{name}</a>" for name in PAGES)
    (folder / "index.html").write_text(_page("Index", f"<ul>{index}</ul>"), encoding="utf-8")
    with serving_folder(folder) as served:
        yield served


@pytest.fixture(scope="module")
def crawled(origin, crawl):
    return crawl(
        [f"{origin}/index.html"],
        arguments={"allow": f"^{origin}/"},
        ARCHIVE_SINKS="webcrawl.search.store.SearchIndex",
        PROCESSING_MODULES="webcrawl.processing.main_text.MainText",
        SEARCH_STEMMER="english",
        DEPTH_LIMIT=1,
    ).assert_ended_well()


@pytest.fixture
def found(crawled, capsys):
    search = in_process("search", capsys, JOBDIR=crawled.path)

    def names(typed: str) -> set[str]:
        hits = search(f'"{typed}"', "--json", "--limit", "100").told["hits"]
        return {hit["url"].rpartition("/")[2] for hit in hits} & PAGES.keys()

    return names


def test_every_page_that_shows_a_word_is_found_by_it(found):
    shown = {name: shown_words(page) for name, page in PAGES.items()}
    words = sorted(set().union(*shown.values()))
    assert len(words) > 100
    missed = {
        word: missing
        for word in words
        if (missing := {name for name in PAGES if word in shown[name]} - found(word))
    }
    assert missed == {}


def test_words_are_found_as_people_type_them(found):
    assert {typed: found(typed) for typed in TYPED} == TYPED
