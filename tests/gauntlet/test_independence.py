"""The web and the judges know nothing of the crawler that they judge, and each subject has both."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.gauntlet import arena
from tests.gauntlet.evidence import Run
from tests.gauntlet.scorecard import Verdict
from tests.gauntlet.subjects import SUBJECTS, TOGETHER

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def imported(path: Path) -> set[str]:
    """The modules that a file imports, at its top or anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return names


def reached(path: Path) -> set[str]:
    """All modules that a file of the tests imports, through other files of the tests too."""
    found, waiting = set(), [path]
    seen = {path}
    while waiting:
        for name in imported(waiting.pop()):
            found.add(name)
            if name.startswith("tests."):
                below = ROOT / name.replace(".", "/")
                for file in (below.with_suffix(".py"), below / "__init__.py"):
                    if file.exists() and file not in seen:
                        seen.add(file)
                        waiting.append(file)
    return found


@pytest.mark.parametrize("folder", ["web", "judges"])
def test_the_web_and_the_judges_import_nothing_of_the_crawler(folder: str) -> None:
    files = sorted((HERE / folder).glob("*.py"))
    assert len(files) > 10
    for path in [*files, HERE / "evidence.py", HERE / "server.py"]:
        crawler = [name for name in reached(path) if name.split(".")[0] in ("webcrawl", "scrapy", "twisted")]
        assert crawler == [], path.name


def test_each_subject_has_a_site_of_its_own_and_a_judge() -> None:
    webs = {path.stem for path in (HERE / "web").glob("*.py")} - {"__init__", "site"}
    judges = {path.stem for path in (HERE / "judges").glob("*.py")} - {"__init__", "rows"}
    assert webs == judges == {subject.module for subject in SUBJECTS.values()}
    assert set(TOGETHER) < set(SUBJECTS)
    assert len({subject.number for subject in SUBJECTS.values()}) == len(SUBJECTS)
    for subject in SUBJECTS.values():
        site = subject.site()
        assert site.hosts, subject.name
        assert site.seeds(), subject.name


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_judge_that_saw_nothing_says_of_no_promise_that_it_was_kept(name: str, tmp_path: Path) -> None:
    run = Run(
        exit_statuses=[0], can=["exclusion", "nameserver", "resume"], jobdirs=["crawl"], files=["crawl"]
    )
    (tmp_path / "run.json").write_text(run.to_json())
    rows = list(arena.judge([SUBJECTS[name]], tmp_path))
    assert rows
    assert {row.section for row in rows} == {SUBJECTS[name].section}
    kept = [row.name for row in rows if row.verdict is Verdict.PASS]
    assert [one for one in kept if (name, one) != ("coverage", "ends")] == []
    assert len({row.name for row in rows}) == len(rows)
