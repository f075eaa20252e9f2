"""What is pushed for a crawl: URLs and JSON objects are understood, everything else is told what it is not."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.rows import each_row
from webcrawl.urls.seeds import LONGEST_ENTRY, Pushed, read_pushed

CASES = json.loads((Path(__file__).parents[2] / "data/urls_pushed.json").read_text(encoding="utf-8"))
GOOD = [case for case in CASES if "wrong" not in case]
WRONG = [case for case in CASES if "wrong" in case]


@each_row("case", GOOD, ids=lambda case: case["given"][:60])
def test_what_was_meant_is_understood(case):
    fields = {name: value for name, value in case.items() if name != "given"}
    assert read_pushed(case["given"].encode()) == Pushed(**fields)


@each_row("case", WRONG, ids=lambda case: case["given"][:60])
def test_what_is_wrong_is_told_why(case):
    reason = read_pushed(case["given"].encode())
    assert isinstance(reason, str)
    assert reason.startswith(case["wrong"])


def test_the_encoding_is_the_one_that_was_said():
    url = "http://a.example/é".encode("latin-1")
    assert read_pushed(url) == "it is no text in utf-8"
    assert read_pushed(url, "latin-1") == Pushed("http://a.example/%C3%A9")


@each_row(
    "data",
    [
        b"\xff",
        b"\x00",
        b'{"a":' * 100_000,
        b"{" + b"[" * 100_000,
        b'{"url": "http://a.example/", "priority": ' + b"9" * 5000 + b"}",
        b'{"url": "http://a.example/", "priority": ' + b"[" * 900 + b"]" * 900 + b"}",
        b"http://a.example/" + b"x" * LONGEST_ENTRY,
        b"http://a.example/" + b"x" * 70_000,
        b'{"url": "http://\\ud800/"}',
    ],
)
def test_the_worst_is_answered_with_a_sentence(data):
    assert isinstance(read_pushed(data), str)


def test_no_bytes_make_it_raise():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    pieces = [
        b'{"url": "http://a.example/"',
        b", ",
        b'"priority":',
        b'"depth"',
        b":",
        b"5}",
        b"\xf0",
        b"}",
        b"[",
        b'"',
    ]
    for _ in range(3000):
        data = b"".join(chance.choices(pieces, k=chance.randrange(1, 9)))
        assert isinstance(read_pushed(data), str | Pushed)
