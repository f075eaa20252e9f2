"""A tree of real documentation, served on loopback: its pages, links, texts and what is found in it, recounted.

Whose it is says DOCUMENTATION_TREE, a folder with a thousand HTML pages or more; without it, what Debian's package
postgresql-doc has installed is taken. Nothing is fetched from elsewhere.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import defaultdict, deque
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

from tests.commands import in_process
from tests.recount import shown_words, words_of
from tests.served import serving_folder
from webcrawl.links.reading import LinkLogs

PAGES = 1000
INSTALLED = "/usr/share/doc"
FOLLOWED = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}
UNSEEN = ("script", "style", "title", "head", "template")
WORDS = 60
"""So many words are searched for."""
SETTINGS = {
    "PROCESSING_MODULES": "webcrawl.processing.modules.Head,webcrawl.processing.main_text.MainText",
    "ARCHIVE_SINKS": "webcrawl.search.store.SearchIndex",
    "SEARCH_STEMMER": "none",
    "LINK_LOG_ENABLED": 1,
    "LINK_TYPES": ",".join(FOLLOWED),
    "CONTENT_SEEN": 0,
    "TRAPS_QUARANTINE": 0,
    "DOWNLOAD_MAXSIZE": 32 << 20,
    "DEPTH_LIMIT": 0,
}

pytestmark = pytest.mark.soak


class Recount(HTMLParser):
    """What the standard library makes of a page: its links, its title, its words."""

    def __init__(self, url: str, text: str) -> None:
        super().__init__()
        self.url = url
        self.links: set[str] = set()
        self.title = ""
        self.text: list[str] = []
        self._base = url
        self._inside: list[str] = []
        self.markup = text
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "base" and given.get("href"):
            self._base = urljoin(self.url, given["href"])
        if tag in FOLLOWED and given.get(FOLLOWED[tag]) is not None:
            target = urldefrag(urljoin(self._base, given[FOLLOWED[tag]].strip())).url
            if target.startswith(("http://", "https://")):
                self.links.add(like(target))
        if tag in UNSEEN:
            self._inside.append(tag)
        elif not self._inside:
            self.text += [f" {given[name]} " for name in ("alt", "value") if given.get(name)]

    def handle_endtag(self, tag):
        if tag in UNSEEN and tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data):
        if self._inside[-1:] == ["title"]:
            self.title += data
        elif not self._inside:
            self.text.append(data)


def like(url: str) -> str:
    """A URL in which escapes and an empty path make no difference."""
    parts = urlsplit(url)
    return unquote(parts._replace(path=parts.path or "/").geturl())


def tree() -> Path | None:
    given = os.environ.get("DOCUMENTATION_TREE")
    found = [Path(given)] if given else sorted(Path(INSTALLED).glob("postgresql-doc-*/html"))
    return found[-1] if found and len(list(found[-1].rglob("*.html"))) >= PAGES else None


@pytest.fixture(scope="module")
def origin():
    folder = tree()
    if folder is None:
        pytest.skip(f"no tree of {PAGES} HTML pages: set DOCUMENTATION_TREE, or install postgresql-doc")
    with serving_folder(folder) as served:
        yield served


@pytest.fixture(scope="module")
def recounted(origin):
    """URL to page, of all that the front page leads to."""
    folder, found = tree(), {}
    queue = deque([f"{origin}/index.html"])
    while queue:
        url = queue.popleft()
        path = folder / unquote(urlsplit(url).path).lstrip("/")
        path = path / "index.html" if path.is_dir() and url.endswith("/") else path
        if url in found or urlsplit(url).query or path.suffix not in (".html", ".htm") or not path.is_file():
            continue
        page = found[url] = Recount(url, path.read_text("utf-8", "replace"))
        queue += [link for link in page.links if link.startswith(f"{origin}/")]
    return found


@pytest.fixture(scope="module")
def crawled(origin, crawl):
    return crawl(
        [f"{origin}/index.html"],
        arguments={"allow": f"^{re.escape(origin)}/"},
        options=["-O", "pages.jsonl"],
        within=1200,
        **SETTINGS,
    ).assert_ended_well()


@pytest.fixture(scope="module")
def rows(crawled):
    lines = (crawled.path.parent / "pages.jsonl").read_text("utf-8").splitlines()
    return {like(row["url"]): row for row in map(json.loads, lines)}


def test_the_same_pages_are_fetched(crawled, recounted):
    fetched = {
        like(line["url"])
        for line in crawled.lines()
        if line.get("mime") == "text/html" and line["status"] == 200
    }
    print(f"{len(recounted)} pages")
    assert len(recounted) >= PAGES
    assert fetched == set(recounted)
    assert max(crawled.fetched().values()) == 1


def test_pages_have_the_same_links(crawled, recounted):
    logged = {
        like(page.page): {like(link.to.partition("#")[0]) for link in page.links}
        for page in LinkLogs([crawled.path]).pages()
    }
    print(f"{sum(len(page.links) for page in recounted.values())} links")
    assert {url: page.links for url, page in recounted.items()} == {url: logged[url] for url in recounted}


def test_pages_have_the_same_titles_and_all_words_that_they_show(recounted, rows):
    missing = shown = 0
    for url, page in recounted.items():
        assert " ".join((rows[url]["title"] or "").split()) == " ".join(page.title.split())
        told = words_of(f"{rows[url].get('text', '')}\n{rows[url].get('boilerplate', '')}")
        there, whole = words_of(" ".join(page.text)), "".join(page.text).lower()
        # A part of a word may be in an element of its own; numbers above the line are told apart.
        assert [word for word in told - there if not word.isdigit() and word not in whole] == []
        words = shown_words(page.markup)
        missing, shown = missing + len(words - told), shown + len(words)
    print(f"{missing} words of {shown} that pages show are in no text")
    assert missing <= 0.001 * shown


def test_pages_that_show_a_word_are_found_by_it(crawled, recounted, capsys):
    seed = random.randrange(1 << 30)
    print("seed:", seed)
    pages = defaultdict(set)
    for url, page in recounted.items():
        for word in shown_words(page.markup) | words_of(page.title):
            pages[word].add(url)
    most = 1000  # as many as a search shows
    words = sorted(word for word, on in pages.items() if len(word) < 100 and len(on) < most)
    search = in_process("search", capsys, JOBDIR=crawled.path, SEARCH_STEMMER="none")
    shown = found = 0
    for word in random.Random(seed).sample(words, WORDS):
        hits = search(f'"{word}"', "--json", "--limit", str(most)).told["hits"]
        shown += len(pages[word])
        found += len(pages[word] & {like(hit["url"]) for hit in hits})
    print(f"found {found} of {shown}")
    assert found >= 0.99 * shown
