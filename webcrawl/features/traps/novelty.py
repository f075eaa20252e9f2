"""Novelty of pages: which part of a page's content other pages of its kind do not have, and how much is read to find
out.

``Shingles`` is the content of a page: the stretches of text between its tags, and the files it shows. ``Sketch``
remembers the content of a kind of pages in bounded memory; ``Template`` learns the part that they have in common.
Sites print noise: the requested number, the session, random words. So parts of URLs count as one word, and a word in
a place where the template has another word is not counted.

``ReadingBudget`` bounds the share of fetched pages that is read. It counts characters, since the time to read a page
grows with them; nothing depends on a clock. Every fetched page gives a little credit to its host and to the crawl,
and a page is read if both can pay for it. Unspent credit of a host accumulates up to a limit, so that its first traps
are found at once.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.features.traps.pattern import SESSION_NAMES, is_token
from webcrawl.urls.fingerprint import fingerprint, fingerprint_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


LOOKED_AT = 1 << 16
"""Maximum number of characters of a page that are read."""
PER_LOOK = 10_000
"""Fixed price of reading a page, in characters, in addition to its length."""
PER_PAGE = 3_000
"""Credit for each fetched page: of pages of usual length, every thirteenth may be read."""
HOST_MOST = 2_500_000
"""Initial and maximum credit of a host: for 60 pages of 29 KB, or 200 short ones."""
CRAWL_MOST = 40_000_000
SAVED_BY_A_TRAP = 2 * HOST_MOST
"""Credit of the crawl for each trap that is found: the saved requests outweigh the cost of this reading."""
HOSTS_MAX = 10_000


class ReadingBudget:
    """Credit of a crawl and of its hosts; the number of hosts bounds its memory."""

    def __init__(self) -> None:
        self._crawl = CRAWL_MOST
        self._hosts: OrderedDict[str, int] = OrderedDict()
        """Credit of the most recent hosts."""

    def earn(self, host: str) -> None:
        """Add the credit for a fetched page."""
        self._crawl = min(self._crawl + PER_PAGE, CRAWL_MOST)
        self._hosts[host] = min(self._hosts.pop(host, HOST_MOST) + PER_PAGE, HOST_MOST)
        if len(self._hosts) > HOSTS_MAX:
            self._hosts.popitem(last=False)

    def pay(self, host: str, size: int) -> bool:
        """Return whether a page of ``size`` bytes may be read; if so, subtract its price."""
        price = PER_LOOK + min(size, LOOKED_AT)
        left = self._hosts.get(host, HOST_MOST)
        if price > left or price > self._crawl:
            return False
        self._crawl -= price
        self._hosts[host] = left - price
        return True

    def refill(self, host: str) -> None:
        """Restore the full credit of a host on which a trap was found, and add to that of the crawl."""
        self._hosts[host] = HOST_MOST
        self._crawl = min(self._crawl + SAVED_BY_A_TRAP, CRAWL_MOST)


_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_SPECIFIC = re.compile(r"[0-9]+[.,][0-9]+|(?!(?:19|20)[0-9]{6}$|[12][0-9]{9}$)[0-9]{6,}")
"""Numbers that are no counts, dates or page numbers: measurements, prices, and long numbers."""
_SHOWN = re.compile(
    r"<(?:img|video|audio|source|iframe|embed|object)\s[^<>]{0,2000}?(?:src|data)\s{0,5}=\s{0,5}[\"']?([^\"'\s<>#]{1,500})"
)
_FILE = re.compile(r"\.(?:gif|jpe?g|png|webp|svg|ico|js|mp4|webm)$")
_SHOWN_MAX = 200
TOKEN_LENGTH = 8
"""Minimum length of a token."""
ALPHABETIC_TOKEN = 16
"""Minimum length of a token without a digit."""
TOKEN_READ = 100
"""Number of characters by which a longer token is classified."""
TEXT_MAX = 8_000
"""Maximum number of characters of a page's text that are compared word by word."""
PIECE = 8_000
"""Characters of HTML that are converted to text at a time; the rest is not converted if the beginning has enough new
content."""
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_COMMENT_END = "-->"
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", _COMMENT_END))
_DAY_AND_MONTH = re.compile(r"(?:0?[1-9]|[12]\d|3[01])[.,](?:0?[1-9]|1[0-2])")
_SIGNATURE = 32
_WORD = re.compile(r"[\w#]+(?:[.,]+[\w#]+)*")
_APART = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_#.,")}
"""ASCII characters that separate words."""
_LINKED = re.compile(r"href\s{0,5}=\s{0,5}[\"']?([^\"'\s<>]{1,2000})")
_LINKED_MAX = 400
_DIGITS = re.compile(r"[0-9]+")
_PIECE = re.compile(rf"[a-z0-9]{{{TOKEN_LENGTH},}}")
_NAMED_SESSION = re.compile(
    rf"[?&;](?:{'|'.join(map(re.escape, sorted(SESSION_NAMES)))})=([a-z0-9_,.-]{{6,}})"
)
_TAG_TEXT = re.compile(
    r"<(?:img|meta|area)\s[^<>]{0,2000}?(?:alt|title|content)\s{0,5}=\s{0,5}[\"']([^\"'<>]{1,500})"
)
"""Text inside tags."""
_CLOCK = re.compile(r"\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\b|\b[0-9]+\.[0-9]{2,}(?=\s?(?:s|sec|ms|seconds)\b)")
"""A time of day, or the time to generate the page: different at each visit."""
_CLOCKS = ("0:0", "0.0")
"""Substrings that every match of ``_CLOCK`` contains, with zeros for digits."""
_REQUEST_NAMES = ("request ", "incident ", "trace ", "ray ", "correlation ", "reference ")
_REQUEST_ID = re.compile(
    r"\b((?:request|incident|trace|ray|correlation|reference)\s(?:id|no|number|code)\b\W{0,3})[a-z0-9-]{6,80}"
)
ECHO = "*"
"""Placeholder for a part of a URL that a page prints."""


