"""Shape of a URL: the pattern of its path, the parameters of its query, and the parts that look like a session."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from webcrawl.urls.fingerprint import fingerprint

DIGITS, TOKEN, REPEATED, DEEP = "#", "*", "+", "**"
"""Placeholders of a pattern: for numbers and names of months, for long tokens, for the rest of a path from a repeated
segment on, and for everything below the depth at which paths are distinguished."""
VOID = "="
"""The end of the pattern of a void parameter: its pages are fetched once, whatever its value."""

DEEP_FROM = 10
DEEP_KEPT = 3
"""The number of first segments that the pattern keeps of a path with more than ``DEEP_FROM`` segments."""
NUMBERS_MAX = 4
"""Maximum number of consecutive number segments; more count as a path that repeats itself."""
PARAMETERS_MAX = 32
NUMBER_LENGTH = 200

_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
    ]
)
SESSION_NAMES = frozenset(
    [
        "sid",
        "phpsessid",
        "jsessionid",
        "sessionid",
        "session_id",
        "session",
        "sessid",
        "sess_id",
        "sess",
        "aspsessionid",
        "cfid",
        "cftoken",
        "oscsid",
        "zenid",
        "xtcsid",
        "osadcid",
        "phpsession",
        "psession",
        "session-id",
    ]
)
"""Parameters by which servers distinguish visitors that send no cookies."""

_PAGING_NAMES = frozenset(
    [
        "page",
        "paged",
        "pg",
        "p",
        "pageno",
        "pagenum",
        "page_no",
        "page_num",
        "seite",
        "pagina",
        "start",
        "offset",
        "from",
        "first",
        "skip",
        "cursor",
        "after",
    ]
)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_MIXED = r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])"
_TOKEN = re.compile(
    rf"{_UUID}|(?=(?:\D*\d){{3}}){_MIXED}(?:[A-Za-z0-9]{{16,}}|[0-9a-fA-F]{{8,}})|[0-9a-fA-F]{{24,}}"
)
_SESSION_VALUE = re.compile(r"(?=[^0-9]*[0-9])[A-Za-z0-9_,.-]{6,}|[A-Za-z]{16,}")
_LIKELY_VALUE = re.compile(rf"{_UUID}|{_MIXED}(?:[0-9a-fA-F]{{8,}}|[A-Za-z0-9]{{16,}})|[0-9a-fA-F]{{16,}}")
_NAMED = re.compile(
    rf"\([A-Z]\([A-Za-z0-9_-]+\)\)|(?:s|sid|sess|session|sessionid)[-_=:,]{_MIXED}[A-Za-z0-9]{{6,}}",
    re.IGNORECASE,
)
_SHORT_TOKEN = re.compile(
    r"(?=[^0-9]*[0-9]+[^0-9]+[0-9])(?=[^A-Za-z]*[A-Za-z]+[0-9]+[A-Za-z])[A-Za-z0-9]{6,}"
)
_IN_FOLDER = re.compile(r"(?=[^0-9]*[0-9])[A-Za-z0-9_-]{6,}|[0-9a-fA-F]{6,}")
FOLDER_SESSION = 6
"""Minimum length of a segment that matches ``_SHORT_TOKEN`` or ``_IN_FOLDER``."""
_NUMBER = re.compile(r"\d+")
PATH_SESSION = "/*"
"""End of the name of a session in a path segment, as used among parameter names. Before it is the pattern of the
session's folder, since a segment that is a session there may name documents elsewhere. Alone, it is the name of a
session in any folder, as earlier versions wrote it."""


class Shape(NamedTuple):
    """The properties of a URL that it may share with others.

    ``path`` is the pattern of the path; ``parameters`` are the names of the query with their values, without
    sessions; ``sessions`` are the names of the parts that look like a session: ``;name`` for one in the path's
    parameters, for a segment its folder and ``PATH_SESSION``; ``varies``: whether other URLs can have the same
    pattern.
    """

    place: str
    """Host and port."""
    path: str
    parameters: dict[str, str]
    sessions: tuple[str, ...]
    varies: bool
    segments: tuple[str, ...]
    """Path segments as they are in the URL."""
    session_at: int = -1
    """Index of the segment that is treated as a session though it does not look like one; see ``session_of_folder``.
    """

    @property
    def pattern(self) -> str:
        """Pattern of host and path."""
        return self.place + self.path

    def of_parameter(self, name: str) -> str:
        """Return the pattern of all URLs of this path with a parameter ``name``."""
        return f"{self.place}{self.path}?{name}"

    def of_session(self, name: str) -> str:
        """Return the pattern of all URLs of this host with a session ``name``."""
        return f"{self.place}?{name}"

    def below(self, count: int) -> str:
        """Return the pattern of all URLs below the first ``count`` segments."""
        return "/".join([self.place, *self.segments[:count], DEEP])

    @property
    def whole(self) -> str:
        """Return the pattern of all URLs of this host."""
        return self.below(0)

    def number(self) -> int | None:
        """Return the number by which the URL names its page: the last number in the value of the only parameter, or
        in the last segment. None if there is no number, several parameters, or a paging parameter."""
        if len(self.parameters) == 1:
            ((name, called),) = self.parameters.items()
            if is_paging_name(name):
                return None
        elif self.parameters:
            return None
        else:
            called = next((segment for segment in reversed(self.segments) if segment), "").partition(".")[0]
        numbers = _NUMBER.findall(called[:NUMBER_LENGTH])
        return int(numbers[-1]) if numbers else None

    def base(self) -> int:
        """Return a fingerprint that is equal for URLs that differ only in their sessions."""
        segments = [
            TOKEN if at == self.session_at or _is_session_segment(segment) else segment.partition(";")[0]
            for at, segment in enumerate(self.segments)
        ]
        query = "&".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return fingerprint(f"{self.place}/{'/'.join(segments)}?{query}")


def parse_shape(url: str) -> Shape:
    """Return the shape of a URL. ``url``: as ``urls.resolve`` returns it. Never raises."""
    place, path, query = _parts(url)
    segments = tuple(path.split("/"))
    sessions: list[str] = []
    pattern, varies = _path(segments, sessions)
    parameters: dict[str, str] = {}
    if query:
        _read_query(query, parameters, sessions)
    return Shape(place, pattern, parameters, tuple(sessions), varies, segments)


def place_and_segments(url: str) -> tuple[str, tuple[str, ...]]:
    """Return ``place`` and ``segments`` of a URL's shape, at lower cost."""
    place, path, _ = _parts(url)
    return place, tuple(path.split("/"))


