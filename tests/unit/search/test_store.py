"""The store that makes pages findable: with its process, through crashes and with an engine that is away."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from tests.search_server import SearchServer
from tests.unit.search.samples import entry
from webcrawl.archive.disk import ArchiveError
from webcrawl.search import engine as query
from webcrawl.search import journal
from webcrawl.search.engine import Options
from webcrawl.search.indexer import finish_left
from webcrawl.search.journal import segments
from webcrawl.search.store import FOLDER, SearchIndex
from webcrawl.search.tantivy import Tantivy

pytestmark = pytest.mark.slow

TANTIVY = "webcrawl.search.tantivy.Tantivy"
OPENSEARCH = "webcrawl.search.opensearch.OpenSearch"
PATIENCE = 30.0


def store(directory, **settings):
    known = {
        "SEARCH_ENGINE": TANTIVY,
        "SEARCH_URL": None,
        "SEARCH_STEMMER": "english",
        "SEARCH_INTERVAL_SECONDS": 0.1,
    }
    return SearchIndex(directory, worker="w0", settings={**known, **settings})


def keep(one, *entries):
    one.roll_if_full()
    one.write(entries)
    one.sync()
    one.keep()


def found(directory, text="words"):
    engine = Tantivy(directory / FOLDER, Options(stemmer="english"))
    return sorted(hit.url for hit in engine.search(query.read(text), 100).hits)


def eventually(true):
    """Wait for what another process does."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_pages_are_found_while_the_crawl_runs_and_after_it(tmp_path):
    index = store(tmp_path)
    assert index.open() == []
    keep(index, entry("http://a.test/1"), entry("http://a.test/2", noindex=True))
    eventually(lambda: found(tmp_path) == ["http://a.test/1"])
    index.write([entry("http://a.test/never")])
    index.sync()
    index.rollback()
    keep(index, entry("http://a.test/3"), entry("http://a.test/1", status=404))
    index.close()
    assert found(tmp_path) == ["http://a.test/3"]
    assert segments(tmp_path / FOLDER) == []

    again = store(tmp_path)
    assert again.open() == []
    keep(again, entry("http://a.test/3", text="Other things"))
    again.close()
    assert found(tmp_path) == []
    assert found(tmp_path, "thing") == ["http://a.test/3"]


def test_after_a_crash_everything_that_was_kept_is_indexed(tmp_path):
    index = store(tmp_path, SEARCH_INTERVAL_SECONDS=3600)
    index.open()
    # The first round is at once; what comes then waits for the next.
    eventually(lambda: (tmp_path / FOLDER / "lock").exists())
    keep(index, entry("http://a.test/1"), entry("http://a.test/2"))
    process = index._indexer._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(ArchiveError, match="has ended with status -9"):
        index.roll_if_full()
    with pytest.raises(ArchiveError, match="has ended with status -9"):
        index.close()

    again = store(tmp_path)
    assert again.open() == ["search: pages of the last run that were not yet indexed are indexed now."]
    keep(again, entry("http://a.test/2"), entry("http://a.test/3"))
    again.close()
    assert found(tmp_path) == ["http://a.test/1", "http://a.test/2", "http://a.test/3"]


def test_the_process_ends_with_whoever_started_it_and_leaves_the_journal(tmp_path):
    index = store(tmp_path, SEARCH_INTERVAL_SECONDS=3600)
    index.open()
    eventually(lambda: (tmp_path / FOLDER / "lock").exists())
    keep(index, entry("http://a.test/1"))
    index._indexer._requests.close()
    assert index._indexer._process.wait(PATIENCE) == 0
    index._indexer._output.close()
    index._journal.close()
    assert segments(tmp_path / FOLDER)

    again = store(tmp_path)
    again.open()
    again.close()
    assert found(tmp_path) == ["http://a.test/1"]


