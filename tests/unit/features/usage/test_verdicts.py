"""One verdict for each purpose, from all that is said about a page."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.rows import each_row
from tests.unit.features.usage.vectors import AGENT, PATH, PURPOSES, vectors
from webcrawl.features.usage import content_signal, content_usage, robots_controls, tdmrep
from webcrawl.features.usage.robots_file import read
from webcrawl.features.usage.statements import (
    Statement,
    as_record,
    deciding_source,
    is_withheld,
    resolve,
    statement,
)

YES, NO = (("train-ai", True),), (("train-ai", False),)


@each_row(
    ("meanings", "verdict"),
    [
        ([], None),
        ([()], None),
        ([YES], "yes"),
        ([NO], "no"),
        ([YES, NO], "no"),
        ([NO, YES], "no"),
        ([YES, YES, ()], "yes"),
        ([NO, ()], "no"),
    ],
)
def test_the_most_restrictive_statement_wins(meanings, verdict):
    stated = [statement(f"format {number}", "header", "", meaning) for number, meaning in enumerate(meanings)]
    assert resolve(stated).get("train-ai") == verdict


def test_of_a_format_that_ranks_places_the_nearest_counts():
    stated = [
        statement("F", "file", "", NO, 0),
        statement("F", "meta", "", YES, 2),
        statement("F", "header", "", (), 3),
    ]
    assert resolve(stated) == {"train-ai": "yes"}
    assert resolve([*stated, statement("G", "header", "", NO)]) == {"train-ai": "no"}
    sources = as_record(stated)["sources"]
    assert [source.get("overruled", False) for source in sources] == [True, False, False]


def test_contradictions_are_kept_with_their_places():
    stated = [
        statement("Content-Usage", "robots.txt:3", "Content-Usage: train-ai=y", YES),
        statement("Content-Signal", "header", "Content-Signal: ai-train=no", NO),
    ]
    assert as_record(stated) == {
        "train-ai": "no",
        "sources": [
            {
                "format": "Content-Usage",
                "place": "robots.txt:3",
                "text": "Content-Usage: train-ai=y",
                "train-ai": "yes",
            },
            {
                "format": "Content-Signal",
                "place": "header",
                "text": "Content-Signal: ai-train=no",
                "train-ai": "no",
            },
        ],
    }
    assert deciding_source(as_record(stated), "train-ai")["place"] == "header"
    assert deciding_source(as_record(stated), "search") is None
    assert as_record([]) == {}


def test_a_text_cannot_control_a_terminal():
    assert statement("F", "header", "a\x1b[31m\nb" + "c" * 1_000).text == "a[31m b" + "c" * 193


@pytest.mark.parametrize(
    ("verdict", "withheld", "withheld_if_unknown"),
    [("yes", False, False), ("no", True, True), (None, False, True)],
)
def test_a_page_is_withheld(verdict, withheld, withheld_if_unknown):
    verdicts = {"search": "no"} | ({"train-ai": verdict} if verdict else {})
    assert is_withheld(verdicts, ["train-ai"]) == withheld
    assert is_withheld(verdicts, ["train-ai"], refuses_unknown=True) == withheld_if_unknown
    assert is_withheld(verdicts, ["train-ai", "search"])
    assert not is_withheld(verdicts, [], refuses_unknown=True)


def statements_of(vector):
    """All statements of a vector, read from its texts as a crawl does."""
    found = read(vector.robots, [AGENT], tdm=vector.tdm)
    stated = list(found.statements(f"https://example.com{PATH}")) if found else []
    fields = {}
    for name, value in vector.headers:
        fields.setdefault(name, []).append(value)
    if "Content-Usage" in fields:
        stated += content_usage.in_header(fields["Content-Usage"])
    if "Content-Signal" in fields:
        stated += content_signal.in_header(fields["Content-Signal"])
    stated += robots_controls.in_header(fields.get("X-Robots-Tag", []), fields.get("Robots-Tag", []), [AGENT])
    stated += tdmrep.in_header(fields.get("tdm-reservation", []), fields.get("tdm-policy", []))
    return [*stated, *robots_controls.in_meta(vector.robots_metas), *tdmrep.in_meta(vector.metas)]


@each_row("vector", vectors(300), ids=range(300))
def test_made_sites(vector):
    stated = statements_of(vector)
    assert resolve(stated) == vector.truth(), (vector, stated)


def test_the_made_sites_have_all_verdicts():
    verdicts = Counter(
        (purpose, vector.truth().get(purpose)) for vector in vectors(300) for purpose in PURPOSES
    )
    assert len(verdicts) == 12
    assert min(verdicts.values()) >= 15
    assert all(isinstance(each, Statement) for vector in vectors(10) for each in statements_of(vector))
