"""The regular expressions of the project, and texts made from them that make a backtracking engine work."""

import ast
import functools
import importlib
import itertools
import re
import time
from re import _constants as codes
from re import _parser as parser

from tests.test_architecture import FILES, name_of

COMPILES = ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
ENGINES = ("re",)
"""``re2`` takes linear time for every expression."""
WAYS = ("match", "fullmatch", "search", "sub")


class Expression:
    """An expression where it is written."""

    def __init__(self, module, line, pattern, ways, local):
        self.module = module
        self.line = line
        self.pattern = pattern
        """The compiled expression; None if it is known at run time only."""
        self.ways = ways
        self.local = local
        """The source of an expression that is known at run time only."""

    @property
    def name(self):
        return f"{self.module}: {self.pattern.pattern if self.pattern is not None else self.local}"


def calls(tree):
    """Every call of a function of ``re``, with the name that its result gets."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for call in ast.walk(node.value):
                names[call] = next((each.id for each in targets if isinstance(each, ast.Name)), None)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in ENGINES
            and node.func.attr in COMPILES
        ):
            yield node, names.get(node)


def ways_of(tree, call, name):
    """The methods by which an expression is used in its module; all if that cannot be told."""
    if call.func.attr != "compile":
        return {call.func.attr}
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (
            node.value is call or (isinstance(node.value, ast.Name) and node.value.id == name)
        ):
            used.add(node.attr)
    return used & set(COMPILES) or set(WAYS)


def _value(node, module, known):
    """The value of an expression of the project's own code."""
    return eval(compile(ast.Expression(node), module, "eval"), known)  # noqa: S307


@functools.cache
def modules():
    """The source of each module that may have expressions, by its name."""
    sources = {name_of(path): path.read_text(encoding="utf-8") for path in FILES}
    uses = [f"import {engine}\n" for engine in ENGINES]
    return {name: text for name, text in sources.items() if any(use in text for use in uses)}


@functools.cache
def expressions():
    """All expressions in the project's code."""
    found = []
    for module, text in modules().items():
        tree = ast.parse(text)
        known = vars(importlib.import_module(f"webcrawl.{module}"))
        for call, name in calls(tree):
            ways = ways_of(tree, call, name)
            try:
                first, *more = call.args[: 2 if call.func.attr == "compile" else 1]
                expression = _value(first, module, known)
                flags = _value(more[0], module, known) if more else 0
                pattern = re.compile(expression, flags)
            except NameError:
                pattern = None
            found.append(Expression(module, call.lineno, pattern, ways, ast.unparse(call.args[0])))
        # Those that a loop of the module has made.
        for name, value in known.items():
            values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
            for each in values:
                if isinstance(each, re.Pattern):
                    found.append(Expression(module, 0, each, set(WAYS), name))  # noqa: PERF401 - reads better
    return found


# -- hostile texts -------------------------------------------------------------------------------------------


class Sampler:
    """Texts that parts of an expression match, and the loops in it with what comes before them."""

    def __init__(self, is_bytes):
        self._is_bytes = is_bytes
        self.loops = []
        """Pairs of a text that leads to a loop and one that the loop repeats."""

    def text(self, parsed, before=""):
        """A shortest text of a sequence of items."""
        text = ""
        for code, given in parsed:
            text += self._item(code, given, before + text)
        return text

    def _item(self, code, given, before):
        if code is codes.LITERAL:
            return chr(given)
        if code is codes.NOT_LITERAL:
            return "a" if given != ord("a") else "b"
        if code is codes.ANY:
            return "a"
        if code is codes.IN:
            return self._of_class(given)
        if code is codes.BRANCH:
            texts = [self.text(branch, before) for branch in given[1]]
            return min(texts, key=len)
        if code is codes.SUBPATTERN:
            return self.text(given[-1], before)
        if code is codes.ATOMIC_GROUP:
            return self.text(given, before)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, most, body = given
            once = self.text(body, before)
            if most > 3 and once:
                self.loops.append((before, once))
                for _, (inner, *_) in zip(range(8), self._alternatives(body), strict=False):
                    self.loops.append((before, inner))
            return once * min(least, 8)
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            self.text(given[1], before)
        return ""

    def _alternatives(self, body):
        """Further texts of a loop: one for each member of a class, and for each branch."""
        for code, given in body:
            if code is codes.IN:
                for op, value in given:
                    if op is codes.RANGE:
                        yield (chr(value[0]),)
                    elif op is codes.LITERAL:
                        yield (chr(value),)
            elif code is codes.BRANCH:
                for branch in given[1]:
                    if text := Sampler(self._is_bytes).text(branch):
                        yield (text,)

    def _of_class(self, given):
        negated = given[0][0] is codes.NEGATE
        for candidate in map(chr, itertools.chain(b"a1 /=-x\n<;", range(33, 256))):
            if self._is_in(candidate, given[1:] if negated else given) != negated:
                return candidate
        return "a"

    @staticmethod
    def _is_in(candidate, members):
        number = ord(candidate)
        for op, value in members:
            if op is codes.LITERAL and value == number:
                return True
            if op is codes.RANGE and value[0] <= number <= value[1]:
                return True
            if op is codes.CATEGORY:
                word = str(value).removeprefix("CATEGORY_")
                there = {
                    "DIGIT": candidate.isdigit(),
                    "SPACE": candidate.isspace(),
                    "WORD": candidate.isalnum() or candidate == "_",
                }[word.removeprefix("NOT_")]
                if there != word.startswith("NOT_"):
                    return True
        return False