def test_what_a_crawl_left_is_indexed_by_whoever_searches(tmp_path):
    index = store(tmp_path, SEARCH_INTERVAL_SECONDS=3600)
    index.open()
    eventually(lambda: (tmp_path / FOLDER / "lock").exists())
    keep(index, entry("http://a.test/1"))
    engine = Tantivy(tmp_path / FOLDER, Options(stemmer="english"))
    assert not finish_left(tmp_path / FOLDER, engine), "the crawl runs, it is not for others to do"
    process = index._indexer._process
    process.kill()
    process.wait()
    with pytest.raises(ArchiveError):
        index.close()
    assert finish_left(tmp_path / FOLDER, engine)
    assert found(tmp_path) == ["http://a.test/1"]
    assert segments(tmp_path / FOLDER) == []
    assert not finish_left(tmp_path / FOLDER, engine)


def test_a_copy_taken_while_it_is_written_has_everything_in_the_end(tmp_path):
    index = store(tmp_path / "job")
    index.open()
    for number in range(40):
        keep(index, *(entry(f"http://a.test/{number}/{each}") for each in range(5)))
        if number == 20:
            eventually(lambda: found(tmp_path / "job"))
    assert journal.copy(tmp_path / "job" / FOLDER, tmp_path / "copy" / FOLDER)
    assert journal.copy(tmp_path, tmp_path / "none") == []
    keep(index, entry("http://a.test/later"))
    index.close()

    engine = Tantivy(tmp_path / "copy" / FOLDER, Options(stemmer="english"))
    finish_left(tmp_path / "copy" / FOLDER, engine)
    assert engine.search(query.read("words"), 1).count == 200
    again = store(tmp_path / "copy")
    again.open()
    keep(again, entry("http://a.test/later"))
    again.close()
    assert engine.search(query.read("words"), 1).count == 201


def test_an_index_is_not_gone_on_with_in_another_way(tmp_path):
    index = store(tmp_path)
    index.open()
    index.close()
    with pytest.raises(
        ArchiveError, match=f"was written with SEARCH_ENGINE={TANTIVY} and SEARCH_STEMMER=english"
    ):
        store(tmp_path, SEARCH_STEMMER="german").open()


def test_an_index_of_a_version_that_read_words_otherwise_is_refused(tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "index.json").write_text(json.dumps({"engine": TANTIVY, "stemmer": "english"}))
    with pytest.raises(
        ArchiveError, match="was written by another version, which reads words otherwise; remove"
    ):
        store(tmp_path).open()


def test_an_index_that_cannot_be_used_is_told_and_nothing_is_kept_after_it(tmp_path):
    (tmp_path / FOLDER / "index").mkdir(parents=True)
    (tmp_path / FOLDER / "index/meta.json").write_text("no index")
    index = store(tmp_path)
    index.open()
    keep(index, entry())
    index._indexer._process.wait()
    with pytest.raises(ArchiveError, match="search/index: "):
        index.roll_if_full()
    with pytest.raises(ArchiveError, match="search/index: "):
        index.close()


def test_a_server_that_was_away_has_everything_in_the_end(tmp_path, capfd):
    with SearchServer() as server:
        server.failures += [503, 503, 429]
        index = store(tmp_path, SEARCH_ENGINE=OPENSEARCH, SEARCH_URL=server.url.replace("//", "//me:w%40rd@"))
        index.open()
        for number in range(3):
            keep(index, entry(f"http://a.test/{number}"))
        index.close()
        assert len(server.documents) == 3
        assert server.authorizations == {"Basic bWU6d0ByZA=="}
    assert segments(tmp_path / FOLDER) == []
    assert "Pages wait to be indexed, nothing is lost: 127.0.0.1/pages answers with status 503" in (
        capfd.readouterr().err
    )


def test_a_server_that_refuses_ends_it(tmp_path):
    with SearchServer() as server:
        server.failures += [401]
        index = store(tmp_path, SEARCH_ENGINE=OPENSEARCH, SEARCH_URL=server.url)
        index.open()
        keep(index, entry())
        with pytest.raises(ArchiveError, match="answers with status 401"):
            index.close()
    assert segments(tmp_path / FOLDER)


def test_of_several_workers_the_last_fetch_counts(tmp_path):
    with SearchServer() as server:
        for worker, (end, text) in enumerate([(9.0, "late"), (2.0, "early")]):
            index = store(tmp_path / str(worker), SEARCH_ENGINE=OPENSEARCH, SEARCH_URL=server.url)
            index.open()
            keep(index, entry(end=end, text=text))
            index.close()
        assert [page["text"] for page in server.documents.values()] == ["late"]
