"""The encoding of a page is the one that a browser would take."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.parsing.charset import detect_encoding

CASES = json.loads((Path(__file__).parents[2] / "data/documents/charset.json").read_text("utf-8"))["cases"]


@each_row(("body", "content_type", "codec"), CASES)
def test_the_first_that_is_known_decides(body: str, content_type: str | None, codec: str) -> None:
    assert detect_encoding(body.encode("latin-1"), content_type) == codec


def test_a_declaration_after_the_prescan_is_not_looked_for() -> None:
    assert detect_encoding(b" " * 5000 + b"<meta charset=koi8-r>", None) == "utf-8"


def test_a_declaration_after_the_1024_bytes_of_the_standard_is_found() -> None:
    assert detect_encoding(b" " * 2000 + b"<meta charset=koi8-r>", None) == "koi8-r"


pieces = st.sampled_from(
    [
        b"<meta ",
        b"charset=",
        b"<!--",
        b"-->",
        b'"',
        b"'",
        b">",
        b"/",
        b"<?xml encoding=",
        b"utf-16",
        b"\0",
        b"\xff",
    ]
)
bodies = st.binary() | st.lists(pieces | st.binary(max_size=3)).map(b"".join)


@given(bodies, st.none() | st.text() | st.text().map("text/html; charset={}".format))
def test_whatever_is_returned_decodes_whatever_the_body_is(body: bytes, content_type: str | None) -> None:
    body.decode(detect_encoding(body, content_type), "replace")
