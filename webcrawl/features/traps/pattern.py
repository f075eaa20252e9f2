"""Which URLs are of one kind: the pattern of a path, the parameters of a query, and what looks like a session."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from webcrawl.urls.fingerprint import fingerprint

DIGITS, TOKEN, REPEATED, DEEP = "#", "*", "+", "**"
"""What stands in a pattern for numbers and names of months, for long tokens, for a path that says a segment again,
and for all that lies too deep to be told apart."""

DEEP_FROM = 10
DEEP_KEPT = 3
"""Of paths with more than the first many segments, the second many are told apart."""
NUMBERS_MAX = 4
"""Numbers that may stand one behind the other before they count as a path that repeats itself."""
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
"""Parameters by which servers tell visitors apart who send no cookies."""

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
"""Characters of the shortest of both."""
_NUMBER = re.compile(r"\d+")
PATH_SESSION = "/*"
"""The end of what a session in a segment of the path is called, among the names of parameters: before it stands the
pattern of the folder that it is in, since what is a session there names documents elsewhere. Alone it is that of any
folder, as earlier versions wrote it.
"""


class Shape(NamedTuple):
    """A URL, seen for what it has in common with others.

    ``path`` is the pattern of the path; ``parameters`` are the names of the query with their values, sessions left
    out; ``sessions`` the names of what looks like one, ``;name`` for one in the path's parameters, for a segment its
    folder and ``PATH_SESSION``; ``varies``: whether other URLs can have the same pattern.
    """

    place: str
    """Host and port."""
    path: str
    parameters: dict[str, str]
    sessions: tuple[str, ...]
    varies: bool
    segments: tuple[str, ...]
    """As they stand there."""
    session_at: int = -1
    """Which segment is taken for a session that does not look like one by itself; see ``session_of_folder``."""

    @property
    def pattern(self) -> str:
        """The pattern of the path, with its host."""
        return self.place + self.path

    def of_parameter(self, name: str) -> str:
        """The pattern of all URLs of this path that have a parameter ``name``."""
        return f"{self.place}{self.path}?{name}"

    def of_session(self, name: str) -> str:
        """The pattern of all URLs of this host that have a session ``name``."""
        return f"{self.place}?{name}"

    def below(self, count: int) -> str:
        """The pattern of all that lies below the first ``count`` segments."""
        return "/".join([self.place, *self.segments[:count], DEEP])

    def number(self) -> int | None:
        """The number that a page is called by, if that is how it is called: the value of the only parameter, or the
        last segment. None where parameters turn the pages of a list.
        """
        if len(self.parameters) == 1:
            ((name, called),) = self.parameters.items()
            if is_paging_name(name):
                return None
        elif self.parameters:
            return None
        else:
            called = next((one for one in reversed(self.segments) if one), "").partition(".")[0]
        found = _NUMBER.findall(called[:NUMBER_LENGTH])
        return int(found[-1]) if found else None

    def base(self) -> int:
        """A fingerprint that URLs share which differ in nothing but their sessions."""
        segments = [
            TOKEN if at == self.session_at or _is_session_segment(one) else one.partition(";")[0]
            for at, one in enumerate(self.segments)
        ]
        query = "&".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return fingerprint(f"{self.place}/{'/'.join(segments)}?{query}")


def shape_of(url: str) -> Shape:
    """``url``: as ``urls.resolve`` returns it. Never raises."""
    place, path, query = _parts(url)
    segments = tuple(path.split("/"))
    sessions: list[str] = []
    pattern, varies = _path(segments, sessions)
    parameters: dict[str, str] = {}
    if query:
        _read_query(query, parameters, sessions)
    return Shape(place, pattern, parameters, tuple(sessions), varies, segments)


def place_and_segments(url: str) -> tuple[str, tuple[str, ...]]:
    """The same of its shape, for less."""
    place, path, _ = _parts(url)
    return place, tuple(path.split("/"))


def _parts(url: str) -> tuple[str, str, str]:
    """Place, path without its first slash, and query."""
    place, _, rest = url.partition("://")[2].partition("/")
    path, _, query = rest.partition("?")
    return place, path, query


def session_of_folder(shape: Shape, is_known: Callable[[str], bool] | None = None) -> Shape:
    """A URL without a session, as one with a session in its path.

    Short tokens are found by chance among those that servers draw, and do not look like one; where ``is_known`` says
    that a folder holds sessions, by the pattern of these, nearly everything in it is one. Without ``is_known`` it is
    the first segment in which letters and digits take turns. The same URL where there is none.
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
        # Numbers that are met once do not take the place of what is met again.
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
    """Where the first segment stands that is said again later; numbers and tokens may be, some times."""
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
    """A parameter that is said again keeps all its values."""
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
    """Whether a part of a URL looks drawn at random: letters mixed with digits, or a long hexadecimal number."""
    return not word.isdigit() and (_TOKEN.fullmatch(word) or _LIKELY_VALUE.fullmatch(word)) is not None


def looks_like_session(name: str, value: str) -> bool:
    """By its name, or by its value alone."""
    if is_session_name(name):
        return _SESSION_VALUE.fullmatch(value) is not None
    return len(value) >= 8 and _LIKELY_VALUE.fullmatch(value) is not None


def is_paging_name(name: str) -> bool:
    """Whether a parameter of such a name turns the pages of a list."""
    return name.lower() in _PAGING_NAMES


def is_session_name(name: str) -> bool:
    """Whether servers are known to call a session so; those of segments are none of these names."""
    return name.lower().lstrip(";") in SESSION_NAMES
