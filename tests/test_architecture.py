"""Who may import whom, and how large a file may grow."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from pathlib import Path

import pytest

from tests.rows import each_row
from webcrawl.storage import BACKENDS, technologies

PACKAGE = Path(__file__).parents[1] / "webcrawl"
FILES = sorted(PACKAGE.rglob("*.py"))

FLOORS = {
    "base": (
        "version, errors, refusal, atomic_file, external_sort, processes, child_process, plain_values, fetch_errors",
        "terminal",
        "reports.text",
    ),
    "rules": (
        "urls",
        "parsing",
        "scope",
        "politeness",
        "robots",
        "features.focus.relevance, features.focus.classifiers",
        "features.revisits.estimate, features.revisits.policies, features.revisits.freshness",
        "features.usage.statements",
        "features.usage.content_usage, features.usage.content_signal, features.usage.tdmrep, features.usage.rsl",
        "features.usage.robots_controls",
        "features.usage.robots_file",
        "features.usage.site_files",
        "features.identity.keys",
        "features.refusals.signatures, features.refusals.recogniser",
    ),
    "records": ("archive", "rotated_log", "parquet", "links", "search", "processing", "items"),
    "frontier": (
        "frontier.records, frontier.order, frontier.queue_head",
        "storage.move_mark",
        "storage.contract, storage.shared_parts, storage.tables, storage.inspection",
        "storage, storage.technology",
        "frontier",
        "storage.machine_clocks",
    ),
    "settings": ("config, settings",),
    "reports": ("reports", "audit", "export"),
    "fetching": ("scrapy_private", "fetching.body_memory", "fetching", "logs"),
    "storage": ("storage.redis", "storage.sqlite", "storage.memory"),
    "crawl": ("crawl",),
    "scrapy": (
        "engine",
        "downloadermiddlewares",
        "feeds",
        "feed_exporters",
        "extensions",
        "inline_requests",
        "scheduler",
        "spidermiddlewares",
        "spiders",
        "addon",
        "environment",
        "dupefilter",
        "workers",
        "start",
    ),
    "features": (
        "features",
        "features.identity",
        "features.batched_lookups",
        "features.beliefs",
        "features.content_seen",
        "features.near_duplicates",
        "features.revisits",
        "features.hints",
        "features.traps",
        "features.dust",
        "features.mirrors",
        "features.usage",
        "features.refusals",
        "features.websub",
        "features.focus",
        "features.link_scores",
        "features.seed_refill",
        "features.segments",
        "features.checkpoints",
        "features.pushed_urls",
        "features.timeseries",
        "features.steering",
        "features.notifications",
    ),
    "inspection": ("explain", "control"),
    "web": ("web", "web.metrics", "web.dashboard", "web.service"),
    "commands": (
        "demo",
        "command",
        "commands.fetch_logs",
        "archive.command",
        "audit.command",
        "belief_command",
        "features.identity.command",
        "features.notifications.command",
        "features.segments.command",
        "features.websub.command",
        "web.service.command",
        "commands",
        "installed_commands",
        "__init__",
    ),
}
"""The floors from the ground up, and the parts of each in their order. A part imports itself and the parts before it.

