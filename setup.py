"""The long description of the package; pyproject.toml has all else. Tools such as scrapyd-deploy run this file."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
RELATIVE = re.compile(r"(!?)\[([^\[\]]*)\]\((?!https?:|mailto:|#)([^()\s]+)\)")


def long_description() -> str:
    """Return README.md without links that lead nowhere outside of the tree: links to files become their text, and
    images are left out. With a ``Source`` in ``project.urls``, the address of the tree's files, both become absolute.
    """
    urls = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    base = urls.get("Source", "").rstrip("/")

    def absolute(match: re.Match[str]) -> str:
        image, text, target = match.groups()
        return f"{image}[{text}]({base}/{target})" if base else "" if image else text

    return RELATIVE.sub(absolute, (HERE / "README.md").read_text("utf-8"))


setup(long_description=long_description(), long_description_content_type="text/markdown")
