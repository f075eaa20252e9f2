"""A parameter that changes nothing is found by equal pages, and each page is fetched once then."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

from webcrawl.features.traps.copies import EQUAL_LEAST, PAGES_LEAST, content_without
from webcrawl.features.traps.detector import TrapDetector
from webcrawl.features.traps.novelty import Shingles

HOST = "http://hg.test"


def detector() -> TrapDetector:
    times = count(1_700_000_000)
    return TrapDetector(lambda: float(next(times)), pages=12, new_share=0.1, withheld_max=10)


def visit(traps: TrapDetector, path: str, content: int) -> bool:
    """Fetch a page unless it is withheld; return whether it was fetched."""
    if traps.quarantine.find_trap(HOST + path, "hg.test") is not None:
        return False
    traps.page(HOST + path, f"{HOST}/log", lambda: Shingles(f"<p>{word(content)}"), [], 100, b"%d" % content)
    return True


def revision(number: int) -> str:
    return f"/rev/a{number:05x}f{number:05d}"


def test_leaves_that_are_equal_under_any_value_are_fetched_once_each() -> None:
    traps = detector()
    # As hgweb links them: each revision with the length of the list that it was found on, 100 lengths.
    fetched = [
        (number, length)
        for length in range(100)
        for number in range(60)
        if visit(traps, f"{revision(number)}?revcount={length * 30}", number)
    ]
    assert {number for number, _ in fetched} == set(range(60))
    assert len(fetched) == 60 + EQUAL_LEAST
    assert [trap.pattern for trap in traps.quarantine.traps()] == ["hg.test/rev/*?revcount="]
    assert visit(traps, f"{revision(77)}?revcount=30", 77), "a page that is new is not withheld"
    assert not visit(traps, f"{revision(77)}?revcount=60", 77)
    assert visit(traps, f"{revision(77)}?style=raw", 1), "nor with another parameter"
    assert visit(traps, f"{revision(78)}", 78)
    assert not visit(traps, f"{revision(78)}?revcount=60", 78), "the page without it counts too"


def test_a_parameter_that_selects_now_and_then_is_none() -> None:
    traps = detector()
    for number in range(400):
        for language in ("de", "en"):
            # One page in twenty is translated.
            same = number % 20
            assert visit(
                traps, f"/text/{number}?lang={language}", number if same else hash((number, language))
            )
    assert len(traps.quarantine) == 0


def test_one_answer_for_anything_is_no_proof() -> None:
    traps = detector()
    for number in range(400):
        assert visit(traps, f"/find?q={number}", 1)
        assert visit(traps, f"/list/{number % 40}?sort={number}", 2)
    assert not [trap for trap in traps.quarantine.traps() if trap.pattern.endswith("=")]


def test_the_pages_of_a_list_are_never_taken_for_copies() -> None:
    traps = detector()
    for number in range(4 * PAGES_LEAST):
        for page in range(1, 5):
            assert visit(traps, f"/article/{number}?page={page}", number)
    assert not [trap for trap in traps.quarantine.traps() if trap.pattern.endswith("=")]


HISTORY = 40
"""Changesets of the repository below."""


class Repository:
    """A program like hgweb: pages hand the length of lists on, which each list can halve and double for ever."""

    def __init__(self) -> None:
        self.traps = detector()
        self.fetched: list[str] = []
        self._seen: set[str] = set()

    def crawl(self, most: int) -> None:
        """Follow all links, breadth first."""
        waiting = [("/log", None)]
        while waiting and len(self.fetched) < most:
            (path, via), *waiting = waiting
            if self.worker().quarantine.find_trap(HOST + path, "hg.test") is not None:
                continue
            self.fetched.append(path)
            text, links = self._page(path)
            new = [link for link in dict.fromkeys(links) if link not in self._seen]
            self._seen.update(new)
            html = f"<p>{text}" + "".join(
                f'<a href="{link.replace("&", "&amp;")}">more</a>' for link in links
            )
            self.show(path, via, html, [SimpleNamespace(url=HOST + link) for link in new])
            waiting += [(link, path) for link in new]

    def worker(self) -> TrapDetector:
        """Return the detector of the process that holds the host."""
        return self.traps

    def show(self, path: str, via: str | None, html: str, new: list[SimpleNamespace]) -> None:
        """Show a fetched page to the detector."""
        self.worker().page(
            HOST + path, via and HOST + via, lambda: Shingles(html), new, len(html), html.encode()
        )

    @staticmethod
    def _page(path: str) -> tuple[str, list[str]]:
        """Return the text and the links of a page."""
        name, _, value = path.partition("?revcount=")
        kind, _, number = name.removeprefix("/").partition("/a")
        at = int(number[:5], 16) if number else HISTORY - 1
        if kind not in ("log", "graph"):
            return f"{kind} {word(at)} {word(at + 1000)}", [f"/log/a{number}"] if number else []
        length = int(value or 60)
        shown = range(at, max(at - length, -1), -1)
        query = f"?revcount={length}" if value else ""
        links = [f"/{page}{revision(one)[4:]}{query}" for one in shown for page in ("rev", "files", "graph")]
        links += [f"/tags{query}", f"/help{query}", f"{name}?revcount={2 * length}"]
        links += [f"{name}?revcount={length // 2}"] if length > 1 else []
        return " ".join(f"{word(one)} {word(one + 1000)}" for one in shown), links


def word(number: int) -> str:
    """Return a word of letters for a number."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}")


