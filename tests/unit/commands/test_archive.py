"""The words of ``scrapy archive``; what it finds is in ``tests/crawl/test_archive_check.py``."""

from __future__ import annotations

import pytest

from tests import commands


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "chek: is no subcommand of archive: check or index; did you mean check?"),
        (["check"], "which crawl? give the JOBDIRs"),
        (["check", "nowhere"], "nowhere: is no folder"),
        (["check", "."], ".: holds no archive"),
        (["check", ".", "--again"], "--again: goes with index"),
        (["index", ".", "--json"], "--json: goes with check"),
        (["check", ".", "-s", "WARC_INDX=1"], "WARC_INDX: "),
    ],
)
def test_what_is_wrong_with_the_command_is_told(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    monkeypatch.chdir(tmp_path)
    done = commands.in_process("archive", capsys)(*words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
