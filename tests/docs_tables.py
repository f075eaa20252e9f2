"""The tables of pages of docs/reference (settings, scrapy, metrics, http-api, logs), made from the code.

``python -m tests.docs_tables`` brings them up to date.

The text and the order of rows are written by hand. The command replaces the cells of a row that begins with the name
of a setting, and adds the row of a new setting behind that of its predecessor in ``webcrawl/config``.
``tests/test_docs.py`` fails when the command would change anything.
"""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from webcrawl import settings as project
from webcrawl.config import SETTINGS, Setting
from webcrawl.config.scrapy_settings import ATTRIBUTES, ROWS, ScrapySetting
from webcrawl.features.timeseries.reading import SHARE
from webcrawl.frontier.figures import FIGURES, LOGGED
from webcrawl.politeness.health import FAILURES
from webcrawl.scope.url_rules import USELESS_EXTENSIONS
from webcrawl.web.access import Right
from webcrawl.web.dashboard.api import ENDPOINTS, PREFIX
from webcrawl.web.metrics import names as metrics

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/settings.md"
SCRAPY_PAGE = ROOT / "docs/reference/scrapy.md"
METRICS_PAGE = ROOT / "docs/reference/metrics.md"
API_PAGE = ROOT / "docs/reference/http-api.md"
LOGS_PAGE = ROOT / "docs/reference/logs.md"
_SCRAPY_HEAD = "| Scrapy's setting | Effect | Here |\n| --- | --- | --- |\n"
_SCRAPY_TABLE = re.compile(re.escape(_SCRAPY_HEAD) + r"(?:\|.*\n)*")
_NAME = re.compile(r"(?<![\w.`])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=\w+)?(?![\w`])")
_ROW = re.compile(r"^\| `([A-Z0-9_]+)` \|.*$", re.MULTILINE)
_UNREACHED = re.compile(r" to \d{7,}")
"""A largest value that nobody reaches."""
_LONG = 60

OURS = {setting.name: setting for setting in SETTINGS}
"""The settings that the crawler checks and reads itself."""
THEIRS = {name: value for name, value in vars(project).items() if name.isupper() and name not in OURS}
"""Settings of Scrapy that the project sets, with its value."""


def named(text: str) -> list[str]:
    """The settings that have a row in ``text``, in its order."""
    return _ROW.findall(text)


def completed(text: str) -> str:
    """Return ``text`` with a row for each of our settings."""
    for before, name in pairwise(OURS):
        if name not in named(text):
            row = next(row[0] for row in _ROW.finditer(text) if row[1] == before)
            text = text.replace(row, f"{row}\n{_ours(OURS[name])}")
    return text


def renewed(text: str) -> str:
    """Return ``text`` with every row as the code has it."""
    return _ROW.sub(lambda row: _renewed_row(row[0], row[1]), text)


def _renewed_row(row: str, name: str) -> str:
    if name in OURS:
        return _ours(OURS[name])
    if name not in THEIRS:
        return row
    # The last cell says why, and is written by hand.
    why = row.rstrip("| ").rpartition(" | ")[2]
    return f"| `{name}` | {_shown(THEIRS[name], 'webcrawl/settings.py')} | {why} |"


def _ours(setting: Setting) -> str:
    value = (
        _extensions() if setting.name == "EXTENSIONS_REFUSED" else _shown(setting.default, "webcrawl/config")
    )
    unit = f" {setting.unit}" if setting.unit else ""
    allowed = _UNREACHED.sub(" upwards", setting.reader.allowed)
    cells = [f"`{setting.name}`", f"{value}{unit}", allowed, setting.meaning]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _extensions() -> str:
    return f"the {len(USELESS_EXTENSIONS)} of `webcrawl/scope/url_rules.py`"


def _shown(value: Any, module: str) -> str:
    """Return a value as it is typed after ``-s NAME=``, or a reference to ``module`` if it is too long to read."""
    if value in (None, "", []):
        return "none"
    text = ",".join(value) if isinstance(value, list) else str(value)
    return f"`{text}`" if len(text) <= _LONG and not isinstance(value, dict) else f"see `{module}`"


