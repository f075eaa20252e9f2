"""The help of each command as terminals of several widths show it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyHelpFormatter
from scrapy.settings import Settings

from webcrawl import commands, settings
from webcrawl.command import ProjectCommand

MODULES = sorted(path.stem for path in Path(commands.__path__[0]).glob("[!_]*.py"))
HEADING = re.compile(r"^(.*)\n[=-]{3,}$", re.MULTILINE)


def help_of(name: str) -> str | None:
    """The text that ``scrapy NAME --help`` prints; None for modules whose command is Scrapy's with another effect."""
    command = getattr(import_module(f"webcrawl.commands.{name}"), "Command", None)
    if command is None or not issubclass(command, ProjectCommand):
        return None
    made = command()
    made.settings = Settings(vars(settings))
    parser = ScrapyArgumentParser(
        formatter_class=ScrapyHelpFormatter,
        usage=f"scrapy {name} {made.syntax()}",
        conflict_handler="resolve",
        description=made.long_desc(),
    )
    made.add_options(parser)
    return parser.format_help()


@pytest.mark.parametrize("columns", [60, 80, 100, 132])
def test_a_line_of_the_help_that_ends_with_a_colon_is_no_heading(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    texts = {name: text for name in MODULES if (text := help_of(name)) is not None}
    assert len(texts) > 30
    headings = {(name, heading.strip()) for name, text in texts.items() for heading in HEADING.findall(text)}
    assert {heading for _, heading in headings} <= {"Usage", "Options", "Global Options"}, headings
    assert {name for name, heading in headings if heading == "Options"} == texts.keys()