def test_a_parameter_that_is_handed_on_is_void_on_leaves_and_then_on_lists() -> None:
    hg = Repository()
    hg.crawl(5_000)
    pages = {path.partition("?")[0] for path in hg.fetched}
    # Each page of each changeset under some value, and so few requests that the crawl has ended by itself.
    wanted = {
        f"/{page}{revision(one)[4:]}" for one in range(HISTORY) for page in ("rev", "files", "graph", "log")
    }
    assert wanted <= pages
    assert len(hg.fetched) <= 3 * len(pages)
    patterns = {trap.pattern for trap in hg.traps.quarantine.traps()}
    assert {"hg.test/rev/*?revcount=", "hg.test/graph/*?revcount="} <= patterns
    assert all(pattern.endswith("?revcount=") for pattern in patterns)


def test_a_void_parameter_hides_nothing_on_paths_where_it_selects() -> None:
    traps = detector()
    for number in range(3 * EQUAL_LEAST):
        for language in ("de", "en"):
            for path in ("news", "shop", "help"):
                visit(traps, f"/{path}/{number}?lang={language}", 3 * number + len(path))
    assert len(traps.quarantine) >= 3
    # Half of the pages of another path are translated.
    for number in range(3 * EQUAL_LEAST):
        for at, language in enumerate(("de", "en", "fr")):
            content = 10_000 + 10 * number + (at if number % 2 else 0)
            assert visit(traps, f"/book/{number}?lang={language}", content)


def test_two_void_parameters_are_void_together() -> None:
    traps = detector()
    for name in ("from", "ref"):
        for number in range(2 * EQUAL_LEAST):
            for value in range(2):
                visit(traps, f"/item/{number}?{name}x={value}", number)
    assert visit(traps, "/item/1000?fromx=1&refx=1", 1000)
    for value in range(2, 6):
        assert not visit(traps, f"/item/1000?fromx={value}&refx={value}", 1000)


def test_pages_are_compared_without_the_parameter_in_links_scripts_and_forms() -> None:
    with_it = (
        b'<a href="/a?n=30">a</a><a href="/b?n=30&amp;x=1">b</a><a href=/c?x=1&n=30>c</a>'
        b"<script>'/d/%next%?n=30'</script><input type=hidden name='n' value=30><input name=next>"
    )
    without = (
        b'<a href="/a">a</a><a href="/b?x=1">b</a><a href=/c?x=1>c</a>'
        b"<script>'/d/%next%'</script><input name=next>"
    )
    assert content_without(with_it, "n") == content_without(without, "n")
    for other in (b'<a href="/a?m=1">', b'<a href="/a?an=1">', b'<input name="nn" value=1>', b"n=1"):
        assert content_without(without + other, "n") != content_without(without, "n")
