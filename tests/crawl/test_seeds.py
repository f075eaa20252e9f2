"""Where a crawl begins: a file with wrong lines, a list, standard input."""

from __future__ import annotations

import pytest

from tests.crawl import expectation


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=6, pages=6, links=2)


@pytest.fixture(scope="module")
def text(web):
    """A file as people write it: comments, blanks, twice the same, CRLF, and lines that are wrong."""
    good = expectation.roots(web)[:3]
    return (
        "\ufeff# the first three\r\n"
        f"{good[0]}\r\n\r\n"
        "http://\n"
        f"   {good[1]}   # with a word about it\n"
        "htp://nowhere.test/\n"
        f"{good[0]}\n"
        "no url at all\n"
        f"{good[2]}"
    ).encode()


@pytest.fixture(scope="module")
def crawls(web, text, start, folder):
    (folder / "seeds.txt").write_bytes(text)
    nothing_followed = {"arguments": {"allow": "^$"}}
    started = {
        "file": start(str(folder / "seeds.txt"), **nothing_followed),
        "input": start("-", stdin=text, **nothing_followed),
        "list": start(expectation.roots(web)[:3], **nothing_followed),
    }
    return {name: crawl.wait() for name, crawl in started.items()}


@pytest.mark.parametrize("name", ["file", "input", "list"])
def test_every_good_seed_is_fetched_once(web, crawls, name):
    crawled = crawls[name].assert_ended_well()

    assert crawled.fetched() == dict.fromkeys(expectation.roots(web)[:3], 1)
    assert {line["depth"] for line in crawled.log()} == {0}


@pytest.mark.parametrize("name", ["file", "input"])
def test_every_wrong_line_is_named_with_its_number_and_the_rest_goes_on(crawls, name):
    said = crawls[name].stderr

    assert "Seed in line 4 is no URL" in said
    assert "Seed in line 6 is no URL" in said
    assert "Seed in line 8 is no URL" in said
    assert "3 wrong" in said


def test_seeds_on_standard_input_are_not_needed_to_resume(web, crawls, crawl):
    again = crawl(of=crawls["input"]).assert_ended_well()

    assert again.fetched() == crawls["input"].fetched()
    assert "seeds=-" not in crawls["input"].stderr


def test_new_seeds_of_a_resumed_crawl_are_added(web, crawls, crawl):
    more = expectation.roots(web)[3:5]
    again = crawl(more, of=crawls["list"], arguments={"allow": "^$"}).assert_ended_well()

    assert again.fetched() == dict.fromkeys(expectation.roots(web)[:5], 1)


def test_a_crawl_that_runs_low_on_domains_asks_for_more(web, crawl, tmp_path):
    roots = expectation.roots(web)
    script, given = tmp_path / "more.sh", tmp_path / "given"
    lines = "".join(f"echo {root}\n" for root in roots)
    script.write_text(f'[ -e {given} ] && echo "# no more" && exit\ntouch {given}\necho rubbish\n{lines}')
    settings = {"SEEDS_COMMAND": f"sh {script}", "SEEDS_ASK_SECONDS": 1}
    done = crawl(roots[0], arguments={"allow": "no link"}, **settings).assert_ended_well()
    assert set(roots) <= set(done.fetched())
    assert max(done.fetched().values()) == 1
    assert "fewer than 500: requesting seeds" in done.stderr
    assert "6 seeds taken, 1 wrong" in done.stderr
    assert "The source of seeds returned none" in done.stderr
