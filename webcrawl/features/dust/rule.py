"""DUST rules: the parts of the URLs of a site that make no difference, and the rules that would explain why two URLs
have the same page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.features.dust.template import fill, rewritings, template
from webcrawl.features.dust.url_parts import Outline, UrlParts, is_token, parameter_name, path_place, place
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

PARAMETERS_MAX = 3
"""Two URLs that differ in more parameters explain nothing."""
EXACT_LENGTH_MAX = 32
"""Maximum length of a value that a rule names."""

_INDEX = re.compile(r"(?:index|default|home)\.[a-z0-9]{1,6}", re.IGNORECASE)
_MATRIX = re.compile(r";([A-Za-z_]{1,32})=[^;/]{1,128}\Z")


class DustKind(StrEnum):
    """The kinds of rules, in the order in which they are applied."""

    SCHEME = "scheme"
    """http and https."""
    WWW = "www"
    MATRIX = "matrix"
    """A parameter behind a semicolon at the end of the path."""
    INDEX = "index"
    SLASH = "slash"
    """The slash at the end of the path."""
    CASE = "case"
    """The case of the path."""
    SEGMENT = "segment"
    """A segment of the path, whatever it is."""
    PARAMETER = "parameter"
    REWRITING = "rewriting"
    """Another URL of the site that is made of the same words."""
    ORDER = "order"
    """The order of the parameters."""


_ORDER = {kind: number for number, kind in enumerate(DustKind)}

ANY, TOKEN = "*", "**"
"""The values of rules for all values of a parameter, and for those that look like sessions."""


@dataclass(frozen=True, slots=True)
class DustRule:
    """A part of the URLs of a site that makes no difference."""

    site: str
    kind: DustKind
    place: str = ""
    """The URLs that it applies to, see ``url_parts.place``; empty: all of the site."""
    name: str = ""
    """The name of the parameter or of the index file, the position of the segment, or the template of the other URL;
    its place is a template then too."""
    value: str = ""
    """The value of the parameter, or ``ANY`` or ``TOKEN``. Of an order: ``ANY`` if that of parameters with one name
    counts as little. Of a rewriting: ``ANY`` if a word of its place stands for anything."""

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that identify the rule."""
        text = "\n".join((self.site, self.kind, self.place, self.name, self.value))
        return f"{fingerprint(text) & 0xFFFFFFFF:08x}"

    @property
    def rank(self) -> int:
        """The place of its kind in the order in which rules are applied."""
        return _ORDER[self.kind]

    @property
    def has_values(self) -> bool:
        """True if it covers several values, so that it must be proved with several."""
        if self.kind is DustKind.ORDER:
            return False
        return self.kind in (DustKind.SEGMENT, DustKind.MATRIX) or self.value in (ANY, TOKEN)

    def includes(self, other: DustRule) -> bool:
        """Return whether another rule is for one value of the parameter that this one is for."""
        places = self.kind, self.place, self.name
        return self.kind is DustKind.PARAMETER and (other.kind, other.place, other.name) == places

    def covers(self, parts: UrlParts) -> bool:
        """Return whether the rule changes a URL."""
        return self.changed(parts) is not None

    def changed(self, parts: UrlParts) -> UrlParts | None:
        """Return the form of a URL that the rule changes; None if it does not."""
        if self.kind is DustKind.REWRITING:
            found = self._match(parts)
            return None if found is None else fill(self.name, found, parts)
        form = self.form(parts)
        return None if form is None or form == parts else form

    def may_change(self, shape: Outline) -> bool:
        """Return False if the rule leaves all URLs of a shape as they are."""
        kind = self.kind
        if kind is DustKind.PARAMETER:
            return self.name in shape.names
        if kind is DustKind.SEGMENT:
            return shape.segments > int(self.name) + 1
        if kind is DustKind.REWRITING:
            source = template(self.place)
            return source is not None and source.has_shape(shape)
        if kind is DustKind.SLASH or kind is DustKind.INDEX:
            return shape.slash is (kind is DustKind.SLASH)
        return len(shape.names) > 1 if kind is DustKind.ORDER else True

    def value_in(self, parts: UrlParts) -> str:
        """Return the part of a URL that makes no difference; empty if it has none."""
        if self.kind is DustKind.PARAMETER:
            return next((piece for piece in parts.query if parameter_name(piece) == self.name), "")
        if self.kind is DustKind.SEGMENT:
            return parts.segments[int(self.name)] if int(self.name) < len(parts.segments) else ""
        if self.kind is DustKind.REWRITING:
            found = self._match(parts) or {}
            return "/".join(value for word, value in sorted(found.items()) if word.endswith("*>"))
        if self.kind is DustKind.MATRIX:
            return parts.segments[-1].rpartition(";")[2] if parts.segments else ""
        return ""

    def form(self, parts: UrlParts) -> UrlParts | None:
        """Return the form that all URLs of one page have under the rule, unchanged for a URL that has it; None for a
        URL to which the rule does not apply. It is a URL that can be fetched, except for segments."""
        match self.kind:
            case DustKind.PARAMETER:
                return self._without_parameter(parts)
            case DustKind.SEGMENT:
                position = int(self.name)
                if position >= len(parts.segments) - 1 or path_place(parts, position) != self.place:
                    return None
                segments = parts.segments
                return parts._replace(segments=(*segments[:position], "*", *segments[position + 1 :]))
            case DustKind.ORDER:
                if len(parts.query) < 2:
                    return None
                by = None if self.value == ANY else parameter_name
                return parts._replace(query=tuple(sorted(parts.query, key=by)))
            case DustKind.REWRITING:
                return self._rewritten(parts)
            case DustKind.SCHEME:
                return parts if ":" in parts.authority else parts._replace(scheme="https")
            case DustKind.WWW:
                return parts._replace(authority=parts.site)
            case DustKind.CASE:
                return parts._replace(segments=tuple(segment.lower() for segment in parts.segments))
            case _:
                return self._with_other_end(parts)

    def _match(self, parts: UrlParts) -> dict[str, str] | None:
        source = template(self.place)
        return None if source is None else source.match(parts)

    def _rewritten(self, parts: UrlParts) -> UrlParts | None:
        found = self._match(parts)
        if found is not None:
            return fill(self.name, found, parts)
        target = template(self.name)
        return None if target is None or target.match(parts) is None else parts

    def _with_other_end(self, parts: UrlParts) -> UrlParts | None:
        segments = parts.segments
        if self.kind is DustKind.SLASH:
            return parts._replace(slash=False) if segments and place(parts) == self.place else None
        if self.kind is DustKind.INDEX:
            if parts.query:
                return None
            is_index = not parts.slash and segments and segments[-1] == self.name
            return parts._replace(segments=segments[:-1], slash=True) if is_index else parts
        if not segments or parts.slash or ";" not in segments[-1]:
            return parts
        name, _, _ = segments[-1].rpartition(";")[2].partition("=")
        last = _MATRIX.sub("", segments[-1]) if name == self.name else segments[-1]
        return parts._replace(segments=(*segments[:-1], last)) if last else parts

    def _without_parameter(self, parts: UrlParts) -> UrlParts | None:
        name = self.name
        with_name = [piece for piece in parts.query if parameter_name(piece) == name]
        if len(with_name) > 1 or place(parts, name) != self.place:
            return None
        if not with_name:
            return parts
        value = with_name[0].partition("=")[2]
        is_covered = self.value == ANY or (is_token(value) if self.value == TOKEN else value == self.value)
        if not is_covered:
            return None
        return parts.with_query([piece for piece in parts.query if piece is not with_name[0]])

    def probe(self, parts: UrlParts, other: str) -> str | None:
        """Return a URL that has the same page as this one if the rule is true; None if there is none. ``other``: the
        segment of another URL."""
        form = self.form(parts)
        if form is None:
            return None
        if self.kind is DustKind.SEGMENT:
            position = int(self.name)
            if not other or other == parts.segments[position]:
                return None
            form = parts._replace(
                segments=(*parts.segments[:position], other, *parts.segments[position + 1 :])
            )
        return None if form == parts else form.url

    def __str__(self) -> str:
        where = f"{self.site}{self.place}"
        match self.kind:
            case DustKind.PARAMETER:
                values = {ANY: "", TOKEN: " with a value like a session's"}
                more = values.get(self.value, f" with the value {self.value or '(empty)'}")
                return f"{where}: the parameter {self.name}{more}"
            case DustKind.SEGMENT:
                return f"{where}: segment {int(self.name) + 1} of the path"
            case DustKind.MATRIX:
                return f"{self.site}: ;{self.name}= at the end of the path"
            case DustKind.INDEX:
                return f"{self.site}: {self.name} at the end of the path"
            case DustKind.SLASH:
                return f"{where}: the slash at the end of the path"
            case DustKind.CASE:
                return f"{self.site}: the case of the path"
            case DustKind.ORDER:
                return f"{self.site}: the order of the parameters" + ", and of values" * (self.value == ANY)
            case DustKind.REWRITING:
                return f"{where}: the same as {self.name}"
            case DustKind.WWW:
                return f"{self.site}: www. before the name of the host"
            case _:
                return f"{self.site}: http and https"


