"""``scrapy archive`` on what crawls leave behind, killed ones too; wget's archive of the same site beside ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from io import BytesIO

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from isal import igzip

from tests import commands
from tests.fakeweb import Placement
from tests.unit.archive import strictwarc
from webcrawl.archive.reading import whole_members

FILES = """
import scrapy

class Files(scrapy.Spider):
    name = "files"

    async def start(self):
        yield scrapy.Request("file://" + self.path)

    def parse(self, response):
        yield {"bytes": len(response.body)}
"""


@pytest.fixture
def archive(capsys, monkeypatch):
    """The command, given here."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    given = commands.in_process("archive", capsys)
    return lambda *words: given(*map(str, words))


@pytest.fixture(scope="module")
def web(serve):
    trouble = (
        Placement("gzip", share=0.2),
        Placement("reset", share=0.05),
        Placement("redirect-chain", share=0.1, options={"hops": 1}),
        Placement("status", share=0.1),
    )
    return serve(hosts=6, pages=150, seed=8, placements=trouble)


@pytest.fixture(scope="module")
def killed(web, start):
    """A crawl that was killed in the middle and went on to its end, over many WARC files."""
    settings = {"RETRY_TIMES": 0, "WARC_ROLL_BYTES": 30_000, "FETCH_LOG_ROLL_BYTES": 20_000}
    first = start(web.seeds, **settings)
    first.until(lambda: len(list((first.path / "warc").glob("*.warc.gz"))) >= 2)
    first.kill()
    return start(of=first, **settings).wait().assert_ended_well()


def test_nothing_is_wrong_with_a_crawl_that_was_killed_and_went_on(killed, archive):
    assert archive("check", killed.path).said.endswith("Nothing is wrong.\n")


def test_a_second_reader_finds_what_is_counted(killed, archive):
    totals = json.loads(archive("check", killed.path, "--json").said.splitlines()[-1])
    found = {"warcinfo": 0, "response": 0, "request": 0, "metadata": 0}
    for path in killed.warcs():
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.any_type, parse_http=False):
                assert record.verify_block_digest()
                found[record.headers["WARC-Type"]] += 1
    assert totals["records"] == found
    assert totals["indexed"] == found["response"]
    assert totals["links"] > 100


def test_metadata_says_how_the_crawl_came_to_a_page(killed):
    lines = {}
    for part in [*killed.path.glob("fetch-*.jsonl.gz"), killed.path / "fetch.jsonl"]:
        data = igzip.decompress(part.read_bytes()) if part.suffix == ".gz" else part.read_bytes()
        lines |= {line["url"]: line for line in map(json.loads, data.splitlines()) if "status" in line}
    for path in killed.warcs():
        for record in strictwarc.strict_records(path, repaired=True):
            if record.type != "metadata":
                continue
            line = lines[record.url]
            facts = dict(fact.split(": ", 1) for fact in record.block.decode().splitlines())
            assert (facts.get("via"), int(facts["depth"])) == (line["via"], line["depth"])
            assert facts.get("links") == (str(line["links"]) if "links" in line else None)
            assert facts["robots"] == (line["robots"] if line["kind"] == "robots" else "allowed")


def test_indexes_are_merged_into_one_and_made_again(killed, tmp_path, archive):
    folder = killed.path / "index"
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "all.cdxj" in archive("index", killed.path, "-o", tmp_path / "all.cdxj").said
    merged = (tmp_path / "all.cdxj").read_bytes().splitlines()
    assert merged == sorted(line for data in written.values() for line in data.splitlines())
    assert archive("check", killed.path, "-o", tmp_path / "all.cdxj").status == 0
    (tmp_path / "all.cdxj").write_bytes(b"\n".join(merged[1:]) + b"\n")
    assert (
        f"lacks the line {merged[0].decode()}"
        in archive("check", killed.path, "-o", tmp_path / "all.cdxj").out
    )
    shutil.copytree(killed.path, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy/index")
    assert archive("index", tmp_path / "copy").status == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy/index").iterdir()} == written


def test_a_byte_that_has_changed_is_found(killed, tmp_path, archive):
    shutil.copytree(killed.path, tmp_path / "copy")
    path = max((tmp_path / "copy/warc").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    members = list(whole_members(BytesIO(data)))
    middle = members[len(members) // 2]
    # In its packed data: a byte of the head of a gzip member may say nothing of the record, as its time does.
    data[(middle.start + middle.end) // 2] ^= 1
    path.write_bytes(data)
    done = archive("check", tmp_path / "copy")
    assert done.status == 1
    assert str(path) in done.out
    assert archive("index", tmp_path / "copy", "--again").status == 2


def test_what_comes_by_another_protocol_is_a_resource(crawl, folder, monkeypatch, archive):
    (folder / "spiders_of_files.py").write_text(FILES)
    (folder / "a.bin").write_bytes(bytes(range(256)) * 40)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    arguments = {"path": str(folder / "a.bin")}
    done = crawl(spider="files", arguments=arguments, SPIDER_MODULES="spiders_of_files").assert_ended_well()
    [path] = done.warcs()
    [resource] = [record for record in strictwarc.strict_records(path) if record.type == "resource"]
    assert resource.block == (folder / "a.bin").read_bytes()
    assert resource.url == f"file://{folder}/a.bin"
    assert archive("check", done.path).status == 0


@pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not installed")
def test_wget_keeps_the_same_payloads_of_the_same_site(web, killed, tmp_path):
    ours = {
        record.url: record.payload
        for path in killed.warcs()
        for record in strictwarc.strict_records(path, repaired=True)
        if record.type == "response"
    }
    host, kept = web.web.hosts[0], {}
    for url, fact in web.web.truth().items():
        if fact.host == host and fact.status == 200 and fact.behaviour is None and url in ours:
            kept[f"http://127.0.0.1:{web.port}{url.partition(f':{web.port}')[2]}"] = ours[url]
    (tmp_path / "urls").write_text("\n".join(kept))
    words = ["wget", "-q", "-i", "urls", "--warc-file=theirs", "-O", "/dev/null"]
    subprocess.run([*words, f"--header=Host: {host}:{web.port}"], cwd=tmp_path, check=True, timeout=60)
    theirs = {}
    with (tmp_path / "theirs.warc.gz").open("rb") as stream:
        for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
            theirs[record.headers["WARC-Target-URI"].strip("<>")] = record.reader.read()
    assert len(kept) > 3
    assert theirs == kept
