"""The links of a page by columns, as the list that they stand for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.parsing.links import Link, LinkColumns

TEXTS = st.text(max_size=4) | st.sampled_from(['"', '","', "\ud800", "é"])
LINKS = st.lists(st.builds(Link, TEXTS, TEXTS, TEXTS, TEXTS), max_size=4)


@given(LINKS)
def test_they_are_the_links_that_they_were_made_of(links):
    columns = LinkColumns.of(links)
    assert LinkColumns.of(columns) is columns
    sent = LinkColumns(len(columns), columns.columns)
    assert (len(sent), sent, list(sent), sent[:2], repr(sent)) == (
        len(links),
        links,
        links,
        links[:2],
        repr(links),
    )
    assert all(isinstance(link, Link) for link in sent)
    assert [list(sent.values(place)) for place in range(4)] == [
        [link[place] for link in links] for place in range(4)
    ]


@given(LINKS, LINKS, st.data())
def test_they_are_changed_as_a_list_is(links, more, data):
    columns = LinkColumns.of(links)
    columns += more
    links = links + more
    assert columns == links
    if links:
        place = data.draw(st.integers(0, len(links) - 1))
        columns[place] = links[place] = Link("http://a.test/", "a", "", "")
        assert list(columns.values(0)) == [link.url for link in links]
        del columns[place], links[place]
    assert (len(columns), columns) == (len(links), links)
    assert columns.columns == LinkColumns.of(links).columns
    columns[1:] = more
    links[1:] = more
    assert LinkColumns(len(columns), columns.columns) == links
