"""Who may import whom, and how large a file may grow."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "webcrawl"
FILES = sorted(PACKAGE.rglob("*.py"))

MACHINE = {
    "urls": (),
    "scope": ("urls",),
    "hosts": ("urls",),
    "documents": ("urls", "ownprocess"),
    "processing": ("urls", "documents", "ownprocess"),
    "importance": ("errors", "frontier.records"),
    "focus": ("documents", "urls", "errors", "frontier.records"),
    "archive": ("documents.linkcolumns", "errors", "ownprocess"),
    "contents": (
        "ownfile",
        "errors",
    ),
    "linklog": ("urls", "documents.linkcolumns", "archive", "export.parquet"),
    "search": ("archive", "errors", "ownprocess"),
    "websub": ("ownfile", "urls", "documents", "errors"),
    "hints": ("ownfile", "documents.listed", "visits", "errors"),
    "frontier": (
        "urls",
        "scope",
        "hosts",
        "errors",
        "archive.capture",
        "archive.store",
        "archive.repair",
        "contents.seen",
        "visits.store",
        "visits.page",
        "visits.history",
    ),
    "reports": ("archive", "frontier.tally", "hosts", "urls"),
    "traps": ("urls", "scope", "errors", "frontier.records"),
    "visits": (
        "ownfile",
        "documents.dates",
        "reports.units",
        "errors",
        "archive.capture",
        "frontier.records",
        "frontier.order",
    ),
    "export": ("archive", "reports", "urls", "frontier.records", "frontier.backends.books"),
    "replenishing": ("errors", "urls", "frontier.backends.redis.seed_lists"),
    "segments": (
        "errors",
        "archive.linefile",
        "archive.capture",
        "reports.gathered",
        "urls",
        "frontier.records",
        "frontier.order",
        "frontier.queue_head",
        "frontier.backend",
        "frontier.backends.books",
        "frontier.backends.sqlite.books",
    ),
    "explanation": (
        "focus",
        "reports.units",
        "documents.listed",
        "urls",
        "scope",
        "hosts",
        "frontier.backend",
        "frontier.records",
        "frontier.backends.sighting",
        "visits.page",
    ),
}
"""The rooms of the machine, each with what it may know of the rest of the project (all modules below a name)."""

WIRING = ("scrapy", "twisted", "itemadapter", "pydispatch")
"""What a room of the machine never imports."""

BACKENDS_KNOW = (
    "contents.seen",
    "frontier.backend",
    "frontier.backends",
    "frontier.claims",
    "frontier.draw",
    "frontier.hold",
    "frontier.queue_head",
    "frontier.records",
    "frontier.seen",
    "hosts.record",
    "visits.store",
    "visits.page",
    "visits.history",
    "errors",
)
"""A backend stores and decides nothing: it knows the contract and the values, no policy."""

LONGEST_MODULE = 800
LONGEST_FUNCTION = 60
NO_NAMES = ("utils", "util", "helpers", "helper", "common", "manager", "managers", "misc", "base")


def name_of(path):
    """``frontier.heap`` for webcrawl/frontier/heap.py."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imports(path):
    """The full names of everything that a file imports, at its top, for type checkers, or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(path):
    """What a file imports of this project, without the project's name."""
    for name in imports(path):
        package, _, rest = name.partition(".")
        if package == "webcrawl":
            yield rest


def below(name, parent):
    return name == parent or name.startswith(f"{parent}.")


def files_of(room):
    return [path for path in FILES if below(name_of(path), room)]


@pytest.mark.parametrize("room", MACHINE)
def test_the_machine_knows_neither_scrapy_nor_twisted(room):
    found = {
        name_of(path): name
        for path in files_of(room)
        for name in imports(path)
        if name.split(".")[0] in WIRING
    }
    assert found == {}


@pytest.mark.parametrize("room", MACHINE)
def test_a_room_knows_only_the_rooms_below_it(room):
    allowed = (room, *MACHINE[room])
    found = {
        (name_of(path), name)
        for path in files_of(room)
        for name in own_imports(path)
        if not any(below(name, other) for other in allowed)
    }
    assert found == set()


def test_a_backend_knows_the_contract_and_no_policy():
    found = {
        (name_of(path), name)
        for path in files_of("frontier.backends")
        for name in own_imports(path)
        if not any(below(name, known) for known in BACKENDS_KNOW)
    }
    assert found == set()


def test_the_scheduler_alone_knows_both_the_engine_and_the_frontier():
    knows = {
        name_of(path)
        for path in FILES
        for name in own_imports(path)
        if name == "frontier.frontier.Frontier" and not below(name_of(path), "frontier")
    }
    assert knows == {"scheduler"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_module_and_no_function_is_too_long_to_be_read(path):
    text = path.read_text(encoding="utf-8")
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = {
        node.name: lines
        for node in functions
        if (lines := node.end_lineno - node.lineno + 1) > LONGEST_FUNCTION
    }

    assert text.count("\n") <= LONGEST_MODULE
    assert long == {}


def test_no_file_is_named_after_nothing():
    assert [path for path in FILES if path.stem in NO_NAMES] == []
