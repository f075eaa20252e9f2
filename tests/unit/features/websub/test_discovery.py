"""Which hub tells of a document: what it says in headers, in its head, or in a feed, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from tests.rows import each_row
from webcrawl.features.websub.discovery import HUBS_MAX, URL_MAX, Advertised, advertised

CASES = json.loads((Path(__file__).parents[3] / "data/websub_discovery.json").read_text("utf-8"))
URL = "http://a.test/page"


@each_row("case", CASES, ids=lambda case: case["name"])
def test_what_a_document_says_of_its_hub(case: dict) -> None:
    found = advertised(case.get("headers", []), case.get("body", "").encode(), None, URL)
    wanted = None if case["topic"] is None else Advertised(case["topic"], tuple(case["hubs"]))
    assert found == wanted


def test_only_so_many_hubs_are_taken() -> None:
    links = ", ".join(f"<https://hub{n}.test/>; rel=hub" for n in range(50))
    found = advertised([links, "</>; rel=self"], b"", None, URL)
    assert found is not None
    assert len(found.hubs) == HUBS_MAX


def test_what_is_very_long_is_no_hub() -> None:
    long = f"<https://hub.test/{'x' * URL_MAX}>; rel=hub, </>; rel=self"
    assert advertised([long], b"", None, URL) is None


@each_row(
    "body",
    [
        b"<link rel=hub" * 20_000,
        b"<?xml version='1.0'?>" + b"<feed hub=''>" * 20_000,
        b"\xff\xfe<\x00h\x00u\x00b\x00",
        b"<html><head>hub" + b"<b a=1>" * 8_000,
        b"\x00" * 100_000 + b"hub",
    ],
)
def test_no_body_makes_it_raise(body: bytes) -> None:
    assert advertised(["</>; rel=self"], body, None, URL) is None


def feed_of(inside: str) -> bytes:
    """A feed with what is inside its channel, and an entry with a link of its own."""
    entry = "<item><atom:link rel='hub' href='http://evil.test/'/><link rel='self' href='/evil'/></item>"
    return f"<?xml version='1.0' encoding='latin-1'?><rss><channel>{inside}{entry}</channel></rss>".encode(
        "latin-1"
    )


LINKS = "<atom:link rel='hub' href='http://hub.test/?a=1&b=2&amp;c'/><LINK rel=self href='/\u00e9'></LINK>"


@each_row(
    "inside",
    [
        LINKS,
        f"<title>a & b &nbsp; <b>c</title></i>{LINKS}",
        f"<!-- <link rel='hub' href='/no'/> --><![CDATA[<link rel='hub' href='/no'/>]]>{LINKS}",
        f"<image><title>x</title></image>{LINKS}" + "<x>" * 200_000,
    ],
    ids=["plain", "not well-formed", "sections", "deep"],
)
def test_the_links_of_a_feed_are_read_as_far_as_it_is_one(inside: str) -> None:
    found = advertised([], feed_of(inside), None, URL)
    assert found == Advertised("http://a.test/%C3%A9", ("http://hub.test/?a=1&b=2&c",))


def test_a_header_of_quotes_is_read_in_time_that_grows_with_its_length() -> None:
    # 200 kB; what grows with the square would take minutes.
    assert advertised(["<x>;" + '"' * 100_000 + "\\" * 100_000, "<" * 100_000], b"", None, URL) is None
