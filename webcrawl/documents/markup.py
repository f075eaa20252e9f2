"""HTML cut into the tags somebody asked for, in one pass, without building a tree.

The tokenisation of the HTML standard (section 13.2.5) as one regular expression. Everything that is of no
interest - text, other tags, comments, the contents of scripts and their like - is consumed inside the expression
engine, so a page costs one Python step per interesting tag.

Always true of the expression, and the reason for its looks: it never gives back what it has consumed (single
characters are repeated possessively, groups inside atomic groups), and what a failed alternative has read is
read a few times at most. The time a page takes is linear in its length whatever it contains, and so that the
engine's stack stays small no group is repeated without a bound. Groups are not repeated possessively, because
Python 3.11.0 to 3.11.4 match that wrongly (CPython issues 100061 and 106052).

It knows no tree, so it differs from a browser where the tree decides what a tag is: it finds links of an ``a`` in
a frameset, of a ``frame`` outside of one, of a nested ``form``, all of which a browser drops; it reads
``<style>``, ``<script>`` and their like as text inside SVG and MathML as well; CDATA sections there are comments
to it. And it takes ``=`` for the sign before a value even where a name should begin (``<p ="x">``).
"""

from __future__ import annotations

import re
from functools import lru_cache

SPACE = " \t\n\f\r"
"""ASCII whitespace as the standard defines it; ``\\s`` is more."""

RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
"""Elements whose content is text up to their own end tag."""

NESTING = frozenset({"svg", "math", "template"})
"""Elements inside of which tags mean something else, so that their end tags are of interest too."""

ATTRIBUTES_MAX = 65_536
"""Characters of a tag that are searched for attributes."""


def _one_of(letters: str) -> str:
    return f"[{letters}{letters.upper()}]"


def _either_case(name: str) -> str:
    return "".join(map(_one_of, name))


def _any_of(names: frozenset[str]) -> str:
    return "|".join(map(_either_case, sorted(names)))


def _many(pattern: str) -> str:
    """Repeat a pattern any number of times, with a stack that is emptied every 500 times."""
    return f"(?>(?:(?>(?:{pattern}){{1,500}}))*)"


_S = f"[{SPACE}]*+"
_END = f"[{SPACE}/>]"
"""What ends the name of a tag."""

_NAME = f"[^{SPACE}/>][^{SPACE}/>=]*+"
_QUOTED = """"[^"]*+"|'[^']*+'"""
_UNQUOTED = f"""[^{SPACE}>"'][^{SPACE}>]*+"""

_VALUES = rf"""(?>(?:=(?:"[^"]*+"|{_S}(?:{_QUOTED}|{_UNQUOTED}|(?=>)))[^>=]*+){{1,20000}})"""
REST = rf"""[^{SPACE}/>]*+[^>=]*+(?:>|="[^"]*+">|{_VALUES}>)"""
"""From within the name of a tag up to and with the ``>`` that ends it, which is none inside a quoted value. Matches
nothing when a quoted value never ends: by the standard the rest of the document is then no token at all."""

COMMENT = rf"!--(?:-?>|[^-]*+{_many(r'-++(?:(?<!--)|(?!!?>))[^-]*+')}--++!?>)"
"""A comment from its ``!`` on."""

_BOGUS_COMMENT = r"(?:[!?](?!--)|/(?![a-zA-Z]))[^>]*+>"
"""Doctypes, processing instructions, ``</>`` and the like."""

_HREF = _either_case("href")
_OTHER_ATTRIBUTE = (
    rf"[{SPACE}/]*+(?!{_HREF}[{SPACE}=/>]){_NAME}(?:{_S}={_S}(?:{_QUOTED}|{_UNQUOTED}|(?=>))|(?!{_S}=))"
)
_UP_TO_HREF = (
    rf"(?:(?=[ ]{_HREF}=)|(?>(?:{_OTHER_ATTRIBUTE}){{0,200}}))"
    rf"""[{SPACE}/]*+{_HREF}{_S}={_S}(?:"([^"]*+)"|'([^']*+)'|({_UNQUOTED}))"""
)
_NO_ANCHOR = rf"{COMMENT}|(?!/?[aA]{_END}|(?:{_any_of(RAW - {'title'})}){_END})/?[a-zA-Z]{REST}"
_ANCHOR_CONTENT = rf"([^<]*+(?:(?=</[aA]>)|(?>(?:<(?:{_NO_ANCHOR})[^<]*+){{0,50}})))"

