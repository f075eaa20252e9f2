"""The type of a document is what the server says, or what the body shows where the server says nothing."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.parsing.mime import is_html, mime_type, unwanted

CASES = json.loads((Path(__file__).parents[2] / "data/documents/mime.json").read_text("utf-8"))


@each_row(("content_type", "mime"), [*CASES["types"], (None, None)])
def test_the_essence_of_a_content_type(content_type: str | None, mime: str | None) -> None:
    assert mime_type(content_type) == mime


@each_row(("mime", "body", "expected"), CASES["html"])
def test_html_is_recognised(mime: str | None, body: str, expected: bool) -> None:
    assert is_html(mime, body.encode("latin-1")) is expected


@each_row(("mime", "wanted", "expected"), CASES["unwanted"])
def test_types_are_wanted_by_name_or_pattern(mime: str | None, wanted: list[str], expected: bool) -> None:
    assert unwanted(mime, wanted) is expected


def test_comments_that_never_lead_to_a_tag_are_looked_through_once() -> None:
    assert not is_html(None, b"<!---->" * 200)


@given(st.text(), st.binary())
def test_nothing_raises(content_type: str, body: bytes) -> None:
    is_html(mime_type(content_type), body)
    is_html(None, body)
