"""Each command, endpoint, live setting, exit status and setting that matters first has a promise with a judge."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gauntlet.promises import judge, read
from tests.gauntlet.promises.stages import STAGES
from tests.gauntlet.promises.table import JUDGES, KINDS, TECHNOLOGIES
from webcrawl.features.steering.live_settings import LIVE
from webcrawl.web.dashboard.api import ENDPOINTS, PUBLIC
from webcrawl.web.service.api import ENDPOINTS as OF_THE_SERVICE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.web.dashboard.api import Endpoint

ROOT = Path(__file__).parents[2]
ROWS = read()
NO_COMMANDS = {"__init__", "changes", "fetch_logs", "output", "page_commands"}
"""Modules of webcrawl/commands without a command."""


def names(kind: str) -> set[str]:
    return {row.name for row in ROWS if row.kind == kind}


def sections() -> dict[str, str]:
    """The sections of docs/reference/commands.md by the commands that they are about."""
    found = {}
    page = (ROOT / "docs/reference/commands.md").read_text()
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if title.startswith("scrapy "):
            for name in title.removeprefix("scrapy ").split(", "):
                found[name] = text
    return found


def documented_statuses() -> set[str]:
    """Command and status, as "add 1": from the paragraph that begins with "Exit status", or the table of crawl."""
    found = set()
    for name, text in sections().items():
        table = re.search(r"^\| exit status \|.*?\n\n", text, re.MULTILINE | re.DOTALL)
        paragraph = re.search(r"^(?:.*\. )?Exit status.*?(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
        told = table or paragraph
        assert told is not None, f"docs/reference/commands.md does not say how scrapy {name} ends"
        words = re.sub(r"^.*?(?=Exit status|\| exit)", "", told[0], count=1, flags=re.DOTALL)
        numbers = re.findall(r"(?:^\| |[:;,.] |status |or )([012])(?=[ ,:;])", words, re.MULTILINE)
        found |= {f"{name} {number}" for number in numbers}
    return found


def subcommands() -> set[str]:
    """Words such as "archive check" of the blocks with the usage."""
    found = set()
    for text in sections().values():
        usage = re.search(r"```usage\n(.*?)```", text, re.DOTALL)
        for line in (usage[1] if usage else "").splitlines():
            match = re.match(r"scrapy (\w+) ([a-z|]+)(?: |$)", line)
            if match:
                found |= {f"{match[1]} {word}" for word in match[2].split("|")}
    return found


def endpoints(table: Iterable[Endpoint]) -> set[str]:
    return {f"{endpoint.method} {endpoint.path}" for endpoint in table}


def test_each_row_is_of_a_known_kind_and_has_a_judge_and_a_stage() -> None:
    wrong = [
        row.name
        for row in ROWS
        if row.judge not in JUDGES
        or row.kind not in KINDS
        or row.stage not in STAGES
        or not {*row.on} <= {*TECHNOLOGIES}
        or not row.says.endswith(".")
    ]
    assert wrong == []


def test_no_promise_is_there_twice_and_no_judge_is_idle() -> None:
    counts = Counter((row.kind, row.name) for row in ROWS)
    assert [found for found, number in counts.items() if number > 1] == []
    assert sorted(JUDGES.keys() - {row.judge for row in ROWS}) == []


def test_each_command_and_subcommand_has_its_promise() -> None:
    commands = {path.stem for path in (ROOT / "webcrawl/commands").glob("*.py")} - NO_COMMANDS
    judged = names("command") | {name.partition(" ")[0] for name in names("command")}
    assert sorted((commands | subcommands()) - judged) == []


def test_each_endpoint_has_its_promise() -> None:
    dashboard = endpoints(ENDPOINTS) | endpoints(PUBLIC)
    assert sorted(dashboard - names("dashboard")) == []
    assert sorted(endpoints(OF_THE_SERVICE) - names("service")) == []


def test_each_live_setting_has_its_promise() -> None:
    assert names("live setting") == {*LIVE}


def test_each_exit_status_that_is_documented_has_its_promise() -> None:
    judged = names("exit status").union(*(row.ends for row in ROWS))
    assert sorted(documented_statuses() - judged) == []


def test_each_setting_that_matters_first_has_its_promise() -> None:
    page = (ROOT / "docs/start/first-crawl.md").read_text()
    table = page.partition("## Settings that matter first\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", table, re.MULTILINE)
    settings = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert len(settings) >= 10
    assert sorted(settings - names("setting")) == []


def test_the_quick_part_is_kept(tmp_path: Path) -> None:
    """A crawl of one process: pause, resume, add, exclude, a live setting, status and stop."""
    rows = list(judge(tmp_path / "promises", quick=True))
    assert len(rows) >= 7
    assert [row for row in rows if row.has_failed] == []
