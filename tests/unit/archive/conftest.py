"""What warcio, the reference reader of the field, says about a file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader
from warcio.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def warcio_accepts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], bool]:
    """Whether ``warcio check`` passes a file without a word, and every digest that is there was compared."""
    # It knows only the brotlipy package and fails on every brotli page where the brotli package is installed
    # (https://github.com/webrecorder/warcio/issues/73); without either it reads such a page as it is.
    monkeypatch.delitem(BufferedReader.DECOMPRESSORS, "br", raising=False)

    def accepts(path: Path) -> bool:
        capsys.readouterr()
        status = Checker(SimpleNamespace(inputs=[str(path)], verbose=False)).process_all()
        said = capsys.readouterr()
        with path.open("rb") as file:
            reader = ArchiveIterator(file, check_digests=True)
            for record in reader:
                record.raw_stream.read()
                if record.rec_type != "revisit" and record.digest_checker.passed is not True:
                    return False
        return (status, said.out, said.err, reader.err_count) == (0, "", "", 0)

    return accepts
