"""A feature of another package, installed from its wheel: its rule is obeyed, and it sees what is fetched."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.crawl import crawling
from tests.install import home

if TYPE_CHECKING:
    from pathlib import Path

CODE = r"""
from webcrawl.crawl.feature import Feature
from webcrawl.crawl.feature_table import Entry


class OddRule:
    name = "odd-pages"

    def refuses(self, candidate):
        return "its number is odd" if candidate.url.endswith(tuple("13579")) else None


class EvenFeature(Feature):
    def __init__(self, folder):
        self.rule = OddRule()
        self._folder = folder

    async def open(self, counts):
        self._file = (self._folder / "even.txt").open("w")

    def settled(self, flight):
        self._file.write(f"{flight.lease.entry.url}\n")

    async def close(self):
        self._file.close()


def build(parts):
    return EvenFeature(parts.folder)


FEATURE = Entry("even", lambda parts: parts.spider.name == "broad", __name__, is_shaping=True)
"""


@pytest.fixture(scope="module")
def packages(folder: Path) -> Path:
    """A folder for the path, with the package that was installed into it."""
    wheel = folder / "evenpages-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("evenpages.py", CODE)
        about = "evenpages-1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: evenpages\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/entry_points.txt", "[webcrawl.features]\neven = evenpages:FEATURE\n")
        archive.writestr(f"{about}/RECORD", "")
    target = folder / "packages"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, "--no-index", "--no-deps", "--target", str(target), str(wheel)], check=True)
    return target


def test_it_takes_part_in_a_crawl(packages: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(packages))
    with home.served(
        {"/": home.page(*(f"/{n}" for n in range(10))), **{f"/{n}": home.page() for n in range(10)}}
    ) as site:
        crawl = crawling.start(folder / "crawl", [f"{site.origin}/"], afresh=True).wait().assert_ended_well()

    even = {"/", *(f"/{number}" for number in range(0, 10, 2))}
    assert {*site.paths()} - {"/robots.txt"} == even
    settled = (crawl.path / "even.txt").read_text().split()
    assert {url.removeprefix(site.origin) for url in settled} == even | {"/robots.txt"}


def test_one_that_cannot_be_imported_is_named_before_anything_is_fetched(
    packages: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(packages))
    shutil.copytree(packages, tmp_path / "packages")
    (tmp_path / "packages/evenpages.py").write_text("import nothing_like_this\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    with home.served({}) as site:
        crawl = crawling.start(tmp_path / "crawl", [f"{site.origin}/"], afresh=True).wait()

    assert (crawl.status, site.paths()) == (2, [])
    assert "evenpages:FEATURE cannot be imported" in crawl.stderr
    assert "Traceback" not in crawl.stderr
