"""How much of what a page says was not said by others of its kind: a sketch in bounded memory, and the template.

Sites print noise: the number that was asked for, the session, words drawn at random. Such words are new and no news.
So parts of URLs count as one word wherever they stand, and a word that stands where the template has another one is
not counted.

What a page says: its text in stretches as they stand between tags, and the files it shows.

How much of the pages may be read for the search of traps: a share of what is fetched, whatever the sites do.

Counted in characters, since the time that a page takes to read grows with these; nothing depends on a clock.
Every page that is fetched gives a little credit to its host and to the crawl, and a page is read when both can pay
for it. What a site has not spent is kept up to a limit, so that the first traps of a site are found at once.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.traps.pattern import SESSION_NAMES, is_token
from webcrawl.urls.fingerprint import fingerprint, fingerprint_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


LOOKED_AT = 1 << 16
"""Characters of a page that are looked at."""
PER_LOOK = 10_000
"""Characters that a page counts for beside those it has."""
PER_PAGE = 3_000
"""Credit that a page gives: of pages as long as most, every thirteenth may be read."""
HOST_MOST = 2_500_000
"""Credit that a host has at first, and can have: for 60 pages of 29 KB, or 200 short ones."""
CRAWL_MOST = 40_000_000
HOSTS_MAX = 10_000


class ReadingBudget:
    """The credit of a crawl and of its hosts; memory is bounded by the number of hosts."""

    def __init__(self) -> None:
        self._crawl = CRAWL_MOST
        self._hosts: OrderedDict[str, int] = OrderedDict()
        """Of the hosts that were met last."""

    def earn(self, host: str) -> None:
        """A page of a host was fetched."""
        self._crawl = min(self._crawl + PER_PAGE, CRAWL_MOST)
        self._hosts[host] = min(self._hosts.pop(host, HOST_MOST) + PER_PAGE, HOST_MOST)
        if len(self._hosts) > HOSTS_MAX:
            self._hosts.popitem(last=False)

    def pay(self, host: str, size: int) -> bool:
        """Whether a page of so many bytes may be read; then it is paid for."""
        price = PER_LOOK + min(size, LOOKED_AT)
        left = self._hosts.get(host, HOST_MOST)
        if price > left or price > self._crawl:
            return False
        self._crawl -= price
        self._hosts[host] = left - price
        return True

    def refill(self, host: str) -> None:
        """A trap of a host was found: the requests that are saved are worth what was read."""
        self._hosts[host] = HOST_MOST


_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_TELLING = re.compile(r"[0-9]+[.,][0-9]+|(?!(?:19|20)[0-9]{6}$|[12][0-9]{9}$)[0-9]{6,}")
"""What a count, a date or the number of a page is not: measurements, prices, and long numbers."""
_SHOWN = re.compile(
    r"<(?:img|video|audio|source|iframe|embed|object)\s[^<>]{0,2000}?(?:src|data)\s{0,5}=\s{0,5}[\"']?([^\"'\s<>#]{1,500})"
)
_FILE = re.compile(r"\.(?:gif|jpe?g|png|webp|svg|ico|js|mp4|webm)$")
_SHOWN_MAX = 200
TOKEN_LENGTH = 8
"""Characters of the shortest token."""
ALPHABETIC_TOKEN = 16
"""Of the shortest without a digit."""
TOKEN_READ = 100
"""Characters by which a longer one is known."""
TEXT_MAX = 8_000
"""Characters of the text of a page that are looked at word by word."""
PIECE = 8_000
"""Characters of HTML that are cut at a time: of a page that says enough at its beginning the rest is not cut."""
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_COMMENT_END = "-->"
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", _COMMENT_END))
_DAY_AND_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[.,](?:0?[1-9]|1[0-2])")
_SIGNATURE = 32
_WORD = re.compile(r"[\w#]+(?:[.,]+[\w#]+)*")
_APART = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_#.,")}
"""Characters of ASCII that stand between words."""
_LINKED = re.compile(r"href\s{0,5}=\s{0,5}[\"']?([^\"'\s<>]{1,2000})")
_LINKED_MAX = 400
_DIGITS = re.compile(r"[0-9]+")
_PIECE = re.compile(rf"[a-z0-9]{{{TOKEN_LENGTH},}}")
_NAMED_SESSION = re.compile(
    rf"[?&;](?:{'|'.join(map(re.escape, sorted(SESSION_NAMES)))})=([a-z0-9_,.-]{{6,}})"
)
_TOLD = re.compile(
    r"<(?:img|meta|area)\s[^<>]{0,2000}?(?:alt|title|content)\s{0,5}=\s{0,5}[\"']([^\"'<>]{1,500})"
)
"""Text that stands in a tag."""
_CLOCK = re.compile(r"\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\b|\b[0-9]+\.[0-9]{2,}(?=\s?(?:s|sec|ms|seconds)\b)")
"""A time of day, and the time that a page took to make: another at each visit."""
_CLOCKS = ("0:0", "0.0")
"""What stands in each of these, with zeros for digits."""
_REQUEST_NAMES = ("request ", "incident ", "trace ", "ray ", "correlation ", "reference ")
_REQUEST_ID = re.compile(
    r"\b((?:request|incident|trace|ray|correlation|reference)\s(?:id|no|number|code)\b\W{0,3})[a-z0-9-]{6,80}"
)
ECHO = "*"
"""What stands for a part of a URL that a page prints."""


class Echoes(NamedTuple):
    """Parts of URLs."""

    tokens: frozenset[str]
    numbers: frozenset[str]


class Shingles:
    """What a page says. Its text is cut out of its HTML piece by piece, as far as it is asked for."""

    def __init__(self, html: str, url: str = "") -> None:
        """``html``: in lower case, without scripts and the like. ``url``: where it was found."""
        self._html = html
        self._url = url
        self._texts: list[str] = []
        """Of the pieces that were cut so far: a zero byte for each tag, numbers as they stand."""
        self._pieces = _pieces(html)

    def each_stretch(self) -> Iterator[str]:
        """Stretches of text as they stand between tags, each once, and never empty. Short whole numbers and dates are
        all alike.
        """
        met: set[str] = set()
        tail = ""
        for text in chain(self._cut(), ["\0"]):
            # Before the next tag a stretch has no end.
            whole, tag, rest = text.rpartition("\0")
            if not tag:
                tail += text
                continue
            text, tail = tail + whole, rest
            parts = zip(text.split("\0"), _digits_alike(text).split("\0"), strict=True)
            for part, digits in dict(parts).items():
                stretch = part.strip()
                if "0" in digits:
                    stretch = _NUMBER.sub(_folded, stretch)
                if stretch and stretch not in met:
                    met.add(stretch)
                    yield stretch

    @cached_property
    def stretches(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self.each_stretch())

    @cached_property
    def shown(self) -> frozenset[str]:
        """Files of images and the like, without their queries."""
        return frozenset(file for path, _ in self._sources if (file := path.partition(";")[0]))

    @cached_property
    def _sources(self) -> list[tuple[str, str]]:
        """Paths and queries of what it shows."""
        found = (match[1].partition("?") for match in islice(_SHOWN.finditer(self._html), _SHOWN_MAX))
        return [(path, query) for path, _, query in found]

    @cached_property
    def echoes(self) -> Echoes:
        """What looks random and what counts, in its own URL and in those that it links to. A page that prints these
        says nothing by it.
        """
        linked = islice(_LINKED.findall(self._html), _LINKED_MAX)
        return _parts_of_urls([self._url.lower(), *linked])

    def words(self) -> list[str]:
        """The first words of the text, with ``ECHO`` for tokens."""
        text = self._beginning[:TEXT_MAX]
        digits = _digits_alike(text)
        if any(clock in digits for clock in _CLOCKS):
            text = "\0".join(
                _CLOCK.sub("#", part) if any(clock in zeros for clock in _CLOCKS) else part
                for part, zeros in zip(text.split("\0"), digits.split("\0"), strict=True)
            )
        found = words_in(text)
        if tokens := self.echoes.tokens:
            found = [ECHO if word in tokens else word for word in found]
        # Of a picture that a program makes it is the query that tells which one it is.
        drawn = (f"?{query}" for path, query in self._sources if query and not _FILE.search(path))
        return [*found, *drawn]

    @property
    def is_short(self) -> bool:
        """Whether ``words`` are all words."""
        return len(self._beginning) <= TEXT_MAX

    @cached_property
    def _beginning(self) -> str:
        """Of all text in its order, what stands in tags included; more than ``TEXT_MAX`` where there is more."""
        told = islice(_TOLD.findall(self._html), _SHOWN_MAX)
        text = "\0".join([*told, ""])
        for piece in self._cut():
            text += piece
            if len(text) > TEXT_MAX:
                break
        return text

    def _cut(self) -> Iterator[str]:
        """The text of one piece after the other; several may read at a time."""
        at = 0
        while True:
            if at == len(self._texts):
                piece = next(self._pieces, None)
                if piece is None:
                    return
                self._texts.append(_text_of(piece))
            yield self._texts[at]
            at += 1

    def without_echoes(self, words: Sequence[str]) -> list[str]:
        """Words of this page, with ``ECHO`` for those that are a part of its URL, or of one that it links to."""
        tokens, numbers = self.echoes
        if tokens.isdisjoint(words) and numbers.isdisjoint(words):
            return list(words)
        return [ECHO if word in tokens or word in numbers else word for word in words]

    def signature(self) -> tuple[int, ...]:
        """A few numbers: the first stands for the whole, of the others pages that say the same have most in common.
        Empty for a page that says nothing.
        """
        said = sorted(fingerprint_all([*{*self.stretches, *self.shown}]))
        return (hash(tuple(said)), *islice(said, _SIGNATURE)) if said else ()


def same(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say the same."""
    return one[:1] == other[:1] != ()


def alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two signatures are of pages that say nearly the same, as far as a sample can tell."""
    return 10 * len({*one[1:]} & {*other[1:]}) >= 9 * (max(len(one), len(other)) - 1) > 0


def wording_of(body: bytes, encoding: str, url: str = "") -> Shingles:
    """``encoding``: a codec of Python. ``url``: of the page. No body makes it raise."""
    html = body[: 2 * LOOKED_AT].decode(encoding, "replace")[:LOOKED_AT].lower()
    for begin, end in _UNSEEN:
        if begin in html:
            html = _without(html, begin, end)
    return Shingles(html, url)


def _pieces(html: str) -> Iterator[str]:
    """Cut HTML where tags begin."""
    at = 0
    while at < len(html):
        end = html.find("<", at + PIECE)
        end = len(html) if end < 0 else end
        yield html[at:end]
        at = end


def _text_of(html: str) -> str:
    """HTML with a zero byte for each tag."""
    text = _TAG.sub("\0", html)
    if any(name in text for name in _REQUEST_NAMES):
        text = _REQUEST_ID.sub(r"\1#", text)
    return text


def words_in(text: str) -> list[str]:
    """The words of a text, in their order; dots and commas inside of them are theirs."""
    if not text.isascii():
        return _WORD.findall(text)
    # Half the time of the expression.
    found = text.translate(_APART).split()
    if "." in text or "," in text:
        found = [word for part in found if (word := part.strip(".,"))]
    return found


def _digits_alike(text: str) -> str:
    """The same text with a zero for each digit: to look for these costs a fraction of what an expression does."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


