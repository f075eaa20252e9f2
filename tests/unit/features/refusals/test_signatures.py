"""The file of signatures: each recognises its own sample, and a wrong file is refused with what is wrong."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from webcrawl.features.refusals import signatures
from webcrawl.features.refusals.signatures import SignaturesError, load, parse, parse_sample, removed
from webcrawl.politeness.refusals import KINDS

OWN = load(None)

GOOD = """
[[signature]]
name = "house-wall"
kind = "blocked"
by = "House"
body = ["<b>The house says no</b>"]
"""


def test_there_are_more_than_thirty_kinds_of_pages_each_with_its_source_and_sample():
    assert len({signature.by for signature in OWN}) > 30
    assert all(signature.source and signature.sample for signature in OWN)
    assert len({signature.name for signature in OWN}) == len(OWN)


def test_what_may_come_with_success_has_a_mark_of_markup():
    """Documentation writes markup escaped, so that a page about such pages has none of these marks."""
    assert [one.name for one in OWN if one.success and b"<" not in b"".join(one.body)] == []


@each_row("signature", OWN, ids=[signature.name for signature in OWN])
def test_a_sample_has_all_marks_of_its_signature(signature):
    sample = parse_sample(signature.sample)
    assert signature.comes_with(sample.status)
    assert all(mark in sample.body for mark in signature.body)
    assert all(text in sample.headers[name].lower() for name, text in signature.headers.items())


@each_row(
    ("text", "said"),
    [
        ("x = ", "is no TOML"),
        ("x = 1", "only tables [[signature]] are allowed"),
        ("[[signature]]\nkind = 'blocked'\nbody = ['aaaaa']", "signature 1: name is missing"),
        (
            "[[signature]]\nname = 'a'\nkind = 'evil'\nbody = ['aaaaa']",
            "signature a: kind must be one of challenge,",
        ),
        ("[[signature]]\nname = 'a'\nkind = 'blocked'", "signature a: headers or body must name a mark"),
        ("[[signature]]\nname = 'a'\nkind = 'blocked'\nbody = ['no']", "must have 5 bytes or more"),
        ("[[signature]]\nname = 'a'\nkind = 'blocked'\nbody = [5]", "headers and body must have texts"),
        ("[[signature]]\nname = 'a'\nkind = 'blocked'\nbody = ['aaaaa']\nstatuses = [20]", "from 100 to 999"),
        (
            "[[signature]]\nname = 'a'\nkind = 'blocked'\ntitle = 'aaaaa'",
            "title = 'aaaaa' is not allowed; there are",
        ),
        (
            "[[signature]]\nname = 'a'\nkind = 'blocked'\nheaders = { a = 'b' }\nempty = true",
            "empty needs a text",
        ),
        ("signature = [5]", "signature 1: must be a table"),
        (
            "[[signature]]\nname = 'a'\nkind = 'blocked'\nbody = ['aaaaa']\nsample = 'HTTP'",
            "begins with a status line",
        ),
        (
            "[[signature]]\nname = 'a'\nkind = 'blocked'\nbody = ['aaaaa']\nsample = 'HTTP/1.1 403\n\nbbbbb'".replace(
                "'HTTP", "'''HTTP"
            ).replace("bbbbb'", "bbbbb'''"),
            "signature a: does not match its sample",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_the_signature_that_is_wrong(text, said):
    with pytest.raises(SignaturesError) as raised:
        parse(text, "own.toml")
    assert str(raised.value).startswith("own.toml")
    assert said in str(raised.value)


def test_a_file_of_the_operator_comes_first_replaces_by_name_and_switches_off(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(
        GOOD + '[[signature]]\nname = "f5-block"\noff = true\n' + GOOD.replace("house-wall", "anubis")
    )
    loaded = load(path)
    names = [signature.name for signature in loaded]
    assert names[:2] == ["house-wall", "anubis"]
    assert names.count("anubis") == 1
    assert "f5-block" not in names
    assert len(names) == len(OWN)


def test_a_name_alone_switches_nothing_off():
    assert removed(GOOD) == []


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path):
    with pytest.raises(SignaturesError, match="cannot be read: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SignaturesError, match="cannot be read"):
        load(tmp_path / "bytes.toml")


def test_a_file_with_too_many_signatures_is_refused(monkeypatch):
    monkeypatch.setattr(signatures, "SIGNATURES_MAX", 1)
    with pytest.raises(SignaturesError, match="at most 1 signatures are allowed"):
        parse(GOOD + GOOD, "own.toml")


def test_all_kinds_say_what_they_mean_and_what_would_help():
    assert all(kind.meaning and kind.remedy for kind in KINDS.values())
