"""The main text of an HTML page, its headings, and its boilerplate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.processing.markdown import html_to_markdown

if TYPE_CHECKING:
    from webcrawl.processing.contract import Content
    from webcrawl.processing.visible_text import VisibleText

HTML = ("text/html", "application/xhtml+xml")

_SHARED = "visible text"


class MainText:
    """The text as plain text, a line for each block. All visible text is in ``text`` or in ``boilerplate``."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {"text": "text", "headings": "lines", "boilerplate": "text"}

    def __init__(self) -> None:
        # Imported in the processes of the pool, which use it.
        import webcrawl.processing.visible_text  # noqa: F401

    def process(self, content: Content) -> Mapping[str, Any]:
        visible = _visible(content)
        return {"text": visible.main, "headings": visible.headings, "boilerplate": visible.boilerplate}


class Markdown:
    """The text without boilerplate as Markdown: headings, lists, links and preformatted text are kept."""

    mime_types = HTML
    packages = ("resiliparse",)
    fields: ClassVar[dict[str, str]] = {"markdown": "text"}

    def __init__(self) -> None:
        import webcrawl.processing.visible_text  # noqa: F401

    def process(self, content: Content) -> Mapping[str, Any]:
        from resiliparse.extract.html2text import extract_plain_text

        from webcrawl.processing.visible_text import main_markup

        reduced: str = extract_plain_text(
            main_markup(content),
            preserve_formatting="minimal_html",
            main_content=False,
            alt_texts=False,
            links=True,
        )
        return {"markdown": html_to_markdown(reduced, content.url)}


def main_text(content: Content) -> str:
    """Return the text of an HTML page without boilerplate; extracted once for all modules that need it."""
    return _visible(content).main


def headings(content: Content) -> list[str]:
    """Return the headings of an HTML page; extracted once, with the text."""
    return list(_visible(content).headings)


def _visible(content: Content) -> VisibleText:
    from webcrawl.processing.visible_text import visible_text

    visible: VisibleText | None = content.shared.get(_SHARED)
    if visible is None:
        visible = content.shared[_SHARED] = visible_text(content)
    return visible
