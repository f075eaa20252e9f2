"""The package: what is in it, what it needs, and that it works where nothing else of this tree is: installed into an
empty environment, and as a zip on the path.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from inspect import isclass
from itertools import chain
from pathlib import Path

import pytest
from scrapy.commands import ScrapyCommand

from tests.commands import ROOT
from tests.crawl.crawling import Jobdir
from tests.install import project
from webcrawl import installed_commands

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PYPROJECT["optional-dependencies"]
COMMON = {
    "metrics": ["prometheus_client"],
    "processing": ["imagesize", "py3langid", "numpy", "pypdf", "resiliparse"],
    "warc": ["warcio"],
}
"""The extras that requirements.txt has, with the names under which they are imported."""
REQUIREMENT = re.compile(r"([\w.-]+)(?:([=>]=)([\w.]+)(,<[\d.]+)?)?(; .+)?")
QUICK = {"POLITENESS_MIN_DELAY": 0, "POLITENESS_FACTOR": 0, "FETCH_PRIVATE_ADDRESSES": 1}


def requirements(lines):
    """Name to version and marker of each requirement."""
    found = {}
    for line in lines:
        if line.strip() and not line.startswith(("#", "-")):
            match = REQUIREMENT.fullmatch(line.strip().replace("'", '"'))
            assert match, line
            found[match[1]] = match[3], match[5]
    return found


def pinned(name):
    return requirements((ROOT / name).read_text().splitlines())


def given(**settings):
    return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]


def of_extras(*names):
    return requirements(line for name in names for line in EXTRAS[name])


def test_what_a_clone_has_is_what_the_package_requires_and_its_common_extras():
    assert requirements(PYPROJECT["dependencies"]) | of_extras(*COMMON) == pinned("requirements.txt")


def test_the_other_extras_are_what_the_file_of_extras_has():
    others = {*EXTRAS} - {*COMMON, "dev"}
    assert others == {"parquet", "focus", "search", "graph", "upload"}
    assert of_extras(*others) == pinned("requirements-extras.txt")
    constrained = [name for name, (version, _) in pinned("requirements-dev.txt").items() if version is None]
    assert {*constrained} <= {*pinned("requirements-extras.txt")}


def test_the_extra_for_development_is_what_the_tests_and_checkers_need():
    abilities, *tools = EXTRAS["dev"]
    named = re.fullmatch(r"webcrawl\[([\w,]+)\]", abilities)[1].split(",")
    needed = pinned("requirements-dev.txt")
    constrained = {name for name, (version, _) in needed.items() if version is None}
    assert {*named} >= {*COMMON}
    assert {*of_extras(*named)} == {*of_extras(*COMMON)} | constrained
    assert {*tools} == {f"{name}=={version}" for name, (version, _) in needed.items() if version is not None}


def test_each_command_is_an_entry_point():
    points = PYPROJECT["entry-points"]["scrapy.commands"]
    modules = {path.stem: import_module(f"webcrawl.commands.{path.stem}") for path in commands()}
    found = {
        name
        for name, module in modules.items()
        for each in vars(module).values()
        if isclass(each) and issubclass(each, ScrapyCommand) and each.__module__ == module.__name__
    }
    assert {*points} == found
    assert {*points.values()} == {f"{installed_commands.__name__}:{name}" for name in found}
    assert all(isclass(getattr(installed_commands, name)) for name in found)


def commands():
    return (ROOT / "webcrawl/commands").glob("[a-z]*.py")


def test_the_wheel_has_all_files_of_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if not name.startswith("webcrawl-")}
        (metadata,) = [
            archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA")
        ]
        licences = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
    files = (path for path in (ROOT / "webcrawl").rglob("*") if path.is_file())
    tree = {str(path.relative_to(ROOT)) for path in files if path.parent.name != "__pycache__"}

    assert there == tree
    assert sum(name.endswith(".lua") for name in there) > 40
    assert len(licences) == 1
    assert "License-Expression: BSD-3-Clause" in metadata
    needed = [*pinned("requirements.txt"), *pinned("requirements-extras.txt"), *EXTRAS["dev"]]
    assert metadata.count("Requires-Dist: ") == len(needed)


def test_the_long_description_has_no_link_that_leads_nowhere(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [
            archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA")
        ]
    description = metadata.partition("\n\n")[2]
    links = re.findall(r"\]\(([^)]*)\)", description)

    assert "Description-Content-Type: text/markdown" in metadata
    assert "## " in description
    assert "The [gauntlet]" not in description
    assert "The gauntlet judges" in description
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_the_first_make_says_that_it_installs_before_it_does(tmp_path):
    """In an empty folder with what the Makefile asks for; nothing is carried out."""
    for name in ("Makefile", "requirements.txt", "requirements-extras.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for target, needed in (("crawl", "requirements.txt"), ("lint", "requirements-dev.txt")):
        done = subprocess.run(
            ["make", "--dry-run", target, f"PYTHON={sys.executable}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        said = done.stdout.index('echo "Installing what')
        assert said < done.stdout.index(f"install --quiet --disable-pip-version-check -r {needed}")


def run(python, folder, *words, path=(), **variables):
    environment = project.environment(*path) | variables
    return subprocess.run(
        [python, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["-h"],
        ["crawl", "shop"],
        *(
            pytest.param(words, marks=pytest.mark.soak)
            for words in (["check"], ["parse", "-h"], ["runspider", "-h"])
        ),
    ],
)
def test_outside_of_projects_scrapys_commands_are_as_without_the_package(installed, tmp_path, words):
    plain = run(sys.executable, tmp_path, "-m", "scrapy", *words)
    beside = run(installed, tmp_path, "-m", "scrapy", *words)

    assert (beside.returncode, beside.stdout, beside.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_outside_of_projects_a_folder_of_a_crawl_can_be_read(installed, tmp_path):
    done = run(installed, tmp_path, "-m", "scrapy", "report", "nowhere")

    assert (done.returncode, "nowhere" in done.stderr) == (2, True)


@pytest.mark.parametrize("storage", ["sqlite", pytest.param("redis", marks=pytest.mark.soak)])
def test_it_crawls_out_of_a_zip(wheel, serve, tmp_path, storage, request):
    """Schema, scripts and lists lie beside the code, and are read out of it. It needs no extras."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without/sitecustomize.py").write_text(
        f"import sys\nsys.modules |= dict.fromkeys({[*chain(*COMMON.values())]})\n"
    )
    web = serve(hosts=2, pages=6)
    shared = {"REDIS_URL": request.getfixturevalue("redis_server").url} if storage == "redis" else {}
    settings = given(JOBDIR="job", **QUICK, **shared)
    words = ["-m", "scrapy", "crawl", "broad", "-a", f"seeds={web.seeds[0]}", *settings]
    path, variables = [tmp_path / "without", wheel], {"SCRAPY_SETTINGS_MODULE": "webcrawl.settings"}
    done = run(sys.executable, tmp_path, *words, path=path, **variables)

    assert done.returncode == 0, done.stderr
    folder = Jobdir(tmp_path / "job")
    assert len(folder.lines()) == 6
    assert len([record for record in folder.records() if record.type == "response"]) >= 6
    assert "Traceback" not in done.stderr

    modules = "webcrawl.processing.modules.Language,webcrawl.processing.main_text.Markdown"
    words += given(PROCESSING_MODULES=modules, METRICS_PORT=9410)
    refused = run(sys.executable, tmp_path, *words, path=path, **variables)

    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "scrapy crawl: PROCESSING_MODULES: needs py3langid and pypdf and resiliparse, which are not installed: "
        "pip install py3langid pypdf resiliparse",
        "scrapy crawl: METRICS_PORT: needs prometheus-client, which is not installed: pip install prometheus-client",
    ]


@pytest.mark.soak
def test_installed_with_all_that_it_needs_it_crawls(wheel, serve, tmp_path):
    """From the registry of packages, which takes minutes."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin/python")
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", f"{wheel}[parquet,search,graph,upload]"], check=True
    )
    web = serve(hosts=1, pages=3)
    made = project.make(tmp_path / "shop", Path("/nowhere"), python=python)
    done = made.scrapy("crawl", "site", "-a", f"origin={web.web.origin(0)}", "-O", "x.parquet", **QUICK)

    assert done.status == 0, done.err
    assert (made.folder / "x.parquet").stat().st_size
