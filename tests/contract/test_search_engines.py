"""What every search engine does, on each that comes with the project; the server's is a stand-in."""

from __future__ import annotations

import pytest

from tests.search_server import SearchServer
from tests.unit.search.samples import change, gone
from webcrawl.search import engine as query
from webcrawl.search.document import Document, IndexChange
from webcrawl.search.engine import EngineError, Options
from webcrawl.search.opensearch import OpenSearch
from webcrawl.search.tantivy import Tantivy


@pytest.fixture(params=["tantivy", "opensearch"])
def engine(request, tmp_path):
    if request.param == "tantivy":
        engine = Tantivy(tmp_path, Options(stemmer="none"))
        engine.begin()
        yield engine
        engine.finish()
        return
    with SearchServer() as server:
        engine = OpenSearch(tmp_path, Options(server.url, "none"))
        engine.begin()
        yield engine
        engine.finish()


PAGES = [
    change("http://www.a.test/one", "The quick brown fox jumps over the lazy dog", "Fox and dog"),
    change("http://b.a.test/two", "A brown dog sleeps near a quick river", "Rivers"),
    change("http://c.test/three", "Nothing but a river, brown and quick", "Water", language="fr"),
]


def urls(engine, text, limit=10, **more):
    return [hit.url for hit in engine.search(query.read(text, **more), limit).hits]


def hosts(engine, text, **more):
    return sorted(url.split("/")[2].split(".")[0] for url in urls(engine, text, **more))


def test_all_words_must_be_there_in_title_or_text(engine):
    engine.put(PAGES)
    assert hosts(engine, "brown") == ["b", "c", "www"]
    assert hosts(engine, "brown dog") == ["b", "www"]
    assert hosts(engine, "Water brown") == ["c"]
    assert hosts(engine, "brown unicorn") == []


def test_phrases_choices_and_exclusions(engine):
    engine.put(PAGES)
    assert hosts(engine, '"quick brown"') == ["www"]
    assert hosts(engine, "fox OR river") == ["b", "c", "www"]
    assert hosts(engine, '"lazy dog" OR water') == ["c", "www"]
    assert hosts(engine, "brown -dog") == ["c"]
    assert hosts(engine, 'brown -"brown dog"') == ["c", "www"]


def test_sites_and_languages(engine):
    engine.put(PAGES)
    assert hosts(engine, "brown", site="a.test") == ["b", "www"]
    assert hosts(engine, "brown", site="www.a.test") == ["www"]
    assert hosts(engine, "brown", site="test") == ["b", "c", "www"]
    assert hosts(engine, "brown", site="est") == []
    assert hosts(engine, "brown", language="fr") == ["c"]
    assert hosts(engine, "brown", language="fr", site="a.test") == []


def test_the_best_come_first_and_all_are_counted(engine):
    engine.put([change(f"http://a.test/{number}", "word " * 3 + "other " * number) for number in range(30)])
    engine.put([change("http://a.test/title", "other " * 5, "word")])
    found = engine.search(query.read("word"), 5)
    assert found.count == 31
    assert len(found.hits) == 5
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert "http://a.test/29" not in [hit.url for hit in found.hits]


def test_a_snippet_shows_where_the_words_stand(engine):
    engine.put(PAGES)
    [hit] = engine.search(query.read("jumps lazy"), 5).hits
    assert "".join(text for text, _ in hit.snippet) == "The quick brown fox jumps over the lazy dog"
    assert [text for text, wanted in hit.snippet if wanted] == ["jumps", "lazy"]
    assert (hit.title, hit.language, hit.at) == ("Fox and dog", "en", 2.0)


def test_what_was_found_in_the_title_alone_shows_how_its_text_begins(engine):
    engine.put([change("http://a.test/", "Some text that begins so", "Heading")])
    [hit] = engine.search(query.read("heading"), 5).hits
    assert "".join(text for text, _ in hit.snippet) == "Some text that begins so"


