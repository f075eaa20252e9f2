"""Keys of the index: ``surt.json`` has 1,900 URLs with the keys that pywb 2.10 looks up: names with ``www`` in all
places, and every combination of odd schemes, ports, hosts, paths and queries that a seeded generator drew.
"""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.archive.cdxj import surt_key

CASES = json.loads((Path(__file__).parents[2] / "data/archive/surt.json").read_text(encoding="utf-8"))


def test_keys_are_those_that_a_replay_looks_up() -> None:
    assert [(url, surt_key(url)) for url, _ in CASES] == [tuple(case) for case in CASES]


@each_row(
    ("host", "key"),
    [
        ("mywww.example.com", "com,example,mywww"),
        ("showww1.de", "de,showww1"),
        ("a.www.example.com", "com,example,www,a"),
        ("www2.example.com", "com,example"),
        ("9" * 5_000, "9" * 5_000),
    ],
)
def test_www_is_left_out_only_as_the_first_label(host: str, key: str) -> None:
    assert surt_key(f"http://{host}/") == f"{key})/"


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_no_url_is_too_strange(text: str) -> None:
    key = surt_key(f"http://a.test/{text}")
    assert key.startswith("test,a)/")
    assert key.isascii()
    assert key == key.lower()


@each_row("url", ["dns:a.test", "urn:uuid:1", "data:text/plain,Hi", ""])
def test_what_has_no_host_is_its_own_key(url: str) -> None:
    assert surt_key(url) == url
