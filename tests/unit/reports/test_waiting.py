"""What a crawl that stops waits for, in words."""

from __future__ import annotations

from tests.rows import each_row
from webcrawl.reports.waiting import Oldest, Waits

URL = "https://example.org/a"


@each_row(
    ("waits", "said"),
    [
        (Waits(), "the next turn of the event loop"),
        (Waits(open=1, oldest_open=Oldest(URL, 12)), f"1 open request ({URL} for 12.0 s)"),
        (
            Waits(open=3, oldest_open=Oldest(URL, 75), processed=2, oldest_processed=Oldest(URL, 1), items=4),
            f"3 open requests (the oldest: {URL} for 1 min 15 s); "
            f"2 responses being processed (the oldest: {URL} for 1.0 s); 4 items in pipelines",
        ),
        (
            Waits(archived=1, committed=2, storage="Redis", stalled="Redis is away"),
            "the storage (Redis is away); 1 page being written to the archive; 2 changes on the way to Redis",
        ),
        (Waits(committed=1, doing="the end of WebSub"), "the end of WebSub; 1 change on the way to the disk"),
    ],
)
def test_what_a_crawl_waits_for(waits: Waits, said: str) -> None:
    assert str(waits) == said


def test_a_url_from_outside_is_short_and_printable() -> None:
    waits = Waits(open=1, oldest_open=Oldest(f"https://example.org/\x1b[2J{'a' * 5000}", 1))
    assert str(waits).isprintable()
    assert len(str(waits)) < 300