def rewriting_rules(one: UrlParts, other: UrlParts) -> Iterator[DustRule]:
    """Yield the rules by which one of two URLs of a site with the same page is made of the words of the other."""
    if one[:2] == other[:2]:
        for source, target, is_any in rewritings(one, other):
            yield DustRule(one.site, DustKind.REWRITING, source, target, ANY if is_any else "")


def explanations(one: UrlParts, other: UrlParts) -> Iterator[DustRule]:
    """Yield the rules that would explain why two URLs of a site have the same page: those by which they differ in one
    way."""
    site = one.site
    if (one.scheme, one.authority) != (other.scheme, other.authority):
        if one[2:] != other[2:] or site != other.site:
            return
        if one.scheme == other.scheme:
            yield DustRule(site, DustKind.WWW)
        elif one.authority == other.authority and ":" not in one.authority:
            yield DustRule(site, DustKind.SCHEME)
    elif (one.segments, one.slash) == (other.segments, other.slash):
        yield from _by_query(one, other)
    elif one.query == other.query:
        yield from _by_path(one, other)


def _by_query(one: UrlParts, other: UrlParts) -> Iterator[DustRule]:
    if sorted(one.query) == sorted(other.query):
        is_by_name = sorted(one.query, key=parameter_name) == sorted(other.query, key=parameter_name)
        yield DustRule(one.site, DustKind.ORDER, value="" if is_by_name else ANY)
        return
    pieces = set(one.query) ^ set(other.query)
    if len(set(map(parameter_name, pieces))) > PARAMETERS_MAX:
        return
    for piece in sorted(pieces):
        name, _, value = piece.partition("=")
        at = place(one if piece in one.query else other, name)
        if is_token(value):
            yield DustRule(one.site, DustKind.PARAMETER, at, name, TOKEN)
            continue
        if len(value) <= EXACT_LENGTH_MAX and value not in (ANY, TOKEN):
            yield DustRule(one.site, DustKind.PARAMETER, at, name, value)
        yield DustRule(one.site, DustKind.PARAMETER, at, name, ANY)


