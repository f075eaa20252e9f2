"""The commands of the installed package, which its entry points of the group ``scrapy.commands`` name.

The entry point ``webcrawl.installed_commands:status`` stands for the command of ``webcrawl.commands.status``. Scrapy
loads all entry points and creates their commands at each start, in every project of the environment. Therefore each
is a ``LazyCommand``, which imports the command's module when the command is used.

In projects that do not use webcrawl, Scrapy's own commands stay as they are, and the others say what to do. Outside
of a project, Scrapy's commands and their list are as without this package; the commands that read the folders of
crawls work there, unlisted.
"""

from __future__ import annotations

import functools
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.commands import ScrapyCommand
    from scrapy.settings import BaseSettings

_COMMANDS = "webcrawl.commands"
_SCHEDULER = "webcrawl.scheduler.Scheduler"


def __getattr__(name: str) -> type[LazyCommand]:
    """Return the class of the command ``name``. Python calls this for each entry point, since the module has no such
    attribute: a command needs no line here."""
    if name.startswith("_") or find_spec(f"{_COMMANDS}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _hide_outside_of_projects()
    return type(name, (LazyCommand,), {"_name": name})


class LazyCommand:
    """Creates the command ``_name`` when Scrapy first uses an attribute. Its attributes are the command's."""

    _name: str
    _created: ScrapyCommand | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._command(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._command(), name, value)

    def _command(self) -> ScrapyCommand:
        if self._created is None:
            object.__setattr__(self, "_created", _create(self._name))
        assert self._created is not None
        return self._created


def _create(name: str) -> ScrapyCommand:
    """Create the command of this name that fits the project of the current folder: webcrawl's, Scrapy's, or one that
    says what to do."""
    from scrapy.utils.project import get_project_settings, inside_project

    command: type[ScrapyCommand] = import_module(f"{_COMMANDS}.{name}").Command
    is_inside = inside_project()
    if is_inside and _is_used(get_project_settings()):
        return command()
    if find_spec(f"scrapy.commands.{name}") is not None:
        of_scrapy: type[ScrapyCommand] = import_module(f"scrapy.commands.{name}").Command
        if not is_inside and of_scrapy.requires_project:
            _refuse_outside(name)
        return of_scrapy()
    return _unavailable(command, _NO_ADDON) if is_inside else command()


def _is_used(settings: BaseSettings) -> bool:
    from webcrawl.addon import is_used

    return is_used(settings) or settings["SCHEDULER"] == _SCHEDULER


_NO_ADDON = (
    "the project in this folder does not use webcrawl; to use it, write into its settings.py: "
    'ADDONS = {"webcrawl.Addon": 100}'
)


@functools.cache
def _hide_outside_of_projects() -> None:
    """Outside of a project, remove these commands from Scrapy's list, and from those that need a project."""
    from scrapy import cmdline
    from scrapy.utils.project import inside_project

    if inside_project():
        return
    all_commands: Callable[[BaseSettings, bool], dict[str, ScrapyCommand]] = cmdline._get_commands_dict

    def without_ours(settings: BaseSettings, inproject: bool) -> dict[str, ScrapyCommand]:
        of_scrapy = cmdline._get_commands_from_module("scrapy.commands", inproject)
        named = all_commands(settings, inproject).items()
        others = {name: command for name, command in named if not isinstance(command, LazyCommand)}
        return of_scrapy | others

    cmdline._get_commands_dict = without_ours


def _refuse_outside(name: str) -> NoReturn:
    """End as Scrapy does if one of its commands for projects is called outside of one."""
    from scrapy import cmdline
    from scrapy.utils.project import get_project_settings

    cmdline._print_unknown_command(get_project_settings(), name, inproject=False)
    raise SystemExit(2)


def _unavailable(command: type[ScrapyCommand], reason: str) -> ScrapyCommand:
    """Return a command with the options of ``command`` that only prints why it is not available."""
    from webcrawl.terminal import complain

    class UnavailableCommand(command):  # type: ignore[valid-type,misc]
        requires_crawler_process = False

        def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
            raise SystemExit(complain(command.__module__.rpartition(".")[2], [reason]))

    return UnavailableCommand()
