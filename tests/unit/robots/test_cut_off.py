"""A robots.txt of which a part is missing allows nothing, whichever download handler fetched it."""

from scrapy import Request
from scrapy.http import TextResponse

from tests.rows import each_row
from webcrawl.downloadermiddlewares.robots import is_cut_off


@each_row(
    ("flag", "is_cut"),
    [("download_stopped", True), ("dataloss", True), ("partial", False), ("cached", False), (None, False)],
)
def test_a_handler_of_others_says_it_with_a_flag(flag: str | None, is_cut: bool) -> None:
    url = "http://a.test/robots.txt"
    response = TextResponse(url, body=b"User-agent: *\n", flags=[] if flag is None else [flag])

    assert is_cut_off(Request(url), response) == is_cut
