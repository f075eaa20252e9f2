"""Hosts are read from what people write, and nothing else is taken for a host."""

import csv
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.urls.lists import hostname

DATA = Path(__file__).parents[2] / "data"

with (DATA / "urls_hostnames.csv").open(encoding="utf-8") as table:
    CASES = [(row["text"], row["host"] or None) for row in csv.DictReader(table)]


@each_row(("text", "host"), CASES)
def test_a_name_is_reduced_to_its_host(text, host):
    assert hostname(text) == host


@given(st.text() | st.text(alphabet="ab1.-_:/@[]%,xn é", max_size=12))
def test_no_text_raises_and_a_host_is_its_own_name(text):
    host = hostname(text)
    if host is not None:
        assert hostname(host) == host
