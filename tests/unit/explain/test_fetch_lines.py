"""The lines of one URL in a log of any length."""

from webcrawl.explain.logged_fetches import logged_fetches


def test_the_last_lines_are_kept_and_all_are_counted_in_any_spelling() -> None:
    lines = [{"url": f"http://h.test/{'a' if number % 3 else '%61'}", "n": number} for number in range(20)]
    others = [{"url": "http://h.test/b"}, {"url": None}, {}]
    found = logged_fetches([*others, *lines, *others], "http://h.test/a", kept=3)
    assert found.count == 20
    assert [line["n"] for line in found.last] == [17, 18, 19]


def test_nothing_is_found_in_nothing() -> None:
    assert logged_fetches([], "http://h.test/").count == 0


def test_lines_of_several_logs_are_told_by_their_time() -> None:
    logs = [{"url": "http://h.test/", "end": end} for end in (5.0, 7.0, 1.0, 6, 8.5, None)]
    found = logged_fetches(logs, "http://h.test/", kept=3)
    assert (found.count, [line["end"] for line in found.last]) == (6, [6, 7.0, 8.5])
