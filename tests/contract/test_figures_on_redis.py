"""``scrapy errors`` and ``status`` of a crawl on Redis that has ended: what all its processes have counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.commands import in_process
from tests.contract.samples import NOW, entry
from webcrawl.features.steering.failures import FailedUrl, FailureStore
from webcrawl.storage.contract import Batch, Counted

if TYPE_CHECKING:
    import pytest

    from tests.contract.sample_crawl import SampleCrawl
    from tests.redis_server import RedisServer


def test_errors_and_figures_are_those_of_all_runs(
    sample: SampleCrawl,
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    for begun_at, worker, word in ((NOW, "w1", "timeout"), (NOW + 9, "w1", "reset"), (NOW, "w2", "reset")):
        numbers = {"pages": 7, "bytes": 100, "status 200": 7, f"error {word}": 2}
        sample.driven.commit(Batch(counted=Counted(worker, begun_at, numbers)))
    failed = [FailedUrl(entry(f"http://a.test/{n}"), "reset", NOW + n) for n in range(3)]
    sample.run(FailureStore(sample.driven.backend.tables).add(failed))

    told = in_process("errors", capsys)(redis_server.url, "--json", "--limit", "2").told
    assert (told["total"], told["kinds"], told["failed"]) == (6, {"timeout": 2, "reset": 4}, 3)
    assert {name: told["workers"][name] for name in ("w1", "w2")} == {"w1": 4, "w2": 2}
    assert [one["url"] for one in told["last"]] == ["http://a.test/2", "http://a.test/1"]
    said = in_process("errors", capsys)(redis_server.url, "--search", "a.test/0").said
    assert "6 errors of " in said
    assert "  reset  http://a.test/0\n" in said
    assert "a.test/1" not in said

    lines = in_process("status", capsys)(redis_server.url).said.splitlines()
    assert "pages  21, 300 B received" in lines
    assert "errors 6: requests without a response" in lines
    assert "status 2xx 21, 3xx 0, 4xx 0, 5xx 0, other 0" in lines
