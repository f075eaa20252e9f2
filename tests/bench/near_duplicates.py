"""Near-duplicates: how well sketches tell them apart on made pairs, beside other methods, and what they cost.

The pairs are made of the topics of Python's own documentation, which come with it. datasketch and rensa are installed
into a folder of their own, which is deleted at the end.
"""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
import time
from pydoc_data.topics import topics
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_intdigest

from tests.bench import crawls
from tests.fakeweb.process import serve_in_process
from webcrawl.processing.contract import Content
from webcrawl.processing.main_text import main_text
from webcrawl.processing.text_sketch import ERRORS, RECORDED, hashes_in, resemblance, sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

PACKAGES = ("datasketch==1.10.0", "rensa==0.2.9")
Text = list[str]
"""Words."""


class Pair(NamedTuple):
    """Two texts, how they differ, and whether they count as nearly the same."""

    kind: str
    is_near: bool
    one: str
    other: str


def articles() -> list[Text]:
    """Pieces of documentation, of 80 words and more."""
    found: list[Text] = []
    for name in sorted(topics):
        words, length = [], random.Random(name).choice([80, 120, 200, 350, 600, 1000])
        for word in topics[name].split():
            words.append(word)
            if len(words) == length:
                found.append(words)
                words = []
    return found


def pairs() -> Iterator[Pair]:
    """Yield near pairs and others of each article; the same each time."""
    texts = articles()
    vocabulary = sorted({word for words in texts for word in words})
    for number, words in enumerate(texts):
        chance = random.Random(number)
        count = len(words)
        other = texts[(number + len(texts) // 2) % len(texts)]
        behind = texts[number + 1 :] + texts[:number]
        more = [word for text in behind[5:20] for word in text][:count]

        def changed(share: float, words: Text = words, chance: random.Random = chance) -> Text:
            copy = list(words)
            for place in chance.sample(range(len(words)), max(1, round(share * len(words)))):
                copy[place] = chance.choice(vocabulary)
            return copy

        def dated(words: Text = words, chance: random.Random = chance) -> Text:
            return [
                *words,
                "seen",
                str(chance.randint(1, 99_999)),
                "times",
                "on",
                f"{chance.randint(1, 28)}.5.",
            ]

        def with_block(
            share: float, words: Text = words, more: Text = more, chance: random.Random = chance
        ) -> Text:
            size = round(share * len(words))
            start = chance.randint(0, len(words) - size)
            return [*words[:start], *more[:size], *words[start + size :]]

        middle, twentieth, quarter = count // 2, max(1, count // 25), count // 4
        near = {
            "same": (words, words),
            "date and counter": (dated(), dated()),
            "one word": (words, changed(0)),
            "1 % of the words": (words, changed(0.01)),
            "2 % of the words": (words, changed(0.02)),
            "parts exchanged": (words, words[middle:] + words[:middle]),
            "4 % cut off": (words, words[:-twentieth]),
            "4 % added": (words, words + more[:twentieth]),
            "4 % inserted": (words, words[:middle] + more[:twentieth] + words[middle:]),
            "case": (words, " ".join(words).upper().split()),
        }
        far = {
            "another article": (words, other),
            "another in a frame of 30 %": (words, with_block(0.7)),
            "another in a frame of 60 %": (words, with_block(0.4)),
            "another in a frame of 80 %": (words, with_block(0.2)),
            "10 % of the words": (words, changed(0.1)),
            "20 % of the words": (words, changed(0.2)),
            "a quarter more": (words, words + more[: quarter + 1]),
            "a quarter less": (words, words[: count - quarter - 1]),
            "the next part": (words[: 2 * middle // 2 + quarter], words[quarter:]),
            "the same words": (words, chance.sample(words, count)),
        }
        for is_near, kinds in ((True, near), (False, far)):
            for kind, (one, two) in kinds.items():
                yield Pair(kind, is_near, " ".join(one), " ".join(two))


# -- methods -----------------------------------------------------------------------------------------------------


def shingles(text: str) -> list[str]:
    words = text.lower().split()
    return [" ".join(words[start : start + 3]) for start in range(len(words) - 2)]


def ours(text: str) -> list[int]:
    return hashes_in(sketch(text))


def simhash(text: str) -> int:
    """64 bits: of each, the sign of the sum over all shingles (Charikar, 2002)."""
    counts = [0] * 64
    for each in shingles(text):
        digest = xxh3_64_intdigest(each.encode())
        for bit in range(64):
            counts[bit] += 1 if digest >> bit & 1 else -1
    return sum(1 << bit for bit, count in enumerate(counts) if count > 0)


def install(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *PACKAGES], check=True
    )
    sys.path.insert(0, str(folder))


def by_datasketch() -> tuple[Callable[[str], Any], Callable[[Any, Any], float]]:
    library = importlib.import_module("datasketch")

    def signature(text: str) -> Any:
        made = library.MinHash(num_perm=128)
        made.update_batch([each.encode() for each in shingles(text)])
        return made

    return signature, lambda one, other: float(one.jaccard(other))


def by_rensa() -> tuple[Callable[[str], Any], Callable[[Any, Any], float]]:
    library = importlib.import_module("rensa")

    def signature(text: str) -> Any:
        made = library.RMinHash(num_perm=128, seed=42)
        made.update(shingles(text))
        return made

    return signature, lambda one, other: float(one.jaccard(other))


def scores(verdicts: Sequence[tuple[bool, bool]]) -> tuple[float, float]:
    """Return precision and recall of pairs of truth and verdict."""
    right = sum(truth and verdict for truth, verdict in verdicts)
    found = sum(verdict for _, verdict in verdicts)
    return right / max(found, 1), right / max(sum(truth for truth, _ in verdicts), 1)


def _row(name: str, verdicts: Sequence[tuple[bool, bool]], micros: float) -> None:
    precision, recall = scores(verdicts)
    print(f"  {name:46} {precision:9.3f} {recall:7.3f} {micros:9.0f}")


def quality(folder: Path) -> None:
    """Print precision and recall of each method on the same pairs."""
    made = list(pairs())
    texts = [text for pair in made for text in (pair.one, pair.other)]
    near = [pair.is_near for pair in made]
    print(f"near-duplicates: {len(made):,} made pairs, {sum(near):,} of them near; CPU us a text")
    print(f"  {'':46} precision  recall    us")

    def measured(signature: Callable[[str], Any]) -> tuple[list[tuple[Any, Any]], float]:
        start = time.process_time()
        signatures = [signature(text) for text in texts]
        micros = (time.process_time() - start) / len(texts) * 1e6
        return list(zip(signatures[::2], signatures[1::2], strict=True)), micros

    signed, micros = measured(ours)
    estimates = [resemblance(*pair) for pair in signed]
    certain = [share - ERRORS * error >= RECORDED for share, error in estimates]
    _row(
        "sketch: recorded",
        list(zip(near, [share >= RECORDED for share, _ in estimates], strict=True)),
        micros,
    )
    _row(f"sketch: withheld, {ERRORS:g} standard errors above", list(zip(near, certain, strict=True)), micros)
    signed, micros = measured(simhash)
    for bits in (3, 6):
        verdicts = [(one ^ other).bit_count() <= bits for one, other in signed]
        _row(f"SimHash, 64 bits, up to {bits} differ", list(zip(near, verdicts, strict=True)), micros)
    install(folder)
    for name, (signature, similarity) in {"datasketch": by_datasketch(), "rensa": by_rensa()}.items():
        signed, micros = measured(signature)
        verdicts = [similarity(*pair) >= RECORDED for pair in signed]
        _row(f"{name}, 128 permutations", list(zip(near, verdicts, strict=True)), micros)
    wrong = [pair.kind for pair, withheld in zip(made, certain, strict=True) if withheld and not pair.is_near]
    print(f"  withheld wrongly: {', '.join(wrong) or 'none'}")


def cost(rounds: int = 200) -> None:
    """Print what one page costs: its main text, its sketch, and one comparison."""
    text = " ".join(max(articles(), key=len))
    for size in (400, 800):
        words = (text.split() * 2)[:size]
        body = " ".join(words)
        links = "".join(f"<li><a href='/{number}'>page {number}</a>" for number in range(100))
        page = f"<title>x</title><nav><ul>{links}</ul></nav><main><p>{body}</p></main>".encode()
        content = [Content("http://a.test/", 200, "text/html", "utf-8", {}, page) for _ in range(rounds)]
        mains = _micros(lambda number, content=content: main_text(content[number]), rounds)
        sketches = _micros(lambda _, body=body: sketch(body), rounds)
        hashes = ours(body)
        compared = _micros(lambda _, hashes=hashes: resemblance(hashes, hashes[1:]), rounds)
        print(
            f"  {len(page):,} bytes, {size} words: main text {mains:.0f} us, sketch {sketches:.0f} us, "
            f"a comparison {compared:.0f} us of CPU"
        )


def _micros(work: Callable[[int], object], rounds: int) -> float:
    """Return the median CPU time of a call, in microseconds."""
    times = []
    for number in range(rounds):
        start = time.process_time()
        work(number)
        times.append(time.process_time() - start)
    return sorted(times)[rounds // 2] * 1e6


def in_crawls(folder: Path, seconds: float) -> None:
    """Print what crawls without and with sketches take, in turn on the same pages."""
    print(f"  crawls of {seconds:g} s, pages of 29 KB:")
    with serve_in_process(crawls.steady()) as web:
        seeds = crawls.seeds_file(folder, web)
        found = crawls.in_turn(
            folder,
            {
                name: lambda place, given=given: crawls.ours(place, seeds, seconds, *crawls.AT_ONCE, *given)
                for name, given in {"off": (), "on": ("NEAR_DUPLICATES=record",)}.items()
            },
        )
    for name, runs in found.items():
        print(f"  {name:4} {crawls.told(runs)}; CPU-us a page: {'; '.join(crawls.by_place(runs))}")
    print(f"  on beside off: {crawls.ratios(found['off'], found['on'])} times the CPU of a page")


def near_duplicates(folder: Path, seconds: float) -> None:
    """Print all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    quality(folder / "packages")
    cost()
    in_crawls(folder, seconds)
