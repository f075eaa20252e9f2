"""The documentation says what is so: settings, commands, files, links and targets are looked up in the code."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from scrapy.commands import ScrapyCommand

import webcrawl
from tests import docs_tables, documented
from tests.rows import each_row
from webcrawl.config import vocabulary
from webcrawl.config.identity import KEY_VARIABLE
from webcrawl.storage.redis.private import CHOICE as PROGRAM_VARIABLE

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCKS = {
    str(page.relative_to(ROOT)): documented.blocks_of(page)
    for page in PAGES
    if page.parent.name != "decisions" and page.name != "CHANGELOG.md"
}
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
PATH = re.compile(r"`((?:webcrawl|tests|docs)/[\w./-]+)`")
SETTING = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`")
COMPOSE_VARIABLE = re.compile(r"\$\{(\w+)")
CALLED_MAX = 55
"""The most functions that a reader of url-life.md follows from seed to done."""
TREE_LINE = re.compile(r"^( *)([\w.-]+/?) {2,}\S")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = each_row("page", PAGES, ids=named)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors_of(page: Path) -> set[str]:
    """The headings of a page as a browser of the repository calls them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def tree_below(name: str, heading: str) -> list[str]:
    """The names in the first fenced tree that follows a heading."""
    fenced = FENCED.search(text_of(name).partition(f"## {heading}\n")[2])
    assert fenced is not None, f"{name} has no tree below {heading!r}"
    return [match[2] for line in fenced[0].splitlines() if (match := TREE_LINE.match(line))]


def commands() -> Iterator[str]:
    """The names of the commands that the project brings."""
    for path in (ROOT / "webcrawl/commands").glob("*.py"):
        module = import_module(f"webcrawl.commands.{path.stem}")
        command = getattr(module, "Command", None)
        if isinstance(command, type) and issubclass(command, ScrapyCommand):
            yield path.stem


def make_targets() -> set[str]:
    match = re.search(r"^\.PHONY: (.+)$", text_of("Makefile"), re.MULTILINE)
    assert match is not None
    return set(match[1].split())


def test_every_setting_has_one_row() -> None:
    rows = docs_tables.named(text_of("docs/reference/settings.md"))
    assert sorted(rows) == sorted([*docs_tables.OURS, *docs_tables.THEIRS])


def test_the_numbers_of_the_settings_that_matter_first_are_the_defaults() -> None:
    page = text_of("docs/start/first-crawl.md")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d+)[^|]*\|", page, re.MULTILINE)
    assert len(rows) >= 4
    assert [name for name, value in rows if docs_tables.OURS[name].default != int(value)] == []


def test_every_row_says_what_the_code_says() -> None:
    written = text_of("docs/reference/settings.md").splitlines()
    current = docs_tables.renewed(text_of("docs/reference/settings.md")).splitlines()
    stale = [(old, new) for old, new in zip(written, current, strict=True) if old != new]
    assert not stale, "python -m tests.docs_tables brings the tables up to date"


def test_the_table_of_scrapys_settings_is_that_of_the_code() -> None:
    assert docs_tables.scrapy_table() in text_of("docs/reference/scrapy.md"), "python -m tests.docs_tables"


@pytest.mark.parametrize("page", docs_tables.PAGES, ids=named)
def test_the_tables_that_are_made_are_those_of_the_code(page: Path) -> None:
    for table in docs_tables.PAGES[page]:
        assert table in page.read_text(encoding="utf-8"), "python -m tests.docs_tables"


@each_row("page", [page for page in PAGES if page.parent.name != "decisions"], ids=named)
def test_every_name_of_a_setting_is_one(page: Path) -> None:
    known = {*docs_tables.OURS, *docs_tables.THEIRS, *vocabulary.FOREIGN, "ITEM_PIPELINES"}
    # In a container a setting NAME is the variable WEBCRAWL_NAME; others are compose.yaml's own, and the key is no
    # setting.
    variables = {
        "NAME",
        KEY_VARIABLE.removeprefix("WEBCRAWL_"),
        PROGRAM_VARIABLE,
        *COMPOSE_VARIABLE.findall(text_of("compose.yaml")),
    }
    names = {name.removeprefix("WEBCRAWL_") for name in SETTING.findall(prose_of(page))}
    assert sorted(names - known - variables) == []


def test_every_variable_of_the_compose_file_is_explained() -> None:
    page = text_of("docs/guides/containers.md")
    variables = set(COMPOSE_VARIABLE.findall(text_of("compose.yaml")))
    assert [name for name in sorted(variables) if f"| `{name}` |" not in page] == []