_ATTRIBUTE = re.compile(
    rf"""[{SPACE}/]*+({_NAME})(?:{_S}={_S}(?:"([^"]*+)"|'([^']*+)'|({_UNQUOTED})|(?=>)))?"""
)


def attributes(tag: str) -> dict[str, str]:
    """Return the attributes of a tag, given what follows its name; the first of a name counts.

    Names are lower-cased, character references in values are left as they are.
    """
    found = _ATTRIBUTE.findall(tag, 0, ATTRIBUTES_MAX)
    return {name.lower(): double or single or bare for name, double, single, bare in reversed(found)}


@lru_cache(maxsize=64)
def end_of(name: str) -> re.Pattern[str]:
    """Return the expression that finds the end tag of a raw text element."""
    return re.compile(f"</{_either_case(name)}(?={_END})")


@lru_cache(maxsize=64)
def scanner(names: frozenset[str]) -> re.Pattern[str]:
    """Return the expression whose successive matches are the tags of ``names`` (in lower case), in order.

    A match has eight groups. An ``a`` with a href: (1) its tag after the name; (2) to (4) the href, by the kind
    of its quotes, two of the three None; (5) the markup up to the end of the anchor, of some fifty tags at most.
    Any other tag: (6) its name, after a ``/`` when it is an end tag; (7) what follows the name. Or else (8) is
    the ``<`` where the match has stopped, after so many tags of no interest that it is time for a pause, or for
    good because the document ends inside this tag. No group is set at the end of the document.

    End tags are given of ``NESTING`` only. An element of ``RAW`` that closes itself (``<script/>``) is given
    whether asked for or not: it depends on what surrounds it whether it has a content.
    """
    special = _any_of(names | RAW)
    raw = "|".join(
        f"{_either_case(name)}(?={_END}){REST}(?<!/>){_raw_content(name)}" for name in sorted(RAW - names)
    )
    skipped = rf"""<(?:
          /(?:{"|".join(_beginnings_unlike(NESTING))}){REST}
        | {f"{REST}|".join(_beginnings_unlike(names | RAW))}{REST}
        | {COMMENT}
        | (?:{raw})
        | {_BOGUS_COMMENT}
        | (?!(?:{special}){_END})[a-zA-Z]{REST}
        | /(?!(?:{_any_of(NESTING)}){_END})[a-zA-Z]{REST}
        | (?![!/?a-zA-Z])
        )[^<]*+"""
    return re.compile(
        rf"""[^<]*+(?>(?:{skipped}){{0,500}})(?:
          <[aA](?=[{SPACE}/])({_UP_TO_HREF}{REST})(?={_ANCHOR_CONTENT})
        | <((?:{special})|/(?:{_any_of(NESTING)}))(?={_END})({REST})
        | (<)
        | \Z)""",
        re.VERBOSE,
    )


_BY_FREQUENCY = "dslpitbuheocrvfmnagjkqwxyz"
"""The letters with which tags begin, common ones first: alternatives are tried from left to right."""


def _beginnings_unlike(names: frozenset[str]) -> list[str]:
    """Return alternatives for the first letter of a tag that begins like none of ``names``.

    A cheap test that most tags pass; the few that only begin like one of the names need another.
    """
    initials = {name[0] for name in names}
    choices = [_one_of("".join(sorted(set(_BY_FREQUENCY) - initials)))]
    for initial in sorted(initials, key=_BY_FREQUENCY.index):
        tails = [_either_case(name[1:]) or _END for name in sorted(names) if name[0] == initial]
        choices.append(f"{_one_of(initial)}(?!{'|'.join(tails)})")
    return choices


def _raw_content(name: str) -> str:
    ends = f"/{_either_case(name)}{_END}"
    if name != "script":
        return f"[^<]*+{_many(f'<(?!{ends})[^<]*+')}"
    # A script inside a comment inside a script does not end the outer one ("double escaped", 13.2.5.26).
    inner = f"<{_either_case(name)}{_END}{_many(f'[^<-]++|-(?!->)|<(?!{ends})')}(?:<{ends})?"
    escaped = f"!(?=--){_many(f'[^<-]++|-(?!->)|{inner}|<(?!{ends})')}(?:-->)?"
    return f"[^<]*+{_many(f'<(?!{ends})(?:{escaped})?[^<]*+')}"
