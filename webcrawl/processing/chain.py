"""All modules of a crawl on one page: those in place at once, the others in the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.documents.links import Link
from webcrawl.documents.mime import unwanted
from webcrawl.processing.module import TITLE, Loaded, schema_of
from webcrawl.processing.run import Answer, run
from webcrawl.urls.resolve import resolve_all, resolve_other_scheme

if TYPE_CHECKING:
    from webcrawl.processing.content import Content
    from webcrawl.processing.fields import Value
    from webcrawl.processing.pool import Pool

_TYPES_REMEMBERED = 1_000
"""MIME types whose modules are known without looking; strangers name them, so there may be any number."""


@dataclass(slots=True)
class Found:
    """What all modules together gave of a page."""

    fields: dict[str, Value] = field(default_factory=dict)
    title: str | None = None
    links: list[Link] = field(default_factory=list)
    """Resolved against the page's URL; their type is the name of the module."""
    other_links: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Likewise those of other schemes than http and https."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """The name of a module and why it did not give (all) what it could."""


class Chain:
    """The modules of one crawl in the order of its settings."""

    def __init__(self, modules: Sequence[Loaded], pool: Pool, *, links_max: int) -> None:
        """``pool``: has them all by the same numbers, and perhaps others behind them.

        :raises TypeError: two modules differ about a field
        """
        self.schema = schema_of(modules)
        """All fields that may be found, in order."""
        self._modules = tuple(modules)
        self._in_place = {number: each.type() for number, each in enumerate(modules) if each.in_place}
        self._links_max = links_max
        self._for_types: dict[str, tuple[list[int], list[int]]] = {}
        self._pool = pool

    def wants(self, mime: str | None) -> bool:
        """Whether any module is for this type."""
        return mime is not None and any(self._for(mime))

    async def process(self, content: Content) -> Found:
        """What is found in a page. Raises ProcessingBroken alone."""
        in_place, elsewhere = self._for(content.mime)
        answers = {number: self._run(number, content) for number in in_place}
        if elsewhere:
            given = await self._pool.process(content.row(), elsewhere)
            answers |= zip(elsewhere, given, strict=False)
        return self._together(answers, content.url)

    @property
    def replaced(self) -> int:
        """Processes that pages have ended."""
        return self._pool.replaced

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def _for(self, mime: str) -> tuple[list[int], list[int]]:
        """The numbers of the modules for a type: those in place, and the others."""
        known = self._for_types.get(mime)
        if known is None:
            if len(self._for_types) >= _TYPES_REMEMBERED:
                self._for_types.clear()
            wanting = [
                number for number, each in enumerate(self._modules) if not unwanted(mime, each.mime_types)
            ]
            known = (
                [number for number in wanting if number in self._in_place],
                [number for number in wanting if number not in self._in_place],
            )
            self._for_types[mime] = known
        return known

    def _run(self, number: int, content: Content) -> Answer:
        try:
            return run(self._in_place[number], self._modules[number].fields, content, self._links_max)
        except MemoryError:
            return Answer({}, [], "MemoryError")

    def _together(self, answers: dict[int, Answer], url: str) -> Found:
        found = Found()
        for number in sorted(answers) if len(answers) > 1 else answers:
            answer, name = answers[number], self._modules[number].name
            for key, value in answer.fields.items():
                found.fields.setdefault(key, value)
            if answer.problem is not None:
                found.problems.append((name, answer.problem))
            if answer.links:
                urls = resolve_all([href for href, _ in answer.links], url)
                found.links += [
                    Link(target, name, text, "")
                    for target, (_, text) in zip(urls, answer.links, strict=True)
                    if target is not None
                ]
                found.other_links += [
                    (other, name, text, "")
                    for target, (href, text) in zip(urls, answer.links, strict=True)
                    if target is None and (other := resolve_other_scheme(href, url)) is not None
                ]
        title = found.fields.pop(TITLE, None)
        found.title = title if isinstance(title, str) else None
        return found