def _parts_of_urls(urls: list[str]) -> Echoes:
    text = " ".join(urls)
    tokens = {
        piece
        for piece in set(_PIECE.findall(text))
        # Of those without a digit none but the very long are.
        if not (piece.isalpha() and len(piece) < ALPHABETIC_TOKEN) and is_token(piece[:TOKEN_READ])
    }
    if "=" in text:
        for value in _NAMED_SESSION.findall(text):
            tokens.update(words_in(value))
    return Echoes(frozenset(tokens), frozenset(_DIGITS.findall(text)))


def folded(words: Iterable[str]) -> frozenset[str]:
    """Words as they stand in stretches."""
    return frozenset(_NUMBER.sub(_folded, word) for word in words)


def _folded(match: re.Match[str]) -> str:
    number = match[0]
    return number if _TELLING.fullmatch(number) and not _DAY_AND_MONTH.fullmatch(number) else "#"


def _without(text: str, begin: str, end: str) -> str:
    """Take out what lies between two marks; without an end mark all the rest."""
    parts, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        parts.append(text[at:start])
        at = text.find(end, start + len(begin))
        if at < 0:
            return " ".join(parts)
        # What is left of an end tag is one; of the end of a comment it would be text.
        at += len(end) if end == _COMMENT_END else 0
    parts.append(text[at:])
    return " ".join(parts)


