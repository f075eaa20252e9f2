"""Runs all modules of a crawl on a page: those in place at once, the others in the pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.parsing.findings import HREF_MAX
from webcrawl.parsing.links import TEXT_MAX, Link
from webcrawl.parsing.mime import unwanted
from webcrawl.parsing.text import line
from webcrawl.processing.contract import (
    LINKS,
    TITLE,
    FieldType,
    LoadedModule,
    ModuleResult,
    Value,
    cleaned,
    merge_schemas,
)
from webcrawl.urls.resolve import resolve_all, resolve_other_scheme

if TYPE_CHECKING:
    from webcrawl.processing.contract import Content, Module, Value
    from webcrawl.processing.pool import Pool


WHY_MAX = 300
"""The number of characters of an exception's message that are kept."""


def run(module: Module, declared: Mapping[str, FieldType], content: Content, links_max: int) -> ModuleResult:
    """Run a module on a page. Raises MemoryError alone."""
    try:
        return _module_result(module.process(content), declared, links_max)
    except MemoryError:
        raise
    except Exception as error:
        return ModuleResult({}, [], why(error))


def why(error: BaseException) -> str:
    """Return an exception as one line."""
    return line(f"{type(error).__name__}: {error}", WHY_MAX)


def _module_result(
    values: Mapping[str, Any], declared: Mapping[str, FieldType], links_max: int
) -> ModuleResult:
    fields: dict[str, Value] = {}
    links: list[tuple[str, str]] = []
    problem = None
    for name, value in values.items():
        kind = FieldType.LINE if name == TITLE else declared.get(name)
        if name == LINKS:
            try:
                links = _links(value or (), links_max)
            except (TypeError, ValueError) as error:
                problem = f"links are URLs, or pairs of URL and text: {why(error)}"
        elif kind is None:
            problem = f"the field {name} is not declared"
        else:
            try:
                clean = cleaned(value, kind)
            except (TypeError, ValueError, AttributeError, OverflowError) as error:
                problem = f"the field {name} is no {kind}: {why(error)}"
            else:
                if clean is not None:
                    fields[name] = clean
    return ModuleResult(fields, links, problem and line(problem, WHY_MAX))


def _links(candidates: Iterable[Any], links_max: int) -> list[tuple[str, str]]:
    links: dict[str, str] = {}
    for each in candidates:
        if len(links) >= links_max:
            break
        href, text = (each, "") if isinstance(each, str) else each
        href = str(href).strip()
        if href and len(href) <= HREF_MAX:
            text = line(str(text or ""), TEXT_MAX)
            links[href] = links.get(href) or text
    return list(links.items())


_TYPES_REMEMBERED = 1_000
"""The number of MIME types whose modules are cached; servers may send any number of types."""


@dataclass(slots=True)
class ModuleResults:
    """The results of all modules for a page."""

    fields: dict[str, Value] = field(default_factory=dict)
    title: str | None = None
    links: list[Link] = field(default_factory=list)
    """Links, resolved against the page's URL; their type is the name of the module."""
    other_links: list[tuple[str, str, str, str]] = field(default_factory=list)
    """The links of other schemes than http and https, likewise."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Modules that failed or gave an incomplete result: their names and the reasons."""


class Chain:
    """The modules of one crawl in the order of its settings."""

    def __init__(self, modules: Sequence[LoadedModule], pool: Pool, *, links_max: int) -> None:
        """``pool``: has all of them under the same numbers, and possibly others after them.

        :raises TypeError: two modules declare a field differently
        """
        self.schema = merge_schemas(modules)
        """All fields that the modules may produce, in order."""
        self._modules = tuple(modules)
        self._in_place = {number: each.type() for number, each in enumerate(modules) if each.in_place}
        self._links_max = links_max
        self._for_types: dict[str, tuple[list[int], list[int]]] = {}
        self._pool = pool

    def wants(self, mime: str | None) -> bool:
        """Return True if any module is for this type."""
        return mime is not None and any(self._for(mime))

    async def process(self, content: Content) -> ModuleResults:
        """Run the modules on a page. Raises ProcessingBroken alone."""
        in_place, elsewhere = self._for(content.mime)
        results = {number: self._run(number, content) for number in in_place}
        if elsewhere:
            produced = await self._pool.process(content.row(), elsewhere)
            results |= zip(elsewhere, produced, strict=False)
        return self._together(results, content.url)

    @property
    def replaced(self) -> int:
        """The number of processes that ended because of pages."""
        return self._pool.replaced

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def _for(self, mime: str) -> tuple[list[int], list[int]]:
        """Return the numbers of the modules for a type: those in place, and the others."""
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

    def _run(self, number: int, content: Content) -> ModuleResult:
        try:
            return run(self._in_place[number], self._modules[number].fields, content, self._links_max)
        except MemoryError:
            return ModuleResult({}, [], "MemoryError")

    def _together(self, results: dict[int, ModuleResult], url: str) -> ModuleResults:
        merged = ModuleResults()
        for number in sorted(results) if len(results) > 1 else results:
            result, name = results[number], self._modules[number].name
            for key, value in result.fields.items():
                merged.fields.setdefault(key, value)
            if result.problem is not None:
                merged.problems.append((name, result.problem))
            if result.links:
                urls = resolve_all([href for href, _ in result.links], url)
                merged.links += [
                    Link(target, name, text, "")
                    for target, (_, text) in zip(urls, result.links, strict=True)
                    if target is not None
                ]
                merged.other_links += [
                    (other, name, text, "")
                    for target, (href, text) in zip(urls, result.links, strict=True)
                    if target is None and (other := resolve_other_scheme(href, url)) is not None
                ]
        title = merged.fields.pop(TITLE, None)
        merged.title = title if isinstance(title, str) else None
        return merged