A name stands for a module or a folder, without what another name names better; the last one is the package itself.
Names with commas between them are one part. docs/internals/architecture.md draws this.
"""

MACHINE = {
    *(
        "urls",
        "scope",
        "politeness",
        "robots",
        "parsing",
        "processing",
        "archive",
        "links",
        "search",
        "frontier",
    ),
    *("reports", "audit", "export", "explain", "storage.contract", "storage.inspection", "storage.tables"),
    *(
        "features.batched_lookups",
        "features.beliefs",
        "features.content_seen",
        "features.focus",
        "features.hints",
        "features.link_scores",
        "features.near_duplicates",
        "web.metrics",
    ),
    *(
        "features.notifications",
        "features.revisits",
        "features.refusals",
        "features.seed_refill",
        "features.segments",
    ),
    *(
        "features.steering.store",
        "features.timeseries",
        "features.dust",
        "features.mirrors",
        "features.traps",
        "features.websub",
    ),
}
"""The machine: what decides, without the modules ``WIRED``."""

WIRED = ("feature", "middleware", "command")
"""Modules by which a room meets Scrapy and the user: no part of the machine."""

WIRING = ("scrapy", "twisted", "itemadapter", "pydispatch")
"""What a room of the machine never imports."""

STORAGE_KNOWS = (
    "errors",
    "atomic_file",
    "external_sort",
    "processes",
    "child_process",
    "frontier.order",
    "frontier.queue_head",
    "frontier.records",
    "frontier.seen",
    "politeness.host_record",
    "storage",
)
"""A storage stores and decides nothing: it knows the contracts and the values, no policy."""

CHOICE = "technology"
"""The module of a storage that says what it can do."""

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
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        """The names of the classes at its top."""
        for node in ast.walk(tree):
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


PARTS = {
    name: (place, floor)
    for place, (floor, part) in enumerate((floor, part) for floor, parts in FLOORS.items() for part in parts)
    for name in part.split(", ")
}
"""The place of each name of ``FLOORS``, and its floor."""


@functools.cache
def part_of(module):
    """The place of a module among the parts, and its floor; None if it has none."""
    names = [name for name in PARTS if below(module, name)]
    return PARTS[max(names, key=len)] if names else None


MODULES = frozenset(map(name_of, FILES))


def imported_modules(path):
    """The modules of this project that a file imports, wherever it does."""
    return {name if name in MODULES else name.rpartition(".")[0] or "__init__" for name in own_imports(path)}


def test_each_module_is_in_a_part_and_each_name_of_the_list_is_a_module():
    assert [name for name in MODULES if part_of(name) is None] == []
    assert PARTS.keys() - MODULES == set()


def test_each_import_goes_down_or_stays_in_its_part():
    """All imports count: at the top of a module, inside a function, and for type checkers."""
    upward = {
        (module, name)
        for path in FILES
        for module in [name_of(path)]
        for name in imported_modules(path)
        if part_of(name)[0] > part_of(module)[0]
    }
    assert upward == set()


def test_no_modules_import_each_other_in_a_circle():
    """All imports count here too. Raises CycleError, which names one circle."""
    graph = {name_of(path): imported_modules(path) - {name_of(path)} for path in FILES}
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) == len(MODULES)


def test_fetching_and_the_storages_do_not_know_each_other_nor_a_feature():
    offenders = {
        (module, name)
        for path in FILES
        for module in [name_of(path)]
        for name in imported_modules(path)
        if part_of(module)[1] in ("fetching", "storage")
        if {part_of(module)[1], part_of(name)[1]} == {"fetching", "storage"} or below(name, "features")
    }
    assert offenders == set()


@each_row("room", sorted(MACHINE))
def test_the_machine_knows_neither_scrapy_nor_twisted(room):
    offenders = {
        name_of(path): name
        for path in files_of(room)
        for name in imports(path)
        if name.split(".")[0] in WIRING
    }
    assert offenders == {}


def test_lxml_reads_pages_alone():
    """It never frees the names of elements; only of the reading of pages the memory that these take is bounded."""
    using = {name_of(path) for path in FILES if any(below(name, "lxml") for name in imports(path))}
    assert using == {"parsing.stream"}


def test_a_storage_knows_the_contracts_and_no_policy():
    offenders = {
        (name_of(path), name)
        for path in files_of("storage")
        for name in own_imports(path)
        if not any(below(name, known) for known in STORAGE_KNOWS)
    }
    assert offenders == set()


MAY_IMPORT_ONE = {
    "dupefilter": "the seen test in Redis of projects that keep Scrapy's scheduler and know no backend",
}
"""Modules that import a technology, each with its reason."""


def test_a_technology_is_imported_in_folders_of_technologies_alone():
    """One may build on another."""
    packages = [package.partition(".")[2] for package in BACKENDS.values()]
    offenders = {
        (name_of(path), name)
        for path in FILES
        for name in own_imports(path)
        for package in packages
        if below(name, package) and not any(below(name_of(path), one) for one in packages)
        if name_of(path) not in MAY_IMPORT_ONE
    }
    assert offenders == set()


SCHEMES = "config.readers"
"""The module that compares the schemes of URLs, of which one is ``redis``."""


def test_no_module_compares_the_name_of_a_technology():
    """A technology is chosen by its abilities; ``Configuration.frontier_backend`` is for ``storage`` alone."""
    offenders = {(name_of(path), name) for path in FILES for name in source(path).technologies}
    assert {
        (module, name)
        for module, name in offenders
        if module != SCHEMES and (module, name) != ("config", "frontier_backend")
    } == set()


def test_each_technology_is_in_the_registry_with_its_own_name():
    assert [technology.name for technology in technologies()] == list(BACKENDS)
    assert {path.parent.name for path in FILES if path.stem == CHOICE} - {"storage"} == {*BACKENDS}


def test_the_scheduler_alone_makes_a_frontier():
    """The others get it from the context, or know its type alone."""
    frontier, places = "frontier.frontier", {name_of(path): path for path in FILES}
    makes = {name_of(path) for path in FILES if frontier in runtime_imports(path, places)}
    assert makes == {"scheduler"}


PRIVATE_OF_SCRAPY = re.compile(
    r"\b(?:from scrapy[\w.]* import (?:[^\n]*, )?_\w+"
    r"|(?:engine|scraper|chain|spider|crawler|self)\._(?:slot|mw_\w+|handle_mw_method|process_\w+|scrape|check_if_closing"
    r"|parse|start_scheduled_\w+)\b)"
)
OURS_ALIKE = re.compile(r"def (_scrape|_parse)\b")


def test_private_names_of_scrapy_are_used_in_one_module():
    offenders = {}
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        own = set(OURS_ALIKE.findall(text))
        used = {name for name in PRIVATE_OF_SCRAPY.findall(text) if name.rpartition(".")[2] not in own}
        if used and name_of(path) != "scrapy_private":
            offenders[name_of(path)] = used
    assert offenders == {}


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


def test_a_class_name_has_one_meaning():
    """Scrapy wants a class ``Command`` in each module of a command, and a wrapper has the name of what it wraps."""
    modules = {}
    for path in FILES:
        if name_of(path) != "crawl.feature_middlewares":
            for name in source(path).classes:
                modules.setdefault(name, []).append(name_of(path))
    commands = modules.pop("Command")
    assert all(below(module, "commands") for module in commands)
    assert {name: where for name, where in modules.items() if len(where) > 1} == {}


def test_no_function_of_an_object_is_replaced_from_outside():
    """A callback is an argument of the constructor of the object that calls it."""
    offenders = {(name_of(path), name) for path in FILES for name in source(path).lambdas}
    assert offenders == set()
