"""What the project's commands have in common: an option or a setting that they do not know is named, not passed over.

Beside them and not among them, since Scrapy takes every class of a command that lies there for a command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from webcrawl.commands.output import refuse_strange_options
from webcrawl.config import check

if TYPE_CHECKING:
    import argparse

    from webcrawl.errors import Problem


class ProjectCommand(ScrapyCommand):
    """A command that looks at its words before it does anything."""

    free_words = 0
    """So many of the first words may begin with a hyphen."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        self._known = frozenset(self.settings)
        super().process_options(args, opts)
        self._given = [item.partition("=")[0] for item in opts.set]
        refuse_strange_options(self.__module__.rpartition(".")[2], args[self.free_words :])

    def wrong_settings(self) -> list[Problem]:
        """What is wrong with the settings, those of the command line among them."""
        assert self.settings is not None
        return check(self.settings, self._given, self._known)
