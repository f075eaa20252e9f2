"""One module on one page: what it gives is cleaned, what it raises is told in a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.documents.findings import HREF_MAX
from webcrawl.documents.links import TEXT_MAX
from webcrawl.documents.text import line
from webcrawl.processing.fields import Kind, Value, cleaned
from webcrawl.processing.module import LINKS, TITLE

if TYPE_CHECKING:
    from webcrawl.processing.content import Content
    from webcrawl.processing.module import Module

WHY_MAX = 300
"""Characters of what an exception says that are kept."""


class Answer(NamedTuple):
    """What one module gave of one page; plain values."""

    fields: dict[str, Value]
    links: list[tuple[str, str]]
    """URL as it stands there, and text."""
    problem: str | None = None
    """Why there is nothing, or not everything."""


def run(module: Module, declared: Mapping[str, Kind], content: Content, links_max: int) -> Answer:
    """Let a module process a page. Raises MemoryError alone."""
    try:
        given = module.process(content)
        return _answer(given, declared, links_max)
    except MemoryError:
        raise
    except Exception as error:
        return Answer({}, [], why(error))


def why(error: BaseException) -> str:
    """An exception in a line."""
    return line(f"{type(error).__name__}: {error}", WHY_MAX)


def _answer(given: Mapping[str, Any], declared: Mapping[str, Kind], links_max: int) -> Answer:
    fields: dict[str, Value] = {}
    links: list[tuple[str, str]] = []
    problem = None
    for name, value in given.items():
        kind = Kind.LINE if name == TITLE else declared.get(name)
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
    return Answer(fields, links, problem and line(problem, WHY_MAX))


def _links(given: Iterable[Any], links_max: int) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for each in given:
        if len(found) >= links_max:
            break
        href, text = (each, "") if isinstance(each, str) else each
        href = str(href).strip()
        if href and len(href) <= HREF_MAX:
            text = line(str(text or ""), TEXT_MAX)
            found[href] = found.get(href) or text
    return list(found.items())