def _parts(url: str) -> tuple[str, str, str]:
    """Return place, path without its first slash, and query."""
    place, _, rest = url.partition("://")[2].partition("/")
    path, _, query = rest.partition("?")
    return place, path, query


def session_of_folder(shape: Shape, is_known: Callable[[str], bool] | None = None) -> Shape:
    """Return the shape with a session in its path, if one of its segments may be one; otherwise the shape unchanged.

    Servers also generate short tokens that do not look like tokens. If ``is_known`` returns True for the pattern of a
    folder's sessions, nearly every segment in that folder is one. Without ``is_known``, the first segment in which
    letters and digits alternate is taken for the session.
    """
    looks = _SHORT_TOKEN if is_known is None else _IN_FOLDER
    for at, segment in enumerate(shape.segments):
        if len(segment) >= FOLDER_SESSION and looks.fullmatch(segment):
            name = f"/{'/'.join(map(_fold, shape.segments[:at]))}{PATH_SESSION}"
            if is_known is None or is_known(shape.of_session(name)):
                return shape._replace(sessions=(name,), session_at=at)
    return shape


def _path(segments: tuple[str, ...], sessions: list[str]) -> tuple[str, bool]:
    folded: list[str] = []
    for segment in segments:
        plain = segment
        if ";" in segment:
            plain = segment.partition(";")[0]
            _read_path_parameters(segment, sessions)
        # Numbers, which are mostly seen once, must not displace recurring segments in the cache.
        fold = DIGITS if plain.isdigit() else _fold(plain)
        if fold == TOKEN and TOKEN not in folded:
            sessions.append(f"/{'/'.join(folded)}{PATH_SESSION}")
        folded.append(fold)
    again = _first_repeated(folded)
    if again is not None:
        folded = [*folded[:again], REPEATED]
    elif len(folded) > DEEP_FROM:
        folded = [*folded[:DEEP_KEPT], DEEP]
    pattern = "/" + "/".join(folded)
    return pattern, DIGITS in pattern or TOKEN in pattern or REPEATED in pattern