def _by_path(one: UrlParts, other: UrlParts) -> Iterator[DustRule]:
    site = one.site
    if one.segments == other.segments:
        yield DustRule(site, DustKind.SLASH, place(one))
        return
    for longer, shorter in ((one, other), (other, one)):
        is_folder = shorter.slash and not longer.slash and longer.segments[:-1] == shorter.segments
        if is_folder and longer.segments and _INDEX.fullmatch(longer.segments[-1]) and not longer.query:
            yield DustRule(site, DustKind.INDEX, name=longer.segments[-1])
            return
    if one.slash != other.slash or len(one.segments) != len(other.segments):
        return
    pairs = zip(one.segments, other.segments, strict=True)
    different = [index for index, (left, right) in enumerate(pairs) if left != right]
    if [segment.lower() for segment in one.segments] == [segment.lower() for segment in other.segments]:
        yield DustRule(site, DustKind.CASE)
    elif len(different) == 1:
        [position] = different
        if position < len(one.segments) - 1:
            yield DustRule(site, DustKind.SEGMENT, path_place(one, position), str(position))
            return
        left, right = one.segments[-1], other.segments[-1]
        if _MATRIX.sub("", left) == _MATRIX.sub("", right):
            for segment in (left, right):
                if (matrix := _MATRIX.search(segment)) is not None:
                    yield DustRule(site, DustKind.MATRIX, name=matrix[1])
