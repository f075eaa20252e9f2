"""The package as it is built of this tree, once for all tests here."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.commands import ROOT

BUILD = "import setuptools.build_meta, sys; setuptools.build_meta.build_wheel(sys.argv[1])"


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what belongs to the package: building writes into its tree."""
    copy = tmp_path_factory.mktemp("tree") / "webcrawl"
    copy.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "scrapy.cfg"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "webcrawl", copy / "webcrawl", ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="session")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as an installer builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty environment into which the wheel was installed. The packages that it needs are lent
    from the environment of the tests.
    """
    home = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    (place,) = home.glob("lib/python*/site-packages")
    (place / "lent.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.fixture(scope="session")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the path that holds what an installation from this tree leaves there, by which tools know the
    package: its metadata, and a link to the code.
    """
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if ".dist-info/" in name])
    (folder / "webcrawl").symlink_to(ROOT / "webcrawl")
    return folder
