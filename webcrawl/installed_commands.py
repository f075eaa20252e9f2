"""The commands as entry points of the installed package, group ``scrapy.commands``: each is an attribute here.

Scrapy loads and creates them at each start, in every project of the environment, so each is imported when it is used.
In projects that do not use this crawler, Scrapy's own commands stay as they are, and the others say what to do.
Outside of a project, Scrapy's commands and their list are as without this package; the commands that read the folders
of crawls work there, unlisted.
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

_OURS = "webcrawl.commands"
_SCHEDULER = "webcrawl.scheduler.Scheduler"


def __getattr__(name: str) -> type:
    """Return the command ``name``, as an object that Scrapy takes for the command's class."""
    if name.startswith("_") or find_spec(f"{_OURS}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _leave_list()
    return type(name, (_Installed,), {"_name": name})


class _Installed:
    """A command that is chosen and imported when Scrapy asks for anything of it."""

    _name: str
    _chosen: ScrapyCommand | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._command(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._command(), name, value)

    def _command(self) -> ScrapyCommand:
        if self._chosen is None:
            object.__setattr__(self, "_chosen", _chosen(self._name))
        assert self._chosen is not None
        return self._chosen


def _chosen(name: str) -> ScrapyCommand:
    """Return the command for the project that Scrapy finds from here."""
    from scrapy.utils.project import get_project_settings, inside_project

    command: type[ScrapyCommand] = import_module(f"{_OURS}.{name}").Command
    is_inside = inside_project()
    if is_inside and _is_used(get_project_settings()):
        return command()
    if find_spec(f"scrapy.commands.{name}") is not None:
        theirs: type[ScrapyCommand] = import_module(f"scrapy.commands.{name}").Command
        if not is_inside and theirs.requires_project:
            _refuse_outside(name)
        return theirs()
    return _refusing(command, _NO_ADDON) if is_inside else command()


def _is_used(settings: BaseSettings) -> bool:
    from webcrawl.addon import is_used

    return is_used(settings) or settings["SCHEDULER"] == _SCHEDULER


_NO_ADDON = (
    "the project in this folder does not use webcrawl; to use it, write into its settings.py: "
    'ADDONS = {"webcrawl.Addon": 100}'
)


@functools.cache
def _leave_list() -> None:
    """Outside of a project, take these commands out of what Scrapy lists, and takes for commands of projects."""
    from scrapy import cmdline
    from scrapy.utils.project import inside_project

    if inside_project():
        return
    find: Callable[[BaseSettings, bool], dict[str, ScrapyCommand]] = cmdline._get_commands_dict

    def without_ours(settings: BaseSettings, inproject: bool) -> dict[str, ScrapyCommand]:
        theirs = cmdline._get_commands_from_module("scrapy.commands", inproject)
        there = find(settings, inproject).items()
        others = {name: command for name, command in there if not isinstance(command, _Installed)}
        return theirs | others

    cmdline._get_commands_dict = without_ours


def _refuse_outside(name: str) -> NoReturn:
    """End as Scrapy does if one of its commands for projects is called outside of one."""
    from scrapy import cmdline
    from scrapy.utils.project import get_project_settings

    cmdline._print_unknown_command(get_project_settings(), name, inproject=False)
    raise SystemExit(2)


def _refusing(command: type[ScrapyCommand], why: str) -> ScrapyCommand:
    """Return the command, which only says why it is not there."""
    from webcrawl.terminal import complain

    class Refusing(command):  # type: ignore[valid-type,misc]
        requires_crawler_process = False

        def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
            raise SystemExit(complain(command.__module__.rpartition(".")[2], [why]))

    return Refusing()
