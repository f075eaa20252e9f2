"""Detection of a page's encoding, as in browsers (HTML standard 13.2.3, Encoding standard)."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import webencodings

from webcrawl.parsing.links import SPACE

PRESCAN_BYTES = 4096
"""Bytes that are searched for a declaration. The standard requires 1024; pages have it later, and browsers search
further.
"""

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

_CHARSET = re.compile(
    rf"""[cC][hH][aA][rR][sS][eE][tT][{SPACE}]*+=[{SPACE}]*+(?:"([^"]*+)"|'([^']*+)'|([^{SPACE};"'][^{SPACE};]*+))"""
)
_IN_HEADER = re.compile(
    rf"""[cC][hH][aA][rR][sS][eE][tT][{SPACE}]*+=[{SPACE}]*+(?:"((?:[^"\\]|\\.)*+)|([^{SPACE};]++))""",
    re.DOTALL,
)
"""A parameter of a MIME type: in quotes, which need no end and may have backslashes before characters, or bare."""
_QUOTED_PAIR = re.compile(r"\\(.?)", re.DOTALL)
_QUOTES = "\"'\\"
_HINT = re.compile(
    rf"""<[mM][eE][tT][aA][^<>]*?[cC][hH][aA][rR][sS][eE][tT][{SPACE}]*+=["'\\{SPACE}]*+([A-Za-z0-9_:.-]++)"""
)
_XML_ENCODING = re.compile(r"""<\?xml[^>]*?encoding[\x00-\x20]*+=[\x00-\x20]*+(?:"([^">]*+)"|'([^'>]*+)')""")

_REST = rf"""(?>(?:[^>=]++|=[{SPACE}]*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*)"""
# A tag without an end reaches as far as it can be read: searching for an end from each "<" in it would take quadratic
# time.
_PRESCANNED = re.compile(
    rf"<(?:!--(?:-?>|.*?(?:-->|\Z))|[mM][eE][tT][aA](?=[{SPACE}/])({_REST})>|/?[a-zA-Z]{_REST}(?:>|=|\Z)|[!/?][^>]*+>?)",
    re.DOTALL,
)


_ATTRIBUTE = re.compile(
    rf"""([^{SPACE}/>=]++)(?:[{SPACE}]*+=[{SPACE}]*+(?:"([^"]*+)"|'([^']*+)'|([^{SPACE}>]++)))?"""
)


def detect_encoding(body: bytes, content_type: str | None) -> str:
    """Return the name of the Python codec to decode ``body`` with, best with ``errors="replace"``.

    The first of these that is known counts: a byte order mark, the charset of the Content-Type header, a
    declaration in the first ``PRESCAN_BYTES``; then UTF-8 if the body is valid UTF-8, else what a broken declaration
    seems to mean (one in quotes that do not end), else windows-1252. Never raises. A byte order mark is left for the
    caller to drop.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    if content_type:
        match = _IN_HEADER.search(content_type)
        label = _QUOTED_PAIR.sub(r"\1", match[1] or match[2] or "") if match else ""
        codec = find_codec(label) or find_codec(label.strip(_QUOTES))
        if codec is not None:
            return codec
    head = body[:PRESCAN_BYTES]
    return _declared(head) or ("utf-8" if _is_utf8(body) else _hinted(head) or "cp1252")


@lru_cache(maxsize=256)
def find_codec(label: str) -> str | None:
    """Return the Python codec for an encoding label of the web; None for an unknown one.

    None as well for the encodings that the standard bans because they are dangerous ("replacement").
    """
    encoding = webencodings.lookup(label) if label.isascii() else None
    if encoding is None:
        return None
    if encoding.name == "x-user-defined":
        return "cp1252"
    try:
        return codecs.lookup(encoding.codec_info.name).name
    except LookupError:
        return None


def _declared(head: bytes) -> str | None:
    """Return the encoding that the page itself declares: the prescan of the standard, section 13.2.3.2."""
    if head.startswith(b"<\0?\0x\0"):
        return "utf-16-le"
    if head.startswith(b"\0<\0?\0x"):
        return "utf-16-be"
    text = head.decode("latin-1")
    if "harset" not in text and "HARSET" not in text and "ncoding" not in text:
        return None
    for match in _PRESCANNED.finditer(text):
        codec = _of_meta(_attributes(match[1])) if match[1] is not None else None
        if codec is not None:
            return codec
    xml = _XML_ENCODING.match(text)
    return _in_ascii(xml[1] or xml[2] or "") if xml else None


def _attributes(tag: str) -> dict[str, str]:
    """Return the attributes in the text after a tag's name; the first of a name counts."""
    matches = _ATTRIBUTE.findall(tag)
    return {name.lower(): double or single or bare for name, double, single, bare in reversed(matches)}


def _of_meta(meta: dict[str, str]) -> str | None:
    if "charset" in meta:
        return _in_ascii(meta["charset"])
    if meta.get("http-equiv", "").lower() != "content-type":
        return None
    match = _CHARSET.search(meta.get("content", ""))
    return _in_ascii(match[1] or match[2] or match[3] or "") if match else None


def _hinted(head: bytes) -> str | None:
    """Return the encoding that a meta element seems to declare whose quotes are wrong, so that it declares none."""
    for match in _HINT.finditer(head.decode("latin-1")):
        codec = _in_ascii(match[1])
        if codec is not None:
            return codec
    return None


def _in_ascii(label: str) -> str | None:
    """Return the codec for a label that was read as ASCII, so that the page cannot be in UTF-16."""
    codec = find_codec(label)
    return "utf-8" if codec in {"utf-16-le", "utf-16-be"} else codec


def _is_utf8(body: bytes) -> bool:
    """Return True if the body is UTF-8; it may have been cut in the middle of a character."""
    try:
        _, valid = codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return False
    return valid == len(body) or not body[:valid].isascii()
