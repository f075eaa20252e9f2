"""Which pages of documentation pass for refusals: none should, whatever status they come with."""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.features.refusals.recogniser import Recogniser
from webcrawl.features.refusals.signatures import load

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "BENCH_DOCUMENTATION"
"""The environment variable with folders, separated as on the PATH; without it those of the system and of Python."""
ENDS = (".html", ".htm", ".xhtml", ".html.gz")


def recognised(folder: Path, seconds: float) -> None:
    """Count the pages in the folders that pass for refusals, each as 200 and as 403, and print their paths."""
    del folder, seconds  # files that are there are read, all of them
    places = os.environ.get(VARIABLE, os.pathsep.join(["/usr/share", "/usr/lib", sys.prefix])).split(
        os.pathsep
    )
    recogniser = Recogniser(load(None))
    number, taken = 0, 0.0
    found: list[str] = []
    for path, body in _pages(places):
        number += 1
        begun = time.process_time()
        as_page = recogniser.of_success(200, dict, body)
        as_error = recogniser.of_error(403, {}, body)
        taken += time.process_time() - begun
        found += [
            f"{status}: {refusal} {path}" for status, refusal in ((200, as_page), (403, as_error)) if refusal
        ]
    print(f"Pages of documentation in {', '.join(places)}: {number:,}, each as 200 and as 403")
    print(f"  recognised as refusals: {len(found)}; {taken / max(number, 1) * 1e6:.0f} us a page for both")
    for line in found:
        print(f"  {line}")


def _pages(places: list[str]) -> Iterator[tuple[Path, bytes]]:
    for place in places:
        for root, _, names in os.walk(place):
            for name in names:
                path = Path(root) / name
                if name.endswith(ENDS) and path.is_file() and not path.is_symlink():
                    body = path.read_bytes()
                    yield path, gzip.decompress(body) if name.endswith(".gz") else body