@functools.cache
def hostile_units(pattern, flags):
    """Pairs of a beginning and a text to repeat behind it."""
    is_bytes = isinstance(pattern, bytes)
    parsed = parser.parse(pattern, flags & ~re.DEBUG)
    sampler = Sampler(is_bytes)
    whole = sampler.text(parsed)
    units = dict.fromkeys(sampler.loops)
    units |= dict.fromkeys(("", text) for _, text in sampler.loops)
    # What leads to a loop and its first repetition, again and again: each may begin a search for an end.
    units |= dict.fromkeys(("", before + text) for before, text in sampler.loops)
    units |= dict.fromkeys(("", before) for before, _ in sampler.loops if before)
    if whole:
        units |= dict.fromkeys([("", whole), ("", whole[:-1] or whole), ("", whole[0])])
    return list(units)[:UNITS_MAX]


UNITS_MAX = 30
"""The number of beginnings that are tried for an expression."""
ENDS = ("", "\x00!\n>")
"""Texts that end a hostile one: most expressions do not match then."""


def hostile_texts(pattern, flags, length):
    """Texts of about this length."""
    for beginning, unit in hostile_units(pattern, flags):
        for end in ENDS:
            text = beginning + unit * (length // len(unit)) + end
            yield text.encode("latin-1", "replace") if isinstance(pattern, bytes) else text


def seconds_of(function, text):
    """The CPU time of this thread: that of other processes does not count."""
    began = time.thread_time()
    function(text)
    return time.thread_time() - began


SHORT = 8_000
"""The length of the texts of which the slowest are tried at all sizes."""
SLOWEST = 2
SIZES = (40_000, 80_000, 160_000)
SECONDS_PER_CHARACTER = 2e-6
"""Some twenty times the time of the slowest expression that is linear."""
SECONDS_LEAST = 0.005


def excess(function, texts_of, short=SHORT, per_character=SECONDS_PER_CHARACTER, sizes=SIZES):
    """What takes more than linear time: the length of the text, its beginning, and the seconds; None if nothing does.

    Most expressions that are not linear are found by the short texts: longer ones would take them minutes.
    """
    times = []
    for number, text in enumerate(texts_of(short)):
        seconds = seconds_of(function, text)
        times.append((seconds / max(len(text), 1), number))
        limit = SECONDS_LEAST + per_character * len(text)
        if seconds > limit and (seconds := at_least(function, text, per_character)) is not None:
            return len(text), text[:60], round(seconds, 3)
    slowest = {number for _, number in sorted(times)[-SLOWEST:]}
    for length in sizes:
        for number, text in enumerate(texts_of(length)):
            if number in slowest and (seconds := at_least(function, text, per_character)) is not None:
                return len(text), text[:60], round(seconds, 3)
    return None


def at_least(function, text, per_character):
    """The seconds that a text takes, the shorter of two times; None if they are in proportion to its length."""
    limit = SECONDS_LEAST + per_character * len(text)
    if (seconds := seconds_of(function, text)) <= limit:
        return None
    seconds = min(seconds, seconds_of(function, text))
    return seconds if seconds > limit else None
