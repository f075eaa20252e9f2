"""Real pages: trees of documentation on different subjects, each a host, and a crawl that looks for one thing.

The trees are the folders in DOCUMENT_TREES that have at least 100 pages of HTML (Debian's -doc packages,
unpacked by ``dpkg -x``, are such), or else those in /usr/share/doc.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from statistics import median
from urllib.parse import unquote, urlsplit

import pytest

from tests.served import Files, serving
from webcrawl.features.focus.classifiers import classifier_for
from webcrawl.features.focus.relevance import FetchedPage

TREES = Path(os.environ.get("DOCUMENT_TREES", "/usr/share/doc"))
LEAST_PAGES, LEAST_TREES = 100, 4
SUBJECTS = (
    "interpolation, spline",
    "replication, standby",
    "eigenvalue, eigenvector",
    "unicode, utf-8",
    "certificate",
)
"""What may be looked for. What fewer than one page in 1,000 or more than one in 100 speaks of is passed over, and so
is what is no subject of a tree: half of the pages are to be in one, whose first page leads to others.
"""
LEADS = 3
PAGES = 600
TIMES = 5
SETTINGS = {
    "POLITENESS_KEY": "host",
    "CLOSESPIDER_PAGECOUNT": PAGES + 50,
    # A host is asked by one request at a time: with more than one in all, the others are for what is less relevant.
    "CONCURRENT_REQUESTS": 1,
    "COMMIT_INTERVAL_SECONDS": 0,
    # Some sixty pages a second come, of hosts that nobody has to wait for: what is queued is to be scored as fast.
    "FRONTIER_REORDERING": 0.5,
    "WARC_ENABLED": 0,
}
TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
HEAD = 5_000


def pages_of(folder):
    return [path for path in folder.rglob("*") if path.suffix in (".html", ".htm") and path.is_file()]


def name_of(folder):
    return "".join(filter(str.isalnum, folder.name.lower())) + ".localhost"


@pytest.fixture(scope="module")
def trees():
    """Host to folder and pages."""
    if not TREES.is_dir():
        pytest.skip(f"there is no {TREES}")
    found = {name_of(one): (one, pages_of(one)) for one in sorted(TREES.iterdir()) if one.is_dir()}
    found = {host: tree for host, tree in found.items() if len(tree[1]) >= LEAST_PAGES}
    if len(found) < LEAST_TREES:
        pytest.skip(f"{TREES} has {len(found)} trees of {LEAST_PAGES} pages, and {LEAST_TREES} are needed")
    return found


def front_page(folder, pages):
    """An index near the root, of several the one with the most links."""
    near = sorted(pages, key=lambda path: ("index" not in path.name, len(path.parts), path.name))[:10]
    best = max(near, key=lambda path: path.read_bytes().lower().count(b"href="))
    return best.relative_to(folder).as_posix()


@pytest.fixture(scope="module")
def seed(trees, folder):
    """The page that names all trees, served with them."""
    start = folder / "start"
    start.mkdir()

    class Handler(Files):
        def translate_path(self, path):
            host = self.headers.get("Host", "").partition(":")[0]
            self.directory = str(trees[host][0] if host in trees else start)
            return super().translate_path(path)

        def list_directory(self, path):
            self.send_error(404)

    with serving(Handler) as server:
        port = server.server_port
        links = [
            f"<a href='http://{host}:{port}/{front_page(*tree)}'>{host}</a>" for host, tree in trees.items()
        ]
        (start / "index.html").write_text("<title>All trees</title>" + " ".join(links))
        yield f"http://start.localhost:{port}/"


def leads(folder, pages):
    """How many links to pages of its tree the first page has."""
    return (folder / front_page(folder, pages)).read_bytes().lower().count(b".html")


def is_relevant(classifier, path):
    body = path.read_bytes()
    title = TITLE.search(body[:HEAD])
    named = title[1].decode("utf-8", "replace") if title else ""
    return classifier.relevance(FetchedPage("", "text/html", named, body=body, encoding="utf-8")) >= 0.5


def file_of(url, trees):
    """What was served under a URL; None for what is of no tree."""
    parts = urlsplit(url)
    if parts.hostname not in trees:
        return None
    path = trees[parts.hostname][0] / unquote(parts.path).lstrip("/")
    return path / "index.html" if path.is_dir() else path


@pytest.mark.soak
def test_on_real_pages_a_focused_crawl_finds_five_times_as_much(trees, seed, crawl):
    count = sum(len(pages) for _, pages in trees.values())
    print(f"{count} pages in {len(trees)} trees")
    all_times = []
    for subject in SUBJECTS:
        classifier = classifier_for(subject)
        hits = {host: sum(is_relevant(classifier, path) for path in tree[1]) for host, tree in trees.items()}
        share, home = sum(hits.values()) / count, max(hits, key=hits.__getitem__)
        together = hits[home] / max(sum(hits.values()), 1)
        if not 0.001 <= share <= 0.01 or together < 0.5 or leads(*trees[home]) < LEADS:
            print(f"{subject}: passed over, one page in {1 / max(share, 1e-9):.0f}, {together:.0%} in {home}")
            continue
        found = {}
        for name, arguments in (("breadth first", {}), ("focused", {"focus": subject})):
            crawled = crawl([seed], arguments=arguments, within=300, **SETTINGS)
            assert crawled.status == 0, crawled.stderr[-3000:]
            pages = [line for line in crawled.lines() if line.get("status") == 200][:PAGES]
            assert len(pages) == PAGES
            files = [file for line in pages if (file := file_of(line["url"], trees)) is not None]
            found[name] = sum(is_relevant(classifier, file) for file in {file.resolve() for file in files})
        times = found["focused"] / max(found["breadth first"], PAGES * share)
        print(f"{subject}: one page in {1 / share:.0f}; of {PAGES} pages {found}, {times:.1f} times")
        all_times.append(times)
    assert len(all_times) >= 2
    assert median(all_times) >= TIMES