class Echoes(NamedTuple):
    """Parts of URLs that a page may print."""

    tokens: frozenset[str]
    numbers: frozenset[str]


class Shingles:
    """Content of a page. Its text is extracted from the HTML piece by piece, only as far as needed."""

    def __init__(self, html: str, url: str = "") -> None:
        """``html``: in lower case, without scripts and the like. ``url``: the URL of the page."""
        self._html = html
        self._url = url
        self._texts: list[str] = []
        """Texts of the pieces extracted so far: a zero byte for each tag, numbers unchanged."""
        self._pieces = _pieces(html)

    def each_stretch(self) -> Iterator[str]:
        """Yield the stretches of text between tags, each once and never empty. All short whole numbers and dates are
        replaced by the same character."""
        yielded: set[str] = set()
        tail = ""
        for text in chain(self._cut(), ["\0"]):
            # Before the next tag, a stretch has no end.
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
                if stretch and stretch not in yielded:
                    yielded.add(stretch)
                    yield stretch

    @cached_property
    def stretches(self) -> tuple[str, ...]:
        """All stretches."""
        return tuple(self.each_stretch())

    @cached_property
    def shown(self) -> frozenset[str]:
        """Files of images and the like, without their queries."""
        return frozenset(file for path, _ in self._sources if (file := path.partition(";")[0]))

    @cached_property
    def _sources(self) -> list[tuple[str, str]]:
        """Paths and queries of the files that the page shows."""
        shown = (match[1].partition("?") for match in islice(_SHOWN.finditer(self._html), _SHOWN_MAX))
        return [(path, query) for path, _, query in shown]

    @cached_property
    def echoes(self) -> Echoes:
        """Tokens and numbers in the page's own URL and in those it links to. They are no content where the page
        prints them."""
        linked = islice(_LINKED.findall(self._html), _LINKED_MAX)
        return _parts_of_urls([self._url.lower(), *linked])

    def words(self) -> list[str]:
        """Return the first words of the text, with ``ECHO`` for tokens of URLs."""
        text = self._beginning[:TEXT_MAX]
        digits = _digits_alike(text)
        if any(clock in digits for clock in _CLOCKS):
            text = "\0".join(
                _CLOCK.sub("#", part) if any(clock in zeros for clock in _CLOCKS) else part
                for part, zeros in zip(text.split("\0"), digits.split("\0"), strict=True)
            )
        words = words_in(text)
        if tokens := self.echoes.tokens:
            words = [ECHO if word in tokens else word for word in words]
        # An image that a program generates is identified by its query.
        drawn = (f"?{query}" for path, query in self._sources if query and not _FILE.search(path))
        return [*words, *drawn]

    @property
    def is_short(self) -> bool:
        """True if ``words`` returns all words of the page."""
        return len(self._beginning) <= TEXT_MAX

    @cached_property
    def _beginning(self) -> str:
        """The beginning of the text, including text inside tags; longer than ``TEXT_MAX`` if the page has more."""
        tag_texts = islice(_TAG_TEXT.findall(self._html), _SHOWN_MAX)
        text = "\0".join([*tag_texts, ""])
        for piece in self._cut():
            text += piece
            if len(text) > TEXT_MAX:
                break
        return text

    def _cut(self) -> Iterator[str]:
        """Yield the text of one piece after another; several iterators may run at the same time."""
        at = 0
        while True:
            if at == len(self._texts):
                piece = next(self._pieces, None)
                if piece is None:
                    return
                self._texts.append(_blank_tags(piece))
            yield self._texts[at]
            at += 1

    def without_echoes(self, words: Sequence[str]) -> list[str]:
        """Return words of this page, with ``ECHO`` for those that are a part of its URL or of one that it
        links to.
        """
        tokens, numbers = self.echoes
        if tokens.isdisjoint(words) and numbers.isdisjoint(words):
            return list(words)
        return [ECHO if word in tokens or word in numbers else word for word in words]

    def signature(self) -> tuple[int, ...]:
        """Return a few numbers: the first is a hash of the whole content; pages with nearly the same content share
        most of the others. Empty for a page without content."""
        fingerprints = sorted(fingerprint_all([*{*self.stretches, *self.shown}]))
        return (hash(tuple(fingerprints)), *islice(fingerprints, _SIGNATURE)) if fingerprints else ()