def test_every_command_is_documented() -> None:
    page = text_of("docs/reference/commands.md")
    missing = [name for name in commands() if not re.search(rf"^## scrapy .*\b{name}\b", page, re.MULTILINE)]
    assert not missing


def test_every_make_target_is_documented_and_there() -> None:
    page = text_of("docs/reference/commands.md")
    named = set(re.findall(r"\bmake ([a-z-]+)\b", page)) - {"a"}
    assert make_targets() - named <= {"help", "check"}
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/reference/commands.md",
        "docs/internals/performance.md",
    ):
        fenced_or_quoted = "\n".join(FENCED.findall(text_of(name)) + re.findall(r"`[^`\n]+`", text_of(name)))
        assert set(re.findall(r"\bmake ([a-z-]+)\b", fenced_or_quoted)) <= make_targets()


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(prose_of(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors_of(file)):
            broken.append(target)
    assert not broken


@every_page
def test_every_path_that_is_named_is_there(page: Path) -> None:
    assert [path for path in PATH.findall(prose_of(page)) if not (ROOT / path).exists()] == []


@every_page
def test_no_figure_is_left_to_be_filled_in(page: Path) -> None:
    assert re.findall(r"\{\{FIGURE[^}]*", page.read_text(encoding="utf-8")) == []


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = ROOT / "docs/README.md"
    assert named(contents) in LINK.findall(text_of("README.md"))
    linked = {(contents.parent / target).resolve() for target in LINK.findall(contents.read_text("utf-8"))}
    pages = [page for page in PAGES if "docs/" in named(page) and page.parent.name != "decisions"]
    assert [named(page) for page in pages if page not in {*linked, contents}] == []


def pages_of(navigation: object) -> Iterator[str]:
    """The pages of the navigation of the site, in its order."""
    if isinstance(navigation, str):
        yield navigation
    elif isinstance(navigation, dict):
        for part in navigation.values():
            yield from pages_of(part)
    else:
        assert isinstance(navigation, list)
        for part in navigation:
            yield from pages_of(part)


def test_every_page_is_in_the_navigation_of_the_site_once() -> None:
    # `make docs` judges the same, and needs MkDocs for it.
    text = re.sub(r"!!python/\S+", "", text_of("mkdocs.yml"))
    pages = list(pages_of(YAML(typ="safe").load(text)["nav"]))
    pages += [f"decisions/{path.name}" for path in ROOT.glob("docs/decisions/0*.md")]
    assert sorted(pages) == sorted(str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md"))


@every_page
def test_lists_are_lists_on_the_site_too(page: Path) -> None:
    # Its Markdown needs an empty line between an indented paragraph and the next item.
    assert re.findall(r"\n\n(?: +\S.*\n)+(?:\*|\d+\.) .*", page.read_text(encoding="utf-8")) == []


@every_page
def test_nothing_on_a_page_is_fetched_from_elsewhere(page: Path) -> None:
    assert re.findall(r"!\[[^\]]*\]\(\w+://[^)]*", prose_of(page)) == []


def test_every_decision_is_in_the_index() -> None:
    linked = set(LINK.findall(text_of("docs/decisions/README.md")))
    decisions = [path.name for path in ROOT.glob("docs/decisions/0*.md")]
    assert [name for name in decisions if name not in linked] == []


def test_the_tree_for_contributors_is_the_project() -> None:
    tree = tree_below("CONTRIBUTING.md", "Where things are")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not in a clone, so there is no list of what belongs to the project")
    tops = {re.sub(r"/.*", "/", path) for path in listed.stdout.splitlines()}
    assert sorted(tree) == sorted(top for top in tops if not top.startswith("."))


def test_the_tree_of_the_architecture_is_the_package() -> None:
    tree = tree_below("docs/internals/architecture.md", "Two kinds of folder")
    package = ROOT / "webcrawl"
    there = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    there += [f"{path.parent.name}/" for path in package.glob("*/__init__.py")]
    assert sorted(tree) == sorted(there)


SPIDERS_REQUESTS, ORDINARY = "tests/crawl/test_spiders_requests.py", "tests/crawl/test_ordinary_spiders.py"
WITH_META = (
    f"{SPIDERS_REQUESTS} "
    "meta_for_the_downloader_changes_nothing_and_a_resumed_crawl_starts_with_an_empty_state"
)
STATS, STATS_MIDDLEWARE = "tests/crawl/test_stats.py", "tests/unit/downloadermiddlewares/test_stats.py"
AS_IN_SCRAPY = f"{STATS} they_are_those_of_plain_scrapy a_spider_with_rules_counts_what_plain_scrapy_counts"
SCRAPY_PAGES = {"Statistics": "docs/reference/scrapy.md", "Habits": "docs/start/scrapy.md"}
SHOWN_BY: dict[str, dict[str, str | None]] = {
    "Statistics": {
        "downloader/request_count": AS_IN_SCRAPY,
        "downloader/response_count": AS_IN_SCRAPY,
        "downloader/exception_count": f"{STATS_MIDDLEWARE} the_figures_are_those_of_scrapys_middleware",
        "robotstxt/request_count": f"{STATS_MIDDLEWARE} requests_for_robots_txt_are_in_both_counts",
        "robotstxt/forbidden": f"{STATS_MIDDLEWARE} the_figures_of_the_frontier_have_scrapys_names",
        "retry/count": AS_IN_SCRAPY,
        "scheduler/enqueued": AS_IN_SCRAPY,
        "dupefilter/filtered": AS_IN_SCRAPY,
        "httperror/*": AS_IN_SCRAPY,
    },
    "Habits": {
        "DOWNLOADER_MIDDLEWARES": "tests/crawl/test_essential_parts.py "
        "a_spider_with_middlewares_of_its_own_is_an_ordinary_crawl",
        "ITEM_PIPELINES": f"{ORDINARY} a_pipeline_may_drop_items "
        "another_spider_and_an_overwritten_feed_are_refused_on_a_jobdir",
        "errbacks": f"{SPIDERS_REQUESTS} errbacks_are_called_where_scrapy_calls_them "
        "requests_that_only_this_crawler_refuses_reach_their_errback_too",
        "response.json()": f"{SPIDERS_REQUESTS} bodies_of_all_types_are_read_as_in_scrapy "
        "links_of_pages_are_still_judged_by_extension_and_type",
        "FilesPipeline": "tests/crawl/test_inline_requests.py every_item_has_all_of_its_files "
        "subclasses_of_the_pipelines_and_images_work",
        "get_retry_request": f"{ORDINARY} a_request_that_a_callback_asks_for_again_ends_after_retry_times",
        "dont_filter": f"{ORDINARY} the_same_request_is_made_once_and_again_only_with_dont_filter",
        "dont_obey_robotstxt": WITH_META,
        'meta["proxy"]': f"{SPIDERS_REQUESTS} robots_txt_takes_the_proxy_of_its_page_and_so_do_its_redirects",
        "HTTPCACHE_ENABLED": "tests/crawl/test_http_cache.py cached_pages_wait_for_no_clock_and_contact_nobody",
        "download_slot": WITH_META,
        "priority": f"{ORDINARY} priorities_decide_the_order_on_a_host",
        "spider.state": WITH_META,
        "lambdas": f"{ORDINARY} other_schemes_and_callbacks_that_cannot_be_written_down_work",
        "start()": WITH_META,
        "SitemapSpider": f"{SPIDERS_REQUESTS} spiders_for_sitemaps_and_feeds_are_those_of_scrapy",
        "sitemaps of robots.txt": f"{STATS} a_spider_gets_no_page_of_a_sitemap_that_it_did_not_request",
        "CrawlerProcess": "tests/install/test_scripts.py "
        "crawls_of_a_script_have_files_and_inline_requests_in_the_turns_of_their_hosts",
        "scrapy check": "tests/crawl/test_check.py "
        "contracts_that_do_not_hold_and_pages_that_are_not_there_fail",
        "user_agent": f"{SPIDERS_REQUESTS} the_user_agent_of_a_spider_is_that_of_the_crawl",
        "scrapy settings": "tests/install/test_addon.py commands_of_the_crawl_are_there_and_scrapys_own_work",
        # Its server has a port of its own choice, which another process may have.
        "scrapy bench": None,
        "telnet": "tests/unit/config/test_scrapy_settings.py a_setting_whose_component_is_enabled_has_an_effect",
    },
}
"""What a row of these two tables contains, with the file and functions of its tests; None for no test."""


@pytest.mark.parametrize("heading", SHOWN_BY)
def test_every_row_about_scrapy_names_its_test(heading: str) -> None:
    section = text_of(SCRAPY_PAGES[heading]).partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")][2:]
    for cell in cells:
        assert [word for word in SHOWN_BY[heading] if word in cell], f"{cell} has no test"
    assert [word for word in SHOWN_BY[heading] if not any(word in cell for cell in cells)] == []
    for shown in filter(None, SHOWN_BY[heading].values()):
        file, *names = shown.split()
        there = {f"test_{name}" for name in names}
        assert there <= set(re.findall(r"^def (test_\w+)", text_of(file), re.MULTILINE)), file


def functions_of_the_way() -> Iterator[tuple[int, str]]:
    """The functions that url-life.md names, each with its indentation."""
    page = text_of("docs/internals/url-life.md")
    for indentation, name in re.findall(r"^( *)\* `([\w.]+)`", page, re.MULTILINE):
        yield len(indentation), name


def found(name: str) -> object:
    """The function of the project with this name, which begins with the names of its module."""
    value: object = webcrawl
    module = "webcrawl"
    for part in name.split("."):
        if inspect.ismodule(value) and not hasattr(value, part):
            import_module(f"{module}.{part}")
        value, module = getattr(value, part), f"{module}.{part}"
    return value


def test_every_function_on_the_way_of_a_url_is_there() -> None:
    names = [name for _, name in functions_of_the_way()]
    assert [name for name in names if not inspect.isfunction(found(name))] == []
    assert len(names) == len(set(names))
    assert 40 < len(names) <= CALLED_MAX


def test_a_function_on_the_way_of_a_url_calls_those_below_it() -> None:
    above: list[tuple[int, str]] = []
    missing = []
    for indentation, name in functions_of_the_way():
        above = [caller_above for caller_above in above if caller_above[0] < indentation]
        if above:
            caller = found(above[-1][1])
            assert inspect.isfunction(caller)
            called = name.rpartition(".")[2]
            if not re.search(rf"\b{called}\b", inspect.getsource(caller)):
                missing.append(f"{above[-1][1]} does not call {name}")
        above.append((indentation, name))
    assert missing == []


@each_row("page", BLOCKS)
def test_every_block_says_what_it_is(page):
    known = {*documented.EXECUTED, *documented.FILES, *documented.SHOWN}
    wrong = [block.name for block in BLOCKS[page] if block.language not in known]
    assert wrong == [], f"the first word of a fence must be one of {sorted(known)}, see tests/documented.py"
    fences = re.findall(r"^ *```", text_of(page), re.M)
    assert len(fences) == 2 * sum(not block.hidden for block in BLOCKS[page])


@each_row("page", BLOCKS)
def test_a_block_that_is_not_executed_has_a_reason_and_parses(page):
    for block in BLOCKS[page]:
        if block.reason is not None:
            assert len(block.reason.split()) > 1, f"{block.name} has no reason"
        if block.language in ("sh", "console"):
            commands = (
                [command for command, _ in block.steps()] if block.language == "console" else [block.text]
            )
            assert commands, f"{block.name} has no command"
            for command in commands:
                parsed = subprocess.run(
                    ["bash", "-n", "-c", command], capture_output=True, text=True, check=False
                )
                assert parsed.returncode == 0, f"{block.name}: {parsed.stderr}"
        elif block.language == "python":
            compile(block.text, block.name, "exec")
        elif block.language == "yaml":
            assert list(YAML(typ="safe").load_all(block.text)), f"{block.name} is empty"
        elif block.language == "json":
            json.loads(block.text)


def not_run(*languages: str) -> Iterator[tuple[str, str]]:
    """Names of the blocks that cannot run here, with their text."""
    for blocks in BLOCKS.values():
        for block in blocks:
            if block.reason is not None and block.language in languages:
                yield block.name, block.text.replace("\\\n", " ")


def test_a_block_that_cannot_run_names_only_what_there_is() -> None:
    wrong = []
    settings = {*docs_tables.OURS, *docs_tables.THEIRS, *vocabulary.FOREIGN}
    ours, targets = {*commands()}, make_targets()
    for where, text in not_run("sh", "console"):
        for name in re.findall(r"-s '?([A-Z_]+)=", text):
            wrong += [f"{where}: no setting {name}"] if name not in settings else []
        for name in re.findall(r"^(?:\$ )?(?:docker compose exec worker |.* -- )?scrapy (\w+)", text, re.M):
            wrong += [f"{where}: no command {name}"] if name not in ours else []
        for name in re.findall(r"^(?:\$ )?make (\w+)", text, re.M):
            wrong += [f"{where}: no target {name}"] if name not in targets else []
        for name in re.findall(r"\b(webcrawl\.[\w.]+Handler)\b", text):
            wrong += (
                []
                if inspect.isclass(found(name.removeprefix("webcrawl.")))
                else [f"{where}: no class {name}"]
            )
        for name in re.findall(r"docker compose exec (\w+)", text):
            wrong += (
                []
                if name in YAML(typ="safe").load(text_of("compose.yaml"))["services"]
                else [f"{where}: {name}"]
            )
        for name in re.findall(r"-r (\S+\.txt)", text):
            wrong += [] if (ROOT / name).exists() else [f"{where}: no file {name}"]
    assert wrong == []


def test_the_compose_file_is_one() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*command, ROOT / "compose.yaml"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_objects_for_kubernetes_fit_together_and_their_settings_exist() -> None:
    files = sorted((ROOT / "deploy/kubernetes").glob("*.yaml"))
    objects = [manifest for file in files for manifest in YAML(typ="safe").load_all(file)]
    named_objects = {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in objects}
    versions = {"Service": "v1", "ConfigMap": "v1", "StatefulSet": "apps/v1", "Deployment": "apps/v1"}
    versions["NetworkPolicy"] = "networking.k8s.io/v1"
    assert [manifest["apiVersion"] for manifest in objects] == [
        versions[manifest["kind"]] for manifest in objects
    ]
    users = re.findall(r"^USER (\d+)", text_of("Dockerfile"), re.MULTILINE)
    for manifest in objects:
        if manifest["kind"] not in ("StatefulSet", "Deployment"):
            continue
        spec, pod = manifest["spec"], manifest["spec"]["template"]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        service = named_objects["Service", spec.get("serviceName", manifest["metadata"]["name"])]
        assert spec["selector"]["matchLabels"] == labels == service["spec"]["selector"]
        volumes = {volume["name"] for volume in pod.get("volumes", [])}
        volumes |= {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
        maps = [volume["configMap"] for volume in pod.get("volumes", []) if "configMap" in volume]
        configured = {one_map["name"] for one_map in maps}
        assert all(("ConfigMap", name) in named_objects for name in configured)
        if "securityContext" in pod:
            assert users == [str(pod["securityContext"]["runAsUser"])]
        for container in pod["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} == volumes
            variables = [variable["name"] for variable in container.get("env", [])]
            assert all(name.removeprefix("WEBCRAWL_") in docs_tables.OURS for name in variables)


def units() -> Iterator[tuple[str, str]]:
    """The unit files of systemd in the pages: name and text."""
    for blocks in BLOCKS.values():
        for block in blocks:
            head = re.match(r"# \S*/([\w.-]+\.(?:service|timer))\n", block.text)
            if block.language == "ini" and head:
                yield head[1], block.text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_units_of_systemd_are_correct(tmp_path: Path) -> None:
    written = []
    for name, text in units():
        # The programs and the user of the page are not on this machine.
        text = re.sub(r"(?<=ExecStart=)\S+", "/bin/true", re.sub(r"^User=.*\n", "", text, flags=re.M))
        (tmp_path / name).write_text(text)
        written.append(tmp_path / name)
    assert written
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *written], capture_output=True, text=True, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert complaints == []


API = re.compile(r"^### `([\w.]+)(?:\(([^)]*)\))?`\n(.*?)(?=^##|\Z)", re.M | re.S)


def parameters_of(value: object) -> list[str]:
    assert callable(value)
    names = [
        ("**" if parameter.kind is parameter.VAR_KEYWORD else "") + parameter.name
        for parameter in inspect.signature(value).parameters.values()
    ]
    return names[1:] if names[:1] == ["self"] else names


@each_row(("name", "parameters", "text"), API.findall(text_of("docs/reference/python-api.md")))
def test_the_api_is_as_documented(name: str, parameters: str, text: str) -> None:
    value = found(name.removeprefix("webcrawl."))
    if parameters:
        assert parameters_of(value) == parameters.split(", ")
    for cell in re.findall(r"^\| (`.*?) \|", text, re.M):
        for attribute, call, arguments in re.findall(r"`(\w+)(\(([\w*, ]*)\))?`", cell):
            assert hasattr(value, attribute) or attribute in getattr(value, "__annotations__", {})
            if call:
                assert parameters_of(inspect.getattr_static(value, attribute)) == [
                    name_listed for name_listed in arguments.split(", ") if name_listed
                ]
