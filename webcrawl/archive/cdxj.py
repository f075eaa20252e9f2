"""Lines of a CDXJ index: where the answer to a URL lies, in the form that pywb and other replay tools look up.

``com,example)/a 20261121220000 {"url": ..., "mime": ..., "status": ..., "digest": ..., "length": ..., "offset": ...,
"filename": ...}``, one for each response, revisit and resource record. Numbers are texts, as everywhere in the field.
Answers to other methods than GET have no line: a replay of such a URL would show them to whoever asks by GET. Nor has
a 304: it would be shown as it is, an empty page, where the capture that it confirms is meant.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING

from webcrawl.archive.surt import surt_key

if TYPE_CHECKING:
    from collections.abc import Mapping

INDEXED = frozenset({"response", "revisit", "resource"})
"""Types of the records that a replay shows."""

NOT_MODIFIED = 304

_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+(\d{3})")
_MIME = re.compile(rb"\n(?i:content-type):[ \t]*([^\s;,]+)")
_NOT_IN_A_KEY = re.compile(r"[^!-~]")
_NOT_DIGITS = re.compile(r"\D")
_quoted = encode_basestring_ascii


def line_of(
    fields: Mapping[str, str], message_head: bytes, filename: str, offset: int, length: int
) -> bytes | None:
    """The line for a record with these WARC fields (names in lower case); None for one that is not shown.

    ``message_head`` is that of the HTTP message in the record, ``length`` that of its gzip member.
    """
    kind, url = fields.get("warc-type", ""), fields.get("warc-target-uri", "")
    if kind not in INDEXED or not url:
        return None
    key = surt_key(url)
    if _NOT_IN_A_KEY.search(key):
        key = _NOT_IN_A_KEY.sub(lambda found: f"%{ord(found[0]):02X}", key)
    status = _STATUS.match(message_head)
    if status is not None and int(status[1]) == NOT_MODIFIED:
        return None
    about = f'{{"url": {_quoted(url)}, "mime": {_quoted(_mime(kind, fields, message_head))}'
    if kind == "response" and status is not None:
        about += f', "status": "{status[1].decode()}"'
    if digest := fields.get("warc-payload-digest"):
        about += f', "digest": {_quoted(digest.removeprefix("sha1:"))}'
    about += f', "length": "{length}", "offset": "{offset}", "filename": {_quoted(filename)}}}'
    return f"{key} {timestamp(fields.get('warc-date', ''))} {about}\n".encode()


def timestamp(warc_date: str) -> str:
    """A WARC-Date as 14 digits."""
    usual = warc_date[:19].replace("-", "").replace("T", "").replace(":", "")
    if len(usual) == 14 and usual.isdecimal():
        return usual
    return _NOT_DIGITS.sub("", warc_date)[:14].ljust(14, "0")


def _mime(kind: str, fields: Mapping[str, str], message_head: bytes) -> str:
    if kind == "revisit":
        return "warc/revisit"
    if kind == "resource":
        return fields.get("content-type", "unk").partition(";")[0].strip()
    found = _MIME.search(b"\n" + message_head)
    return found[1].decode("latin-1") if found else "unk"
