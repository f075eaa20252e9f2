"""A page is given to the modules for its type, and whatever a module does costs that page what it has not given."""

import asyncio
import os
import signal

import pytest

from tests import processes
from tests.rows import each_row
from webcrawl.child_process import frame
from webcrawl.processing.chain import Chain
from webcrawl.processing.contract import Content, load
from webcrawl.processing.pool import Pool, PoolOptions, ProcessingBroken, start_worker

HERE = "tests.unit.processing.hostile."
LIMITS = {"processes": 1, "seconds": 1.0, "memory_bytes": 64 << 20, "links_max": 100}


def chain_of(*names, **limits):
    modules = [load(HERE + name) for name in names]
    options = {**LIMITS, **limits}
    pool = Pool(PoolOptions(tuple(each.path for each in modules), **options))
    return Chain(modules, pool, links_max=options["links_max"])


def page(text, mime="text/plain"):
    return Content("http://a.test/dir/page", 200, mime, None, {}, text.encode())


def processed(chain, *texts, mime="text/plain"):
    """What is found in pages with these texts, one after the other."""

    async def all_of_them():
        try:
            return [await chain.process(page(text, mime)) for text in texts]
        finally:
            chain.close()

    return asyncio.run(all_of_them())


@pytest.mark.slow
def test_only_modules_for_the_type_see_a_page():
    chain = chain_of("Tells", "Does")
    assert chain.wants("text/plain")
    assert chain.wants("text/html")
    assert not chain.wants("application/pdf")
    assert not chain.wants(None)

    (result,) = processed(chain, "x", mime="text/html")
    assert result.fields.keys() == {"done", "process", "told"}


@pytest.mark.slow
def test_of_a_field_the_first_that_gives_it_counts_in_the_order_of_the_setting():
    assert processed(chain_of("Tells", "Does"), "x")[0].fields["told"] == "x"
    assert processed(chain_of("Does", "Tells"), "x")[0].fields["told"] == "too late"
    assert list(chain_of("Does", "Tells", "After").schema) == ["done", "process", "told", "after"]


def test_title_and_links_are_the_page_s():
    result = processed(chain_of("Tells"), "x")[0]
    assert result.title == "of a text"
    assert result.fields == {"told": "x"}
    assert [tuple(link) for link in result.links] == [
        ("http://a.test/a", "tells", "again", ""),
        ("http://a.test/dir/b?c", "tells", "the b", ""),
    ]
    assert result.problems == []


def test_links_of_other_schemes_are_apart():
    (result,) = processed(chain_of("Tells"), "x")
    assert result.other_links == [("mailto:a@b.test", "tells", "us", "")]


def test_what_is_no_link_costs_the_links_alone():
    result = processed(chain_of("Tells"), "odd")[0]
    assert result.fields == {"told": "odd"}
    assert [(name, why.partition(":")[0]) for name, why in result.problems] == [
        ("tells", "links are URLs, or pairs of URL and text")
    ]


def test_without_a_module_that_needs_one_no_process_is_started():
    before = processes.children_of(os.getpid())
    chain = chain_of("Tells")
    asyncio.run(chain.process(page("x")))
    assert processes.children_of(os.getpid()) == before


@pytest.mark.slow
def test_processes_are_started_when_they_are_needed_and_end_with_the_chain():
    before = set(processes.children_of(os.getpid()))

    async def two_at_a_time():
        chain = chain_of("Does", processes=3)
        one_by_one = [await chain.process(page("x")) for _ in range(3)]
        at_once = await asyncio.gather(*(chain.process(page("x")) for _ in range(2)))
        started = set(processes.children_of(os.getpid())) - before
        chain.close()
        return one_by_one, at_once, started

    one_by_one, at_once, started = asyncio.run(two_at_a_time())
    assert len({result.fields["process"] for result in one_by_one}) == 1
    assert {result.fields["process"] for result in (*one_by_one, *at_once)} == started
    assert len(started) == 2
    assert set(processes.children_of(os.getpid())) == before