def same(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two signatures are of pages with the same content."""
    return one[:1] == other[:1] != ()


def alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two signatures are of pages with nearly the same content, as far as a sample shows."""
    return 10 * len({*one[1:]} & {*other[1:]}) >= 9 * (max(len(one), len(other)) - 1) > 0


def page_shingles(body: bytes, encoding: str, url: str = "") -> Shingles:
    """Return the content of a page. ``encoding``: a codec of Python. ``url``: of the page. No body makes it raise."""
    html = body[: 2 * LOOKED_AT].decode(encoding, "replace")[:LOOKED_AT].lower()
    for begin, end in _UNSEEN:
        if begin in html:
            html = _without(html, begin, end)
    return Shingles(html, url)


def _pieces(html: str) -> Iterator[str]:
    """Split HTML at the beginning of tags."""
    at = 0
    while at < len(html):
        end = html.find("<", at + PIECE)
        end = len(html) if end < 0 else end
        yield html[at:end]
        at = end


def _blank_tags(html: str) -> str:
    """Return HTML with a zero byte for each tag."""
    text = _TAG.sub("\0", html)
    if any(name in text for name in _REQUEST_NAMES):
        text = _REQUEST_ID.sub(r"\1#", text)
    return text


def words_in(text: str) -> list[str]:
    """Return the words of a text, in order; dots and commas inside a word belong to it."""
    if not text.isascii():
        return _WORD.findall(text)
    # Half the time of the regular expression.
    words = text.translate(_APART).split()
    if "." in text or "," in text:
        words = [word for part in words if (word := part.strip(".,"))]
    return words


def _digits_alike(text: str) -> str:
    """Return the text with a zero for each digit: searching for these costs a fraction of a regular expression."""
    return text.encode("utf-8", "surrogatepass").translate(_ZEROS).decode("utf-8", "surrogatepass")


def _parts_of_urls(urls: list[str]) -> Echoes:
    text = " ".join(urls)
    tokens = {
        piece
        for piece in set(_PIECE.findall(text))
        # Of pieces without a digit, only very long ones are tokens.
        if not (piece.isalpha() and len(piece) < ALPHABETIC_TOKEN) and is_token(piece[:TOKEN_READ])
    }
    if "=" in text:
        for value in _NAMED_SESSION.findall(text):
            tokens.update(words_in(value))
    return Echoes(frozenset(tokens), frozenset(_DIGITS.findall(text)))


def folded(words: Iterable[str]) -> frozenset[str]:
    """Return words with their numbers replaced as in stretches."""
    return frozenset(_NUMBER.sub(_folded, word) for word in words)


def _folded(match: re.Match[str]) -> str:
    number = match[0]
    return number if _SPECIFIC.fullmatch(number) and not _DAY_AND_MONTH.fullmatch(number) else "#"


def _without(text: str, begin: str, end: str) -> str:
    """Remove the text between two marks; without an end mark, remove all the rest."""
    parts, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        parts.append(text[at:start])
        at = text.find(end, start + len(begin))
        if at < 0:
            return " ".join(parts)
        # The rest of an end tag is a tag; the rest of the end of a comment would be text.
        at += len(end) if end == _COMMENT_END else 0
    parts.append(text[at:])
    return " ".join(parts)


BITS = 15
SLOTS = 1 << BITS
"""Size in bytes of each of the two generations of a sketch."""
LAST = SLOTS - 1
FULL_AT = 6_000
"""Number of used slots at which a new generation begins: by then one look-up in six hits a used slot by chance."""
SHOWN_WEIGHT = 5
"""Number of word groups that a file counts for."""
ENOUGH = 400
"""Number of new word groups after which the rest of a page is not read."""
SPECIFIC_LENGTH = 3
"""Minimum length of a word that counts by itself."""
CACHED_MAX, CACHED_LENGTH = 20_000, 30
"""Up to ``CACHED_MAX`` words of at most ``CACHED_LENGTH`` characters are cached with their fingerprints; 4 MB."""
_NOTHING = bytes(SLOTS)
GROUP = 3
USUAL_SHARE = 0.6
"""Minimum share of the examined pages that have a word pair for it to belong to the template."""
LEARN_FIRST, LEARN_EVERY = 4, 8
"""Numbers of pages after which the template is learned for the first time, and then again each time."""
TEMPLATE_SHARE = 0.2
"""Minimum share of a page's content that is its template: less may be common by chance."""
NOISY_SHARE = 0.15
"""Minimum share of a template's pairs that at least one of these pages lacks for it to contain noise: the pages' own
content is in the same few places of each."""
MISSING_MAX = 0.5
"""A page that lacks more than this share of the template has another template."""
WHOLE_SHARE = 0.3
"""Maximum share of these pages that have all of a template that contains noise."""
UNSEEN_SHARE = 0.25
"""Number of additional pairs that may be undetected noise, for each missing pair."""
PAIRS_MAX = 8_000
"""Maximum number of counted pairs; above it, pairs that only one page had are dropped."""
KNOWN_MAX = 20_000
SHARED_PAIRS_MAX = 2_000
"""Maximum number of counted pairs that other processes get."""

Pair = tuple[str, str] | tuple[str, str, int]
"""Two adjacent words, and the number of the same pairs before them, if any."""


class News(NamedTuple):
    """``share``: share of the content that is new; ``words``: number of words that are new by themselves; ``files``:
    number of shown files that are new."""

    share: float
    words: int
    files: int = 0


class Sketch:
    """Recent content of a kind of pages: stretches of text, groups of three words, words, and files."""

    def __init__(self) -> None:
        self._young = bytearray(SLOTS)
        # Most sketches never fill one generation, so they share an empty old one.
        self._old: bytes | bytearray = _NOTHING
        self._used = 0

    def take(self, shingles: Shingles, noise: frozenset[str] = frozenset()) -> News:
        """Add a page; return its news. ``noise``: words that do not count, nor the groups that contain them. A page
        without content has no news."""
        total = new = words = 0
        young = self._young
        for stretch in shingles.each_stretch():
            value = _FINGERPRINTS[stretch]
            # One slot may be used by chance, three rarely are.
            is_known = young[value & LAST] and young[value >> BITS & LAST] and young[value >> 2 * BITS & LAST]
            if is_known or not self._add((value, value >> BITS, value >> 2 * BITS)):
                # The whole stretch was seen before.
                total += max(stretch.count(" ") - 1, 1)
                continue
            stretch_words = shingles.without_echoes(words_in(stretch) or [stretch])
            fingerprints = list(map(_FINGERPRINTS.__getitem__, stretch_words))
            groups = set(map(hash, zip(fingerprints, fingerprints[1:], fingerprints[2:], strict=False))) or {
                hash(tuple(fingerprints))
            }
            total += len(groups)
            specific = {
                value
                for word, value in zip(stretch_words, fingerprints, strict=True)
                if len(word) >= SPECIFIC_LENGTH
            }
            if not noise.isdisjoint(stretch_words):
                groups = _groups_without(noise, stretch_words, fingerprints)
                specific.difference_update(map(_FINGERPRINTS.__getitem__, noise))
            new += self._add(groups)
            words += self._add(specific)
            if new >= ENOUGH:
                break
        files = self._add(map(fingerprint, shingles.shown))
        new += SHOWN_WEIGHT * files
        total += SHOWN_WEIGHT * len(shingles.shown)
        if self._used > FULL_AT:
            self._old, self._young, self._used = self._young, bytearray(SLOTS), 0
        return News(new / total if total else 0.0, words, files)

    def packed(self) -> bytes:
        """Return all of it: most of its bytes are zero."""
        old = b"" if self._old is _NOTHING else self._old
        return bytes(self._young) + old

    @classmethod
    def unpacked(cls, packed: bytes) -> Sketch:
        """Return what ``packed`` was made of. :raises ValueError: it is of another length"""
        if len(packed) not in (SLOTS, 2 * SLOTS):
            raise ValueError(f"a sketch has {len(packed)} bytes")
        sketch = cls()
        sketch._young = bytearray(packed[:SLOTS])
        sketch._old = packed[SLOTS:] or _NOTHING
        sketch._used = SLOTS - sketch._young.count(0)
        return sketch

    def _add(self, hashes: Iterable[int]) -> int:
        """Add hashes; return how many are new. They are the same in each process: hashes of numbers are."""
        young, old, new, used = self._young, self._old, 0, 0
        for value in hashes:
            slot = value & LAST
            if not young[slot]:
                young[slot] = 1
                used += 1
                new += not old[slot]
        self._used += used
        return new


class _Fingerprints(dict[str, int]):
    """Cache of fingerprints of words and short stretches: most occur on page after page."""

    def __missing__(self, word: str) -> int:
        value = fingerprint(word)
        if len(word) <= CACHED_LENGTH:
            if len(self) >= CACHED_MAX:
                self.clear()
            self[word] = value
        return value


_FINGERPRINTS = _Fingerprints()


def _groups_without(noise: frozenset[str], words: list[str], fingerprints: list[int]) -> set[int]:
    """Return the groups of a stretch that contain no noise."""
    if len(words) < GROUP:
        return set()
    return {
        hash(tuple(fingerprints[at : at + GROUP]))
        for at in range(len(words) - GROUP + 1)
        if noise.isdisjoint(words[at : at + GROUP])
    }


class Likeness(NamedTuple):
    """Comparison of a page with the template of its kind. ``noise``: words in places where the template has other
    words, with their numbers as in stretches."""

    noise: frozenset[str] = frozenset()
    is_hollow: bool = False
    """True if the page has no content besides the template and noise."""
    unseen: int = 0
    """Number of further words that may be noise."""


def _adjacent_pairs(words: Sequence[str]) -> set[Pair]:
    """Return the pairs of adjacent words; a repeated pair counts as a different one."""
    counts = Counter(pairwise(words))
    pairs: set[Pair] = set(counts)
    again = [(pair, count) for pair, count in counts.items() if count > 1]
    pairs.update((*pair, at) for pair, count in again for at in range(1, count))
    return pairs


def _stable_hash(pair: Pair) -> int:
    """Return a number that is the same in each process of a crawl."""
    return fingerprint("\0".join(map(str, pair)))


class Template:
    """Common content of the pages of a kind, word by word, learned from the last few examined pages."""

    def __init__(self) -> None:
        self.is_noisy: bool | None = None
        """True if the pages contain noise; None until enough pages were examined."""
        self._pages = self._whole = 0
        self._counts: Counter[Pair] = Counter()
        self._usual: frozenset[Pair] = frozenset()
        self._known: set[int] = set()
        """Pairs that two pages had, if there is noise: by chance not every pair of a template is usual."""

    @property
    def usual(self) -> frozenset[Pair]:
        """Word pairs that most pages have."""
        return self._usual

    def as_plain(self) -> dict[str, Any]:
        """Return what was learned as values that JSON has. The pages since are left out if they are long."""
        is_short = len(self._counts) <= SHARED_PAIRS_MAX
        return {
            "noisy": self.is_noisy,
            "usual": sorted(self._usual, key=str),
            "known": sorted(self._known),
            "pages": self._pages if is_short else 0,
            "whole": self._whole if is_short else 0,
            "counts": [[*pair, count] for pair, count in self._counts.items()] if is_short else [],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Template:
        """Return what ``as_plain`` was made of. :raises TypeError, KeyError: it is of another form"""
        template = cls()
        template.is_noisy = plain["noisy"]
        template._usual = frozenset(tuple(pair) for pair in plain["usual"])
        template._known = set(plain["known"])
        template._pages, template._whole = int(plain["pages"]), int(plain["whole"])
        template._counts = Counter({tuple(pair): int(count) for *pair, count in plain["counts"]})
        return template

    def take(self, words: Sequence[str]) -> Likeness:
        """Add a page; return its comparison with the pages before."""
        pairs = _adjacent_pairs(words)
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
        unknown = sum(_stable_hash(pair) not in self._known for pair in others)
        # Two adjacent noise words cannot be distinguished from new content.
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
            # Pages of two templates, or with an optional part, mostly have the whole template.
            broken = sum(self._counts[pair] < self._pages for pair in usual)
            compared = self._pages - LEARN_FIRST if is_young else self._pages
            self.is_noisy = (
                len(usual) >= TEMPLATE_SHARE * self._counts.total() / self._pages
                and broken >= NOISY_SHARE * len(usual)
                and self._whole <= WHOLE_SHARE * compared
            )
            if self.is_noisy:
                self._known.update(_stable_hash(pair) for pair, count in self._counts.items() if count > 1)
                if len(self._known) > KNOWN_MAX:
                    self._known.clear()
            self._pages = 0
            self._counts.clear()
        self._whole = 0
        self._usual = frozenset(usual)
