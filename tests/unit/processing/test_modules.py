"""The modules that come with the project find what a page has, and bear what it has not."""

import struct
import tomllib
import zlib
from io import BytesIO
from pathlib import Path

import pypdf
import pytest
from pypdf.annotations import Link
from pypdf.generic import (
    DecodedStreamObject,
    DictionaryObject,
    EncodedStreamObject,
    NameObject,
    RectangleObject,
)

from tests.rows import each_row
from webcrawl.parsing.html import PageInput, extract
from webcrawl.processing.chain import run
from webcrawl.processing.contract import Content, load
from webcrawl.processing.markdown import html_to_markdown

CASES = tomllib.loads(Path(__file__).parents[2].joinpath("data/processing/modules.toml").read_text("utf-8"))
URL = "http://a.test/dir/page"
HTML_MODULES = (
    "modules.Head",
    "main_text.MainText",
    "main_text.Markdown",
    "modules.JsonLd",
    "modules.TagCounter",
)
built = {}


def answer_of(name, body, mime="text/html", headers=None):
    loaded = load(f"webcrawl.processing.{name}")
    if name not in built:
        built[name] = loaded.type()
    document = extract(PageInput(body, URL, mime, links_max=100)) if loaded.in_place else None
    encoding = document.encoding if document else None
    content = Content(URL, 200, mime, encoding, headers or {}, body, document=document)
    return run(built[name], loaded.fields, content, 100)


@each_row("case", CASES["case"], ids=lambda case: f"{case['module']}: {case['name']}")
def test_a_module_finds_what_is_there(case):
    answer = answer_of(
        case["module"], case["body"].encode(), case.get("mime", "text/html"), case.get("headers")
    )
    found = dict(answer.fields)
    if answer.links:
        found["links"] = [href for href, _ in answer.links]
    expected = dict(case["expected"])
    if "markdown" in expected:
        expected["markdown"] = expected["markdown"].strip()
    assert found == expected
    assert answer.problem is None


def png(width, height):
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def webp(width, height):
    return (
        b"RIFF\x1a\0\0\0WEBPVP8X\n\0\0\0\0\0\0\0"
        + struct.pack("<I", width - 1)[:3]
        + struct.pack("<I", height - 1)[:3]
    )


@pytest.mark.parametrize(
    ("body", "kind"),
    [(png(30, 40), "png"), (b"GIF89a" + struct.pack("<HH", 30, 40), "gif"), (webp(30, 40), "webp")],
)
def test_an_image_tells_type_and_size_whatever_its_server_calls_it(body, kind):
    found = answer_of("modules.Image", body, "image/x-wrong").fields
    assert found == {"image_type": kind, "image_width": 30, "image_height": 40}


def pdf(content=None):
    """A PDF of one page with a text, a link, and metadata; or with another stream as the page's content."""
    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
    )
    if content is None:
        written = DecodedStreamObject()
        written.set_data(b"BT /F1 12 Tf 20 200 Td (Hello from a PDF.) Tj ET")
        content = written.flate_encode()
    page[NameObject("/Contents")] = writer._add_object(content)
    writer.add_annotation(0, Link(rect=RectangleObject((0, 0, 9, 9)), url="/linked"))
    writer.add_metadata({"/Title": "A\x07 title", "/Author": "A. Writer"})
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def test_a_pdf_gives_text_title_and_links():
    answer = answer_of("pdf.Pdf", pdf(), "application/pdf")
    assert answer.fields == {
        "text": "Hello from a PDF.",
        "title": "A title",
        "author": "A. Writer",
        "pages": 1,
    }
    assert answer.links == [("/linked", "")]


@each_row("kept", [0, 5, 20, 200, 400])
def test_a_pdf_that_was_cut_raises_nothing_but_a_word(kept):
    answer = answer_of("pdf.Pdf", pdf()[:kept], "application/pdf")
    assert answer.problem
    assert "\n" not in answer.problem
    assert answer.fields == {}


def test_a_bomb_in_a_pdf_does_not_go_off():
    packer = zlib.compressobj(1)
    bomb = EncodedStreamObject()
    bomb._data = b"".join([*(packer.compress(b" " * 1_000_000) for _ in range(100)), packer.flush()])
    bomb[NameObject("/Filter")] = NameObject("/FlateDecode")
    answer = answer_of("pdf.Pdf", pdf(bomb), "application/pdf")
    assert answer.problem is not None
    assert answer.problem.startswith("LimitReachedError")


@each_row("name", HTML_MODULES)
@each_row(
    "body",
    [
        b"",
        b"\xff\xfe<\0p\0>\0x",
        b"<p>\x80\x81\xfe\xff\0",
        "<meta charset=utf-16><p>\ud800x".encode("utf-8", "surrogatepass"),
        b"<div>" * 3_000,
        b"<script type=application/ld+json>" + b"[" * 50_000 + b"</script>",
        b'<script type=application/ld+json>{"@type": "\\ud800\\u0000\\u202e"}</script>',
        b"<meta name=description content='\x1b]0;x\x07\n\n'>" * 500,
    ],
    ids=range(8),
)
def test_html_modules_bear_anything(name, body):
    answer = answer_of(name, body)
    assert answer.problem is None
    for value in answer.fields.values():
        assert "\x1b" not in str(value)
        str(value).encode("utf-8")


def test_markdown_of_links_around_blocks_and_lists_in_lists():
    html = "<a href=/x><h1>T</h1></a><p><a href='javascript:1'>y</a> <a>z</a></p><ul><li>a<ol><li>b</ol><li>c</ul>"
    assert html_to_markdown(html, URL) == "# T\n\ny z\n\n- a\n    1. b\n\n- c"


def test_markdown_of_nothing_that_is_closed_and_much_that_is_open():
    assert html_to_markdown("</a></ol></pre></h1><li>x", URL).replace("`", "").split() == ["-", "x"]
    assert html_to_markdown("<ul>" * 10_000 + "<li>x", URL) == "- x"
