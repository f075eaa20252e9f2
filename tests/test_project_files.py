"""What surrounds the code: the files of editors, of commits and of the project's host."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import webcrawl

ROOT = Path(__file__).parents[1]
BINARY = (".png",)
FOREIGN = "webcrawl/web/dashboard/static/uPlot."
"""The beginning of the files that are kept as their authors made them."""


@pytest.fixture(scope="module")
def texts() -> dict[str, bytes]:
    """The text files of the project by name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not in a clone, so there is no list of what belongs to the project")
    names = [name for name in listed.stdout.split("\0") if name and not name.endswith(BINARY)]
    return {
        name: (ROOT / name).read_bytes()
        for name in names
        if not name.startswith(FOREIGN) and (ROOT / name).is_file()
    }


def test_every_file_is_as_editors_are_told_to_write_it(texts: dict[str, bytes]) -> None:
    told = (ROOT / ".editorconfig").read_text()
    for property_ in ("charset = utf-8", "end_of_line = lf", "insert_final_newline = true"):
        assert property_ in told
    assert [name for name, text in texts.items() if b"\r\n" in text] == []
    assert [name for name, text in texts.items() if text and not text.endswith(b"\n")] == []
    assert [name for name, text in texts.items() if b" \n" in text or b"\t\n" in text] == []
    for text in texts.values():
        text.decode("utf-8")


def test_the_hooks_of_commits_run_the_checkers_that_are_installed() -> None:
    """So no program has two versions: a hook names one of requirements-dev.txt, and fetches none."""
    pinned = {line.partition("==")[0] for line in (ROOT / "requirements-dev.txt").read_text().splitlines()}
    (repository,) = YAML(typ="safe").load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        package = "ruff" if program == ".venv/bin/ruff" else "pre-commit-hooks"
        assert package in pinned
        assert (hook["language"], "additional_dependencies" in hook) == ("system", False)


def test_every_image_and_wheel_has_the_version_of_the_package(texts: dict[str, bytes]) -> None:
    found = {
        (name, version.decode())
        for name, text in texts.items()
        for version in re.findall(rb"\bwebcrawl[:-](\d+\.\d+\.\d+)\b", text)
    }
    assert {"compose.yaml", "deploy/kubernetes/base/workers.yaml", "CONTRIBUTING.md"} <= {
        name for name, _ in found
    }
    assert {version for _, version in found} == {webcrawl.__version__}
