"""Who may import whom, and how large a file may grow."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from pathlib import Path

import pytest

from webcrawl.storage import BACKENDS, technologies

PACKAGE = Path(__file__).parents[1] / "webcrawl"
FILES = sorted(PACKAGE.rglob("*.py"))

MACHINE = {
    "urls": (),
    "scope": ("urls",),
    "politeness": ("urls",),
    "robots": (
        "urls",
        "politeness",
        "parsing.text",
        "archive.capture",
        "frontier.policies",
        "frontier.records",
    ),
    "parsing": ("urls", "child_process"),
    "processing": ("urls", "parsing", "child_process"),
    "archive": ("parsing.links", "errors", "child_process"),
    "links": ("urls", "parsing.links", "archive", "export.parquet"),
    "search": ("archive", "errors", "child_process"),
    "frontier": (
        "urls",
        "scope",
        "politeness",
        "robots",
        "errors",
        "archive.capture",
        "archive.repair",
        "archive.store",
        "storage.contract",
    ),
    "reports": (
        "archive",
        "audit.clocks",
        "features.revisits.report",
        "frontier.tally",
        "politeness",
        "rotated_log",
        "urls",
    ),
    "audit": ("politeness", "robots", "reports"),
    "export": ("archive", "reports", "urls", "frontier.records", "processing.contract", "storage.inspection"),
    "explain": (
        "features.focus",
        "features.revisits.page",
        "frontier.records",
        "parsing.sitemap",
        "politeness",
        "reports.text",
        "robots",
        "scope",
        "storage.contract",
        "storage.inspection",
        "urls",
    ),
    "features.content_seen": ("archive.capture", "errors", "storage.tables"),
    "features.focus": ("parsing", "urls", "errors", "frontier.records"),
    "features.hints": ("parsing.sitemap", "features.revisits", "errors", "storage.tables"),
    "features.link_scores": ("errors", "frontier.records", "storage.shared_parts"),
    "features.metrics": (
        "child_process",
        "features.dashboard.connections",
        "features.timeseries.figures",
        "reports.totals",
    ),
    "features.notifications": ("reports.text",),
    "features.revisits": (
        "archive.capture",
        "errors",
        "frontier.order",
        "frontier.records",
        "parsing.text",
        "reports.counting",
        "reports.html",
        "reports.text",
        "storage.tables",
    ),
    "features.seed_refill": ("errors", "urls", "storage.shared_parts"),
    "features.segments": (
        "features.registry",
        "archive.capture",
        "archive.line_sink",
        "errors",
        "frontier.order",
        "frontier.queue_head",
        "frontier.records",
        "reports.counting",
        "storage.contract",
        "storage.inspection",
        "storage.technology_in",
        "urls",
    ),
    "features.steering.store": ("errors", "storage.tables"),
    "features.timeseries": ("errors", "reports.totals", "storage.tables"),
    "features.traps": ("urls", "scope", "errors", "frontier.records", "storage.tables"),
    "features.websub": ("urls", "parsing", "errors", "storage.tables"),
}
"""The rooms of the machine, each with what it may know of the rest of the project (all modules below a name)."""

KNOWN_TO_ALL = ("atomic_file", "external_sort", "processes")
"""Modules of the standard library's kind: they know nothing of the project."""

WIRED = ("feature", "middleware", "command")
"""Modules by which a room meets Scrapy and the user: no part of the machine."""

WIRING = ("scrapy", "twisted", "itemadapter", "pydispatch")
"""What a room of the machine never imports."""

STORAGE_KNOWS = (
    "errors",
    "features.focus.learner",
    "features.focus.store",
    "features.focus.weights",
    "frontier.order",
    "frontier.queue_head",
    "frontier.records",
    "frontier.seen",
    "politeness.host_record",
    "storage",
)
"""A storage stores and decides nothing: it knows the contracts and the values, no policy."""

CHOICE = "technology"
"""The module of a storage that reads its options from the settings."""

LONGEST_MODULE = 800
LONGEST_FUNCTION = 60
NO_NAMES = ("utils", "util", "helpers", "helper", "common", "manager", "managers", "misc", "base")


def name_of(path):
    """``frontier.heap`` for webcrawl/frontier/heap.py."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


class Source:
    """What the tests want to know of a file; its tree is walked once."""

    def __init__(self, path):
        self.imports = []
        """The full names of everything that it imports, at its top, for type checkers, or inside a function."""
        self.technologies = set()
        """The names of technologies that it compares with something."""
        self.lambdas = []
        """The attributes of objects to which it assigns a lambda."""
        self.functions = {}
        """The number of lines of each function, the longest of a name."""
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                self.imports += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: a relative import"
                self.imports += [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Compare | ast.match_case):
                compared = node.pattern if isinstance(node, ast.match_case) else node
                constants = {one.value for one in ast.walk(compared) if isinstance(one, ast.Constant)}
                self.technologies |= constants & {*BACKENDS}
            elif isinstance(node, ast.Attribute) and node.attr == "frontier_backend":
                self.technologies.add(node.attr)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                self.lambdas += [ast.unparse(one) for one in node.targets if isinstance(one, ast.Attribute)]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                self.functions[node.name] = max(lines, self.functions.get(node.name, 0))


source = functools.cache(Source)


def imports(path):
    return source(path).imports


def own_imports(path):
    """What a file imports of this project, without the project's name."""
    for name in imports(path):
        package, _, rest = name.partition(".")
        if package == "webcrawl":
            yield rest


