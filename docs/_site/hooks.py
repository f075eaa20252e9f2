"""What MkDocs does not do by itself with pages that are also read in the repository, and tested.

Marks of fenced blocks, commands that tests run, lists of a page's own headings and links to files outside of ``docs``
are taken out. Lists may be indented by two spaces, as CommonMark has it. The page of the Python API gets the
docstrings of its classes and functions, read from the source without importing it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown

_MARKS = re.compile(r"^( *```\w+) [^\n]*$", re.MULTILINE)
_RUN = re.compile(r"^ *<!-- run: .*? -->\n", re.MULTILINE | re.DOTALL)
_CONTENTS = re.compile(r"(?:^\* \[[^\]\n]*\]\(#[^)\n]*\)\n)+", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^()\s:]+)\)")
_API = re.compile(r"^### `([\w.]+\.(\w+))(\([^)]*\))?`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


class Indentation(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name of the base class
        md.tab_length = 2
        for processor in md.parser.blockprocessors:
            processor.__init__(md.parser)  # type: ignore[misc]  # it keeps the length that it was made with


def on_config(config: Any) -> Any:
    config.markdown_extensions.insert(0, Indentation())
    decisions = next(part["Decisions"] for part in config.nav if "Decisions" in part)
    decisions += sorted(f"decisions/{path.name}" for path in Path(config.docs_dir, "decisions").glob("0*.md"))
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    folder = posixpath.dirname(page.file.src_uri)

    def linked(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2].partition("#")[0]))
        return match[1] if target.startswith("../") else match[0]

    for taken_out, left in ((_MARKS, r"\1"), (_RUN, ""), (_CONTENTS, "")):
        markdown = taken_out.sub(left, markdown)
    markdown = _LINK.sub(linked, markdown)
    if page.file.src_uri == "README.md":
        page.meta["hide"] = ["navigation"]
    if folder == "decisions" or page.file.src_uri == "internals/gauntlet.md":
        page.meta["search"] = {"boost": 0.2}  # behind the pages that say what to do
    if page.file.src_uri == "reference/python-api.md":
        markdown = _API.sub(_documented, markdown)
    return markdown


def _documented(section: re.Match[str]) -> str:
    path, name, parameters, text = section.groups()
    signature = f"```python\n{name}{parameters}\n```\n\n" if parameters else ""
    # Parameters are public, and what the table has. Those with a docstring are shown.
    members = re.findall(r"\w+", parameters or "")
    for cell in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE):
        members += re.findall(r"`(\w+)", cell)
    heading = f'### `{path}` {{ data-toc-label="{name}" }}'
    options = f"    options:\n      filters: ['!^(?!({'|'.join(dict.fromkeys(members))})$)']"
    return f"{heading}\n\n{signature}{text.strip()}\n\n::: {path}\n{options}\n\n"