def scrapy_table() -> str:
    """Return the table of Scrapy's settings, and of a spider's attributes without effect."""
    rows = [_scrapy_row(row) for row in ROWS]
    rows += [_scrapy_row(row, " of a spider") for row in ATTRIBUTES]
    return _SCRAPY_HEAD + "".join(rows)


def _scrapy_row(row: ScrapySetting, of: str = "") -> str:
    names = ", ".join(f"`{name}`" for name in row.names) + of
    said = " ".join(filter(None, [_sentence(row.here), _sentence(row.instead)]))
    return f"| {names} | {row.effect} | {said} |\n"


def _sentence(clause: str) -> str:
    clause = clause.replace("settings.md", "[settings](settings.md)")
    clause = _NAME.sub(lambda name: f"`{name[0]}`", clause)
    return f"{clause[0].upper()}{clause[1:]}." if clause else ""


def scrapy_renewed(text: str) -> str:
    """Return the text of docs/reference/scrapy.md with the table as the code has it."""
    return _SCRAPY_TABLE.sub(lambda _: scrapy_table(), text)


METRICS_HEAD = "| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n"
SERIES_HEAD = "| series | unit | of several workers | meaning |\n| --- | --- | --- | --- |\n"


def metrics_table() -> str:
    """Return the table of metrics."""
    rows = []
    for metric in metrics.ALL:
        labels = ", ".join(f"`{label}`" for label in metrics.label_names(metric))
        values = "" if metric.label is None else f" ({metric.label}: {', '.join(metric.figures)})"
        rows.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.meaning}{values} |\n")
    return METRICS_HEAD + "".join(rows)


def series_table() -> str:
    """Return the table of time series."""
    rows = []
    for one in (*FIGURES, SHARE):
        unit = f"{one.unit} per second" if one.is_counter else one.unit
        rows.append(f"| `{one.name}` | {unit} | {one.combine} | {one.meaning} |\n")
    return SERIES_HEAD + "".join(rows)


LOGGED_HEAD = "| figure | of the process, until then |\n| --- | --- |\n"


def logged_table() -> str:
    """Return the table of the figures in progress.jsonl."""
    return LOGGED_HEAD + "".join(f"| `{one.name}` | {one.meaning} |\n" for one in LOGGED)


API_HEAD = "| endpoint | right | meaning | parameters |\n| --- | --- | --- | --- |\n"
WORDS_HEAD = "| word | meaning |\n| --- | --- |\n"
RIGHTS = {Right.NONE: "", Right.READ: "read", Right.WRITE: "operate"}


def api_table() -> str:
    """Return the table of the dashboard's endpoints."""
    rows = []
    for one in ENDPOINTS:
        parameters = ", ".join(f"`{field.name}`" for field in (*one.query, *(one.body or ())))
        cells = [f"`{one.method} {PREFIX}{one.path}`", RIGHTS[one.right], one.summary, parameters]
        rows.append(f"| {' | '.join(cells)} |\n")
    return API_HEAD + "".join(rows)


def words_table() -> str:
    """Return the table of the words for a failed request."""
    return WORDS_HEAD + "".join(f"| `{word}` | {meaning} |\n" for word, meaning in FAILURES.items())


def _with(text: str, *tables: str) -> str:
    """Return ``text`` with these tables in place of those with the same heads."""
    for table in tables:
        head = "".join(table.splitlines(keepends=True)[:2])
        text = re.sub(re.escape(head) + r"(?:\|.*\n)*", lambda _, table=table: table, text)
    return text


PAGES = {
    METRICS_PAGE: (metrics_table(), series_table()),
    API_PAGE: (api_table(),),
    LOGS_PAGE: (words_table(), logged_table()),
}
"""Pages with tables of which every row is made, and these."""


def main() -> int:
    for path, tables in PAGES.items():
        path.write_text(_with(path.read_text(encoding="utf-8"), *tables), encoding="utf-8")
    page = SCRAPY_PAGE.read_text(encoding="utf-8")
    SCRAPY_PAGE.write_text(scrapy_renewed(page), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    text = renewed(completed(text))
    PAGE.write_text(text, encoding="utf-8")
    missing = sorted({*OURS, *THEIRS} - set(named(text)))
    for name in missing:
        print(f"{name} has no row in docs/reference/settings.md")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
