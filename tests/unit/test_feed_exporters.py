"""A page is the same flat row in every format of a feed, whatever strangers wrote into it."""

import csv
import json
from io import BytesIO, StringIO

import pytest
from itemadapter import ItemAdapter, is_item
from scrapy.exporters import JsonLinesItemExporter

from webcrawl.errors import Problem
from webcrawl.feed_exporters import FlatCsvExporter, as_written
from webcrawl.feeds import wrong_feeds
from webcrawl.items import COLUMNS, Page
from webcrawl.parsing.links import Link
from webcrawl.processing.contract import FieldType

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SCHEMA = {
    "description": FieldType.LINE,
    "keywords": FieldType.LINES,
    "text": FieldType.TEXT,
    "tags": FieldType.COUNTS,
    "hreflang": FieldType.NAMED,
    "pages": FieldType.WHOLE,
    "published_at": FieldType.REAL,
    "seen": FieldType.FLAG,
}
LINK = Link("http://a.test/b", "a", "text", "")
FIELDS = {
    "description": 'quotes ", commas, = and ünïcode',
    "keywords": ["a,b", "c"],
    "text": "one\ntwo\n\nthree",
    "tags": {"p": 2},
    "hreflang": {"de": "http://a.test/de"},
    "pages": 3,
    "published_at": 1.5,
    "seen": True,
}


def page(**values):
    return Page(**{"url": "http://a.test/", "status": 200, "schema": SCHEMA, **values})


def exported(exporter, items, **options):
    file = BytesIO()
    writer = exporter(file, **options)
    writer.start_exporting()
    for item in items:
        writer.export_item(item)
    writer.finish_exporting()
    return file.getvalue()


def as_parquet(items, **options):
    from webcrawl.feed_exporters import ParquetExporter

    return parquet.read_table(BytesIO(exported(ParquetExporter, items, **options)))


def as_csv(items, **options):
    return list(csv.DictReader(StringIO(exported(FlatCsvExporter, items, **options).decode())))


def test_a_page_is_flat_for_whoever_adapts_it():
    item = page(links=[LINK], fields={"pages": 3})
    adapter = ItemAdapter(item)

    assert is_item(item)
    assert list(adapter.field_names()) == [*COLUMNS, *SCHEMA]
    assert list(adapter) == [*COLUMNS, "pages"]
    assert adapter["links_count"] == 1
    assert adapter["pages"] == 3
    assert adapter["text"] is None
    assert "links" in adapter
    assert "unknown" not in adapter
    adapter["own"], adapter["title"] = "x", "T"
    assert (item.fields["own"], item.title) == ("x", "T")
    del adapter["own"]
    assert adapter.asdict()["url"] == "http://a.test/"
    for name in ("links_count", "url"):
        with pytest.raises(KeyError):
            del adapter[name]
    with pytest.raises(KeyError):
        adapter["links_count"] = 3


def test_json_lines_leave_out_what_a_page_does_not_have():
    lines = exported(JsonLinesItemExporter, [page(fields=FIELDS), page(title="T")]).splitlines()
    first, second = map(json.loads, lines)
    assert {name: first[name] for name in FIELDS} == FIELDS
    assert second.keys() == COLUMNS.keys()


def test_csv_has_all_columns_in_every_row():
    first, second = as_csv([page(), page(fields=FIELDS, links=[LINK])])
    assert list(first) == list(second) == [*COLUMNS, *SCHEMA]
    assert first["text"] == ""
    assert second["text"] == FIELDS["text"]
    assert json.loads(second["keywords"]) == FIELDS["keywords"]
    assert json.loads(second["tags"]) == FIELDS["tags"]
    assert second["links_count"] == "1"


def test_links_come_when_they_are_asked_for():
    asked = ["url", "links"]
    (row,) = as_csv([page(links=[LINK])], fields_to_export=asked)
    assert json.loads(row["links"]) == [list(LINK)]
    (line,) = exported(JsonLinesItemExporter, [page(links=[LINK])], fields_to_export=asked).splitlines()
    assert json.loads(line) == {"url": "http://a.test/", "links": [list(LINK)]}
    (row,) = as_parquet([page(links=[LINK])], fields_to_export=asked).to_pylist()
    assert json.loads(row["links"]) == [list(LINK)]


