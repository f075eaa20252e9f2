"""Menus of Gopher (RFC 1436): a line for each item, with its type, its text, its selector, its host and its port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

LINE_MAX = 4_096
"""A longer line is no item."""
TYPE = "menu"
"""The type of a link to an item of a menu."""
FOLLOWED_TYPES = frozenset("01459gIhdsp;:<PMrX")
"""The item types that name a document. The others are a query (7), text of the menu (i), an error (3), a session
(8, T) or a directory of people (2).
"""
DEFAULT_PORT = 70
_LAST_PORT = 65_535
_UNESCAPED = "/:~@!$&'()*+,;=-._"
_URL = ("URL:", "/URL:", "url:", "/url:")


class MenuItem(NamedTuple):
    """An item of a menu. Each character stands for one byte (Latin-1)."""

    type: str
    shown: str
    """The text of the item, as sent."""
    selector: str
    host: str
    port: int

    @property
    def text(self) -> str:
        """The text of the item."""
        raw = self.shown.encode("latin-1")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return self.shown

    @property
    def href(self) -> str:
        """The URL of the item (RFC 4266), or the one that its selector holds."""
        for prefix in _URL:
            if self.type == "h" and self.selector.startswith(prefix):
                return self.selector.removeprefix(prefix)
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORT else f":{self.port}"
        return f"gopher://{host}{port}/{self.type}{quote(self.selector.encode('latin-1'), safe=_UNESCAPED)}"


def items(menu: bytes) -> Iterator[MenuItem]:
    """Yield the items of a menu that lead to documents. Lines that are no items are skipped; never raises."""
    for raw in menu.split(b"\n"):
        line = raw.decode("latin-1").rstrip("\r")
        if line == ".":
            return
        fields = line.split("\t")
        if len(raw) > LINE_MAX or len(fields) < 4 or line[0] not in FOLLOWED_TYPES:
            continue
        shown, selector, host, port = fields[0][1:], fields[1], fields[2].strip(), fields[3].strip()
        if host and port.isascii() and port.isdigit() and 0 < int(port[:6]) <= _LAST_PORT:
            yield MenuItem(line[0], shown, selector, host, int(port))