@pytest.mark.slow
@each_row(
    ("word", "why"),
    [
        ("hang", "took too long"),
        ("sleep", "took too long"),
        ("die", "ended its process (status -11)"),
        ("exit", "ended its process (status 3)"),
        ("grow", "took too much memory"),
    ],
)
def test_a_page_that_ends_its_process_costs_its_fields_and_the_next_one_has_another(word, why):
    chain = chain_of("Tells", "Does", "After")
    before, result, after = processed(chain, "x", word, "y")

    assert result.fields == {"told": word}
    assert ("does", why) in result.problems
    assert after.fields["done"] == "y"
    assert after.fields["after"] is True
    assert after.fields["process"] != before.fields["process"]
    # A page that needs too much memory is read again, by a process that no other page has used.
    assert chain.replaced == (2 if word == "grow" else 1)


@pytest.mark.slow
def test_a_process_that_has_grown_is_replaced_after_its_page():
    chain = chain_of("Does", resident_bytes=90 << 20, memory_bytes=512 << 20, seconds=20.0)
    pages = processed(chain, "x", "keep 100", "y", "z")

    assert [page.fields["done"] for page in pages] == ["x", "keep 100", "y", "z"]
    process = [page.fields["process"] for page in pages]
    assert process[0] == process[1]
    assert process[2] == process[3]
    assert process[1] != process[2]
    assert [page.problems for page in pages] == [[]] * 4


@pytest.mark.slow
def test_a_page_does_not_pay_for_what_others_have_left_in_its_process():
    chain = chain_of("Does", memory_bytes=160 << 20, seconds=20.0)
    pages = processed(chain, "x", "keep 100", "keep 101")

    assert [page.problems for page in pages] == [[]] * 3
    assert [page.fields["done"] for page in pages] == ["x", "keep 100", "keep 101"]
    assert chain.replaced == 1


@pytest.mark.slow
@each_row(
    ("word", "fields", "why"),
    [
        ("raise", {}, "KeyError: 'no\\nsuch\\x1b thing'"),
        ("undeclared", {"done": "half"}, "the field other is not declared"),
        (
            "wrong",
            {},
            "the field process is no whole: ValueError: invalid literal for int() with base 10: 'nine'",
        ),
        ("nothing", {}, "AttributeError: 'NoneType' object has no attribute 'items'"),
    ],
)
def test_what_a_module_does_wrong_is_told_in_a_line_and_its_process_goes_on(word, fields, why):
    before, result, after = processed(chain_of("Does", "After"), "x", word, "y")

    assert result.fields == {**fields, "after": True}
    assert result.problems == [("does", why)]
    assert after.fields["process"] == before.fields["process"]


@pytest.mark.slow
def test_a_page_that_is_given_up_costs_its_process():
    async def given_up():
        chain = chain_of("Does", seconds=100)
        try:
            before = await chain.process(page("x"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await chain.process(page("sleep"))
            return before, await chain.process(page("y"))
        finally:
            chain.close()

    before, after = asyncio.run(given_up())
    assert after.fields["done"] == "y"
    assert after.fields["process"] != before.fields["process"]


@pytest.mark.slow
@pytest.mark.parametrize("word", ["x", "hang"])
def test_a_process_does_not_outlive_its_crawl(word):
    """Killed, a crawl leaves nothing but a socket that ends."""
    process, ours = start_worker()
    with ours:
        ours.setblocking(True)
        options = {"modules": [HERE + "Does"], "seconds": 0.5, "memory_bytes": 0, "links_max": 1}
        ours.sendall(frame(options) + frame(([0], page(word).row())))
        ours.recv(1)
    assert process.wait(30) in (0, -signal.SIGALRM)


@pytest.mark.slow
def test_a_module_that_cannot_be_built_is_nothing_that_a_page_did():
    with pytest.raises(ProcessingBroken, match="No module named 'heavy'"):
        processed(chain_of("Unbuildable"), "x")


def test_modules_that_differ_about_a_field_are_refused():
    with pytest.raises(TypeError, match="Other has a field done of another kind"):
        chain_of("Does", "Other")


@pytest.mark.slow
def test_a_large_page_comes_through_whole():
    text = "word " * 400_000
    (result,) = processed(chain_of("Does"), text, mime="text/html")
    assert result.fields["done"] == text[:2_000]
