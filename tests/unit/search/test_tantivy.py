"""How the embedded engine reads words."""

from __future__ import annotations

import errno
import os

import pytest

from tests.unit.search.samples import change
from webcrawl.search import engine as query
from webcrawl.search.engine import EngineAway, EngineError, Options
from webcrawl.search.tantivy import Tantivy


@pytest.fixture
def engine(tmp_path):
    def one(stemmer, *texts):
        engine = Tantivy(tmp_path / stemmer, Options(stemmer=stemmer))
        engine.begin()
        engine.put([change(f"http://a.test/{text}", text) for text in texts])
        engine.finish()
        return engine

    return one


def found(engine, text):
    return [hit.url.removeprefix("http://a.test/") for hit in engine.search(query.read(text), 10).hits]


@pytest.mark.parametrize(
    ("stemmer", "text", "queries"),
    [
        ("english", "Crawling the cafés", ["crawl", "CRAWLS", "café", "cafe", '"the cafes"']),
        ("none", "Crawling the cafés", ["crawling", "CAFES"]),
        ("german", "Die Häuser der Städte", ["haus", "Häusern", "stadt"]),
        ("french", "Les élèves étudiaient", ["élève", "etudiaient"]),
        ("russian", "Новые книги", ["книга", "новый"]),
        ("english", "日本語の検索エンジン", ["検索", "日本", '"検索エンジン"', "語の検"]),
        ("english", "全文搜索引擎", ["搜索", "引擎"]),
        ("english", "ภาษาไทยง่าย", ["ไทย"]),
        ("english", "한국어를 검색합니다", ["검색", "한국어", "국어"]),
        ("english", "エラー404とサーバー", ["エラー", "サーバー", "404"]),
        ("none", "ユーザ２３", ["ユーザ", "23"]),
        (
            "english",
            "pg_stat_activity, fsync() and __init__",
            ["pg_stat_activity", "activity", "fsync", "__init__"],
        ),
        ("none", "C" * 200, ["c" * 200]),
        ("none", "می\u200cخواهم", ["خواهم", "می\u200cخواهم"]),
        ("english", "Deferred don't x\u0301", ["deferred", "DEFERRED", "don't", "don\u2019t", "x\u0301"]),
        ("english", "e-mail: me@a.test, C++ x.509", ["mail", "e-mail", "me@a.test", "x.509", "c++"]),
    ],
)
def test_words_are_found_as_people_type_them(engine, stemmer, text, queries):
    one = engine(stemmer, text)
    assert {typed: found(one, typed) for typed in queries} == {typed: [text] for typed in queries}


@pytest.mark.parametrize(
    ("stemmer", "text", "typed"),
    [("none", "Crawling", "crawl"), ("english", "検と索", "検索"), ("english", "mail e", "e-mail")],
)
def test_what_is_another_word_is_not_found(engine, stemmer, text, typed):
    assert found(engine(stemmer, text), typed) == []


def test_marks_stand_where_the_words_are_in_any_script(engine):
    one = engine("english", "Über 日本語の検索 und Crawler")
    [hit] = one.search(query.read("検索 crawler"), 1).hits
    assert [text for text, wanted in hit.snippet if wanted] == ["検索", "Crawler"]


def test_a_full_disk_is_a_state_and_a_damaged_index_is_an_error(tmp_path):
    one = Tantivy(tmp_path, Options())
    with pytest.raises(EngineAway, match="os error 28"), one._errors():
        raise ValueError(f"An IO error occurred: '{os.strerror(errno.ENOSPC)} (os error {errno.ENOSPC})'")
    (tmp_path / "index").mkdir()
    (tmp_path / "index/meta.json").write_text("{}")
    with pytest.raises(EngineError, match="index: "):
        one.search(query.read("word"), 1)


def test_where_nothing_was_indexed_yet_nothing_is_found(tmp_path):
    assert Tantivy(tmp_path, Options()).search(query.read("word"), 1).count == 0