BITS = 15
SLOTS = 1 << BITS
"""Bytes of each of the two generations of a sketch."""
LAST = SLOTS - 1
FULL_AT = 6_000
"""Slots in use when a new generation begins: by then one in six that is asked for is in use by chance."""
SHOWN_WEIGHT = 5
"""How many groups of words a file counts for that was not shown before."""
ENOUGH = 400
"""New groups of words after which the rest of a page is not looked at."""
TELLING = 3
"""Characters of a word that says something by itself."""
MARKS_MAX, MARKED_LENGTH = 20_000, 30
"""So many words are remembered with their fingerprints, if they are not longer; 4 MB."""
_NOTHING = bytes(SLOTS)
GROUP = 3
USUAL_SHARE = 0.6
"""Of the pages that were looked at, that have a pair of words: then it belongs to the template."""
LEARN_FIRST, LEARN_EVERY = 4, 8
"""Pages after which the template is made out for the first time, and again and again."""
TEMPLATE_SHARE = 0.2
"""Of what a page says, that its template is at least: what pages have in common by chance is none."""
NOISY_SHARE = 0.15
"""Of the pairs of a template, that one of these pages did not have: then noise stands in its place, for what pages
have of their own stands in the same few places of each.
"""
MISSING_MAX = 0.5
"""A page that has less of the template has another one."""
WHOLE_SHARE = 0.3
"""Of these pages, at most, that had all of a template that is strewn with noise."""
UNSEEN_SHARE = 0.25
"""For each pair of words that is missing: so many others may be noise that is not seen to be."""
PAIRS_MAX = 8_000
"""Pairs that are counted; beyond it those are forgotten that one page had."""
KNOWN_MAX = 20_000

Pair = tuple[str, str] | tuple[str, str, int]
"""Two words that stand side by side, and how many such pairs stand before them, if any."""


class News(NamedTuple):
    """``share``: of what a page says, that is new; ``words``: how many of its words are new by themselves;
    ``files``: how many of those that it shows.
    """

    share: float
    words: int
    files: int = 0


class Sketch:
    """What a kind of pages said lately: stretches of text, groups of three words, words, and files."""

    def __init__(self) -> None:
        self._young = bytearray(SLOTS)
        # Most sketches never get so far that they need one of their own.
        self._old: bytes | bytearray = _NOTHING
        self._used = 0

    def take(self, wording: Shingles, noise: frozenset[str] = frozenset()) -> News:
        """Add a page; what of it is new. ``noise``: words that are no news, nor what they stand in. A page that says
        nothing says nothing new.
        """
        total = new = words = 0
        young = self._young
        for stretch in wording.each_stretch():
            mark = _MARKS[stretch]
            # One place may be in use by chance, three seldom are.
            is_known = young[mark & LAST] and young[mark >> BITS & LAST] and young[mark >> 2 * BITS & LAST]
            if is_known or not self._add((mark, mark >> BITS, mark >> 2 * BITS)):
                # All of it was said in one go before.
                total += max(stretch.count(" ") - 1, 1)
                continue
            found = wording.without_echoes(words_in(stretch) or [stretch])
            marks = list(map(_MARKS.__getitem__, found))
            groups = set(map(hash, zip(marks, marks[1:], marks[2:], strict=False))) or {hash(tuple(marks))}
            total += len(groups)
            telling = {mark for word, mark in zip(found, marks, strict=True) if len(word) >= TELLING}
            if not noise.isdisjoint(found):
                groups = _groups_without(noise, found, marks)
                telling.difference_update(map(_MARKS.__getitem__, noise))
            new += self._add(groups)
            words += self._add(telling)
            if new >= ENOUGH:
                break
        files = self._add(map(fingerprint, wording.shown))
        new += SHOWN_WEIGHT * files
        total += SHOWN_WEIGHT * len(wording.shown)
        if self._used > FULL_AT:
            self._old, self._young, self._used = self._young, bytearray(SLOTS), 0
        return News(new / total if total else 0.0, words, files)

    def _add(self, hashes: Iterable[int]) -> int:
        """How many of them are new."""
        young, old, new, used = self._young, self._old, 0, 0
        for value in hashes:
            slot = value & LAST
            if not young[slot]:
                young[slot] = 1
                used += 1
                new += not old[slot]
        self._used += used
        return new