def test_other_items_are_written_as_scrapy_writes_them():
    assert as_csv([{"a": ["x", "y"], "b": 1}]) == [{"a": "x,y", "b": "1"}]


def test_parquet_has_the_types_of_the_fields_even_where_no_page_has_them():
    empty, full = as_parquet([page()]), as_parquet([page(), page(fields=FIELDS, title="T")])
    assert empty.schema == full.schema
    assert str(full.schema.field("keywords").type).startswith("list<")
    assert str(full.schema.field("pages").type) == "int64"
    row = full.to_pylist()[1]
    assert row["tags"] == [("p", 2)]
    assert row["hreflang"] == [("de", "http://a.test/de")]
    assert {name: row[name] for name in ("text", "keywords", "pages", "published_at", "seen")} == {
        name: FIELDS[name] for name in ("text", "keywords", "pages", "published_at", "seen")
    }


def test_parquet_of_other_items_goes_by_what_they_show(caplog):
    items = [{"name": "a", "price": 1, "tags": ["x"]}, {"name": "\ud800", "price": 2.5, "more": True}]
    rows = as_parquet([*items, *({"price": number} for number in range(2_000)), {"price": "much"}])
    first, second, *_, last = rows.to_pylist()
    assert first == {"name": "a", "price": 1.0, "tags": '["x"]', "more": None}
    assert second == {"name": "?", "price": 2.5, "tags": None, "more": True}
    assert last["price"] is None
    assert rows.num_rows == 2_003
    assert "price has values that are no double" in caplog.text


def test_a_page_of_numbers_that_no_file_takes_loses_those(caplog):
    row = as_parquet([page(), page(fields={"pages": 2**70, "keywords": [1]})]).to_pylist()[1]
    assert row["pages"] is None
    assert "pages has values" in caplog.text


def test_a_parquet_file_that_would_be_continued_is_told_before_the_crawl(tmp_path):
    from scrapy.settings import Settings

    there, new = tmp_path / "there.parquet", tmp_path / "new.parquet"
    there.write_bytes(b"PAR1")
    feeds = {str(path): {"format": "parquet"} for path in (there, new)}
    assert list(wrong_feeds(Settings({"FEEDS": feeds}))) == [
        Problem(
            "FEEDS",
            f"must not add to {there}: Parquet cannot be continued; say -o {tmp_path / 'there-2.parquet'}",
        )
    ]
    feeds[str(there)]["overwrite"] = True
    feeds["elsewhere.csv"] = {"format": "csv"}
    assert list(wrong_feeds(Settings({"FEEDS": feeds}))) == []


CELLS = {
    "=1+1": "'=1+1",
    "@SUM(A1)": "'@SUM(A1)",
    "-cmd|' /C calc'!A0": "'-cmd|' /C calc'!A0",
    "+49 170 1": "'+49 170 1",
    "\t=1": "'\t=1",
    "\r=1": "'\r=1",
    "\uff1d1": "'\uff1d1",
    "'=1": "''=1",
    "'quoted'": "'quoted'",
    "a=b": "a=b",
    "-5": "-5",
    "+1.5e3": "+1.5e3",
    "": "",
}


def test_no_cell_is_a_formula_and_each_text_is_found_again():
    items = [{"text": text, "number": -5, "=name": 1} for text in CELLS]
    rows = as_csv(items)

    assert [row["text"] for row in rows] == list(CELLS.values())
    assert [as_written(row["text"]) for row in rows] == list(CELLS)
    assert {row["number"] for row in rows} == {"-5"}
    assert "'=name" in rows[0]
    assert [row["text"] for row in as_csv(items, formulas=True)] == list(CELLS)


def test_a_csv_file_that_is_gone_on_with_has_one_line_of_headers(tmp_path):
    path = tmp_path / "items.csv"
    for item in ({"=b": 1, "a": 2}, {"a": 4, "=b": 3, "more": 5}):
        with path.open("ab") as file:
            writer = FlatCsvExporter(file)
            writer.start_exporting()
            writer.export_item(item)
            writer.finish_exporting()
    assert path.read_text().split() == ["'=b,a", "1,2", "3,4"]