def _first_repeated(folded: list[str]) -> int | None:
    """Return the index of the first segment that is repeated later; numbers and tokens may be repeated,
    to a limit.
    """
    if len(set(folded)) == len(folded):
        return None
    seen: dict[str, int] = {}
    first, numbers = len(folded), 0
    for at, segment in enumerate(folded):
        numbers = numbers + 1 if segment == DIGITS else 0
        if numbers > NUMBERS_MAX:
            first = min(first, at - numbers + 1)
        if segment and segment not in (DIGITS, TOKEN):
            first = min(first, seen.setdefault(segment, at)) if segment in seen else first
            seen.setdefault(segment, at)
    return first if first < len(folded) else None


@lru_cache(1 << 14)
def _fold(segment: str) -> str:
    if segment.isalpha():
        return DIGITS if segment.lower() in _MONTHS else segment
    if segment.isdigit():
        return DIGITS
    if _is_session_segment(segment):
        return TOKEN
    return _NUMBER.sub(DIGITS, segment)


def _is_session_segment(segment: str) -> bool:
    segment = segment.partition(";")[0]
    return _TOKEN.fullmatch(segment) is not None or _NAMED.fullmatch(segment) is not None


def _read_path_parameters(segment: str, sessions: list[str]) -> None:
    for part in segment.split(";")[1:]:
        name = ";" + part.partition("=")[0].lower()
        if name not in sessions:
            sessions.append(name)


def _read_query(query: str, parameters: dict[str, str], sessions: list[str]) -> None:
    """Collect parameters and sessions. A repeated parameter keeps all its values."""
    for part in query.split("&", 4 * PARAMETERS_MAX)[: 4 * PARAMETERS_MAX]:
        name, _, value = part.partition("=")
        if not name:
            continue
        if looks_like_session(name, value):
            if name not in sessions:
                sessions.append(name)
            continue
        name = _NUMBER.sub(DIGITS, name) if not name.isalpha() else name
        if name in parameters:
            parameters[name] = f"{parameters[name]},{value}"
        elif len(parameters) < PARAMETERS_MAX:
            parameters[name] = value


def is_token(word: str) -> bool:
    """Return whether a part of a URL looks random: letters mixed with digits, or a long hexadecimal number."""
    return not word.isdigit() and (_TOKEN.fullmatch(word) or _LIKELY_VALUE.fullmatch(word)) is not None


def looks_like_session(name: str, value: str) -> bool:
    """Return whether a parameter is a session by its name and value, or by its value alone."""
    if is_session_name(name):
        return _SESSION_VALUE.fullmatch(value) is not None
    return len(value) >= 8 and _LIKELY_VALUE.fullmatch(value) is not None


def is_paging_name(name: str) -> bool:
    """Return whether a parameter of this name is used for paging."""
    return name.lower() in _PAGING_NAMES


def is_session_name(name: str) -> bool:
    """Return whether servers are known to use this name for sessions; never true for sessions in path segments."""
    return name.lower().lstrip(";") in SESSION_NAMES