class _Marks(dict[str, int]):
    """Fingerprints of words and short stretches, remembered: most stand on page after page."""

    def __missing__(self, word: str) -> int:
        mark = fingerprint(word)
        if len(word) <= MARKED_LENGTH:
            if len(self) >= MARKS_MAX:
                self.clear()
            self[word] = mark
        return mark


_MARKS = _Marks()


def _groups_without(noise: frozenset[str], words: list[str], marks: list[int]) -> set[int]:
    """The groups of a stretch that no noise stands in."""
    if len(words) < GROUP:
        return set()
    return {
        hash(tuple(marks[at : at + GROUP]))
        for at in range(len(words) - GROUP + 1)
        if noise.isdisjoint(words[at : at + GROUP])
    }


class Likeness(NamedTuple):
    """A page beside the template of its kind. ``noise``: words that stand where the template has others, with their
    numbers as in stretches.
    """

    noise: frozenset[str] = frozenset()
    is_hollow: bool = False
    """Whether it says nothing but what the template says, and noise."""
    unseen: int = 0
    """Words more that may be noise."""


def _pairs_of(words: Sequence[str]) -> set[Pair]:
    """Words that stand side by side; a pair that is there again is another one."""
    counts = Counter(pairwise(words))
    pairs: set[Pair] = set(counts)
    again = [(pair, count) for pair, count in counts.items() if count > 1]
    pairs.update((*pair, at) for pair, count in again for at in range(1, count))
    return pairs


class Template:
    """What the pages of a kind have in common, word after word, as it was in the last few that were looked at."""

    def __init__(self) -> None:
        self.is_noisy: bool | None = None
        """Whether its pages are strewn with other words; None as long as too few were looked at."""
        self._pages = self._whole = 0
        self._counts: Counter[Pair] = Counter()
        self._usual: frozenset[Pair] = frozenset()
        self._known: set[int] = set()
        """Pairs that two pages had, where there is noise: by chance not each of a template's is usual."""

    @property
    def usual(self) -> frozenset[Pair]:
        """The pairs of words that most pages have."""
        return self._usual

    def take(self, words: Sequence[str]) -> Likeness:
        """Add a page, and compare it with those before."""
        pairs = _pairs_of(words)
        likeness = self._compare(pairs)
        self._learn(pairs)
        return likeness

    def _compare(self, pairs: set[Pair]) -> Likeness:
        usual = self._usual
        missing = usual - pairs
        self._whole += not missing
        if not usual or len(missing) > MISSING_MAX * len(usual):
            return Likeness()
        strange = pairs - usual
        if not self.is_noisy:
            return Likeness(is_hollow=not strange)
        before, behind = {pair[0] for pair in missing}, {pair[1] for pair in missing}
        noise = {pair[1] for pair in strange if pair[0] in before}
        noise |= {pair[0] for pair in strange if pair[1] in behind}
        others = [pair for pair in strange if noise.isdisjoint(pair[:2])]
        unknown = sum(hash(pair) not in self._known for pair in others)
        # Where two of them stand side by side they are not told from what is new.
        unseen = int(UNSEEN_SHARE * len(missing))
        return Likeness(folded(noise), unknown <= unseen, unseen)

    def _learn(self, pairs: set[Pair]) -> None:
        self._pages += 1
        self._counts.update(pairs)
        if len(self._counts) > PAIRS_MAX:
            self._counts = Counter({pair: count for pair, count in self._counts.items() if count > 1})
        is_young = self.is_noisy is None
        if self._pages < LEARN_EVERY and not (is_young and self._pages == LEARN_FIRST):
            return
        least = USUAL_SHARE * self._pages
        usual = [pair for pair, count in self._counts.items() if count >= least]
        if self._pages == LEARN_EVERY:
            # Pages of two templates, or with a part that some do not have, are whole for the most part.
            broken = sum(self._counts[pair] < self._pages for pair in usual)
            compared = self._pages - LEARN_FIRST if is_young else self._pages
            self.is_noisy = (
                len(usual) >= TEMPLATE_SHARE * self._counts.total() / self._pages
                and broken >= NOISY_SHARE * len(usual)
                and self._whole <= WHOLE_SHARE * compared
            )
            if self.is_noisy:
                self._known.update(hash(pair) for pair, count in self._counts.items() if count > 1)
                if len(self._known) > KNOWN_MAX:
                    self._known.clear()
            self._pages = 0
            self._counts.clear()
        self._whole = 0
        self._usual = frozenset(usual)