def test_the_last_change_of_a_page_counts_and_the_same_ones_may_come_again(engine):
    first, second = change("http://a.test/", "early"), change("http://a.test/", "late", at=3.0)
    engine.put([first, second])
    for again in ([first, second], [second]):
        engine.put(again)
        assert urls(engine, "early") == []
        assert urls(engine, "late") == ["http://a.test/"]
    engine.put([gone("http://a.test/", at=4.0), gone("http://never.test/")])
    assert urls(engine, "late") == []
    engine.put([change("http://a.test/", "back", at=5.0)])
    assert urls(engine, "back") == ["http://a.test/"]


def test_an_index_is_read_by_others_while_it_is_written(engine, tmp_path):
    other = type(engine)(tmp_path, Options(getattr(engine, "url", ""), "none"))
    if isinstance(engine, OpenSearch):
        other = engine
    engine.put(PAGES[:1])
    assert hosts(other, "brown") == ["www"]
    engine.put(PAGES[1:])
    assert hosts(other, "brown") == ["b", "c", "www"]


def test_no_text_of_a_page_harms(engine):
    odd = "\x1b[31m \x00 \ufeff \u202e nul " + "x" * 100_000 + " \U0010ffff end"
    engine.put([change("http://a.test/?" + "y" * 3000, odd, odd[:50], language=None)])
    assert len(urls(engine, "end")) == 1
    assert urls(engine, "x" * 900) == []


def test_titles_count_most_then_headings_then_texts_then_boilerplate(engine):
    filling = "other words of a page that says something else " * 4
    engine.put(
        [
            IndexChange(f"http://{name}.test/", 2.0, Document(*fields))
            for name, fields in {
                "title": ("Vacuum", filling, "en", "Other", ""),
                "heading": ("Other", f"Vacuum {filling}", "en", "Vacuum", ""),
                "text": ("Other", f"vacuum {filling}", "en", "Other", ""),
                "menu": ("Other", filling, "en", "Other", f"Vacuum {filling}"),
            }.items()
        ]
    )
    assert [url.split("/")[2].split(".")[0] for url in urls(engine, "vacuum")] == [
        "title",
        "heading",
        "text",
        "menu",
    ]


def test_a_menu_does_not_exclude_a_page(engine):
    engine.put([IndexChange("http://a.test/", 2.0, Document("One", "some words", "en", "", "Windows"))])
    assert hosts(engine, "words windows") == ["a"]
    assert hosts(engine, "words -windows") == ["a"]


def test_words_of_scripts_without_spaces_are_found_wherever_they_stand(engine):
    engine.put([change("http://ko.test/", "한국어를 검색합니다"), change("http://ja.test/", "日本語の検索")])
    assert hosts(engine, "한국어") == ["ko"]
    assert hosts(engine, "검색") == ["ko"]
    assert hosts(engine, "検索") == ["ja"]
    assert hosts(engine, "어한") == []


def test_the_words_of_a_name_are_found_and_the_name_itself(engine):
    engine.put(
        [change("http://a.test/", "see pg_stat_activity"), change("http://b.test/", "activity of stat")]
    )
    assert hosts(engine, "pg_stat_activity") == ["a"]
    assert hosts(engine, "activity") == ["a", "b"]


def test_the_end_of_a_long_text_is_found(engine):
    engine.put([change("http://a.test/", "word " * 60_000 + "lastword")])
    assert hosts(engine, "lastword") == ["a"]


def test_a_server_whose_index_lacks_a_field_is_told(tmp_path):
    with SearchServer() as server:
        server.mapping = {"mappings": {"properties": {"title": {}, "text": {}}}}
        one = OpenSearch(tmp_path, Options(server.url, "none"))
        with pytest.raises(
            EngineError, match="has no field boilerplate, headings, as an earlier version made it"
        ):
            one.begin()
        server.mapping["mappings"]["properties"] |= {"headings": {}, "boilerplate": {}}
        one.begin()
        one.finish()