def below(name, parent):
    return name == parent or name.startswith(f"{parent}.")


def files_of(room):
    return [path for path in FILES if below(name_of(path), room) and path.stem not in WIRED]


@pytest.mark.parametrize("room", MACHINE)
def test_the_machine_knows_neither_scrapy_nor_twisted(room):
    found = {
        name_of(path): name
        for path in files_of(room)
        for name in imports(path)
        if name.split(".")[0] in WIRING
    }
    assert found == {}


def test_lxml_reads_pages_alone():
    """It never frees the names of elements; only of the reading of pages the memory that these take is bounded."""
    using = {name_of(path) for path in FILES if any(below(name, "lxml") for name in imports(path))}
    assert using == {"parsing.stream"}


@pytest.mark.parametrize("room", MACHINE)
def test_a_room_knows_only_the_rooms_below_it(room):
    allowed = (room, *MACHINE[room], *KNOWN_TO_ALL)
    found = {
        (name_of(path), name)
        for path in files_of(room)
        for name in own_imports(path)
        if not any(below(name, other) for other in allowed)
    }
    assert found == set()


def test_a_storage_knows_the_contracts_and_no_policy():
    found = {
        (name_of(path), name)
        for path in files_of("storage")
        for name in own_imports(path)
        if not any(below(name, known) for known in (*STORAGE_KNOWS, *KNOWN_TO_ALL))
        if not (path.stem == CHOICE and below(name, "config.Configuration"))
    }
    assert found == set()


MAY_IMPORT_ONE = {
    "dupefilter": "the seen test in Redis of projects that keep Scrapy's scheduler and know no backend",
}
"""Modules that import a technology, each with its reason."""


def test_a_technology_is_imported_in_folders_of_technologies_alone():
    """One may build on another."""
    packages = [package.partition(".")[2] for package in BACKENDS.values()]
    found = {
        (name_of(path), name)
        for path in FILES
        for name in own_imports(path)
        for package in packages
        if below(name, package) and not any(below(name_of(path), one) for one in packages)
        if name_of(path) not in MAY_IMPORT_ONE
    }
    assert found == set()


SCHEMES = "config.readers"
"""The module that compares the schemes of URLs, of which one is ``redis``."""


def test_no_module_compares_the_name_of_a_technology():
    """A technology is chosen by its abilities; ``Configuration.frontier_backend`` is for ``storage`` alone."""
    found = {(name_of(path), name) for path in FILES for name in source(path).technologies}
    assert {
        (module, name)
        for module, name in found
        if module != SCHEMES and (module, name) != ("config", "frontier_backend")
    } == set()


def test_each_technology_is_in_the_registry_with_its_own_name():
    assert [one.name for one in technologies()] == list(BACKENDS)
    assert {path.parent.name for path in FILES if path.stem == CHOICE} - {"storage"} == {*BACKENDS}


def test_the_scheduler_alone_knows_both_the_engine_and_the_frontier():
    knows = {
        name_of(path)
        for path in FILES
        for name in own_imports(path)
        if name == "frontier.frontier.Frontier" and not below(name_of(path), "frontier")
    }
    assert knows == {"scheduler"}


PRIVATE_OF_SCRAPY = re.compile(
    r"\b(?:from scrapy[\w.]* import (?:[^\n]*, )?_\w+"
    r"|(?:engine|scraper|chain|spider|crawler|self)\._(?:slot|mw_\w+|handle_mw_method|process_\w+|scrape|check_if_closing"
    r"|parse|start_scheduled_\w+)\b)"
)
OURS_ALIKE = re.compile(r"def (_scrape|_parse)\b")


def test_private_names_of_scrapy_are_used_in_one_module():
    found = {}
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        own = set(OURS_ALIKE.findall(text))
        used = {name for name in PRIVATE_OF_SCRAPY.findall(text) if name.rpartition(".")[2] not in own}
        if used and name_of(path) != "engine.scrapy_private":
            found[name_of(path)] = used
    assert found == {}


def runtime_imports(path, modules):
    """The modules of this project that a module imports when it is imported itself."""

    def statements(body):
        for node in body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.If | ast.Try | ast.With):
                yield from statements(node.body)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("webcrawl"):
                yield from (f"{node.module}.{alias.name}".partition(".")[2] for alias in node.names)

    for name in statements(ast.parse(path.read_text(encoding="utf-8")).body):
        yield name if name in modules else name.rpartition(".")[0]


def test_no_module_imports_itself_by_way_of_others():
    modules = {name_of(path): path for path in FILES}
    graph = {
        name: {one for one in runtime_imports(path, modules) if one != name} for name, path in modules.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_module_and_no_function_is_too_long_to_be_read():
    lengths = {name_of(path): path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE} == {}
    functions = {
        (name_of(path), name): lines for path in FILES for name, lines in source(path).functions.items()
    }
    assert {name: lines for name, lines in functions.items() if lines > LONGEST_FUNCTION} == {}


def test_no_file_is_named_after_nothing():
    assert [path for path in FILES if path.stem in NO_NAMES] == []


def test_no_function_of_an_object_is_replaced_from_outside():
    """A callback is an argument of the constructor of the object that calls it."""
    found = {(name_of(path), name) for path in FILES for name in source(path).lambdas}
    assert found == set()
