"""Keywords of pages whose author names none: what the text repeats, without function words."""

from __future__ import annotations

import time

from webcrawl.processing.chain import run
from webcrawl.processing.contract import Content, load
from webcrawl.processing.keywords import KEYWORDS_MAX, READ_MAX, extract_keywords

ENGLISH = """The radio telescope at the edge of the village was built in 1957. A radio telescope has a dish that
collects radio waves, and the larger the dish is, the fainter are the sources that it can see. Astronomers use the
telescope to map hydrogen clouds. Hydrogen clouds are where stars form, and maps of hydrogen clouds show how the arms
of a galaxy move. In the village there is a museum about the telescope, which is open in summer. """
GERMAN = """Der Leuchtturm steht auf der Insel, und die Insel liegt vor der Küste. Der Leuchtturm wurde gebaut, weil
vor der Küste viele Schiffe strandeten. Heute ist der Leuchtturm ein Museum, in dem die Geschichte der Schiffe und der
Seefahrt gezeigt wird. Auf der Insel gibt es auch einen Hafen, von dem aus Schiffe zur Küste fahren, und an dem man
nicht vorbei kann, wenn man mit dem Boot zu der Insel will. """


def test_what_a_text_repeats_are_its_keywords() -> None:
    assert extract_keywords(ENGLISH)[:2] == ["hydrogen clouds", "radio telescope"]
    assert set(extract_keywords(GERMAN)) == {"insel", "küste", "leuchtturm", "schiffe"}
    assert not {"the", "of", "is", "der", "dem"} & {*extract_keywords(ENGLISH), *extract_keywords(GERMAN)}


def test_headings_count_more_and_alone_do_not_make_a_keyword() -> None:
    plain, headed = extract_keywords(ENGLISH), extract_keywords(ENGLISH, ["The village", "The village again"])
    assert plain.index("dish") < plain.index("village")
    assert headed.index("village") < headed.index("dish")
    assert "observatory" not in extract_keywords(ENGLISH, ["Observatory"])


def test_short_texts_and_texts_without_spaces_have_none() -> None:
    assert extract_keywords("A telescope is a telescope.") == []
    assert extract_keywords("望遠鏡は天体を観測する。" * 50) == []
    assert extract_keywords("") == []


def test_a_page_of_any_length_takes_bounded_time() -> None:
    for text in (
        "word " * 400_000,
        "a-" * 1_000_000,
        "".join(f"w{n:x} " for n in range(300_000)),
        "\n" * 2_000_000,
    ):
        began = time.process_time()
        assert len(extract_keywords(text)) <= KEYWORDS_MAX
        assert time.process_time() - began < 5
    assert extract_keywords(ENGLISH + " " * READ_MAX + "observatory " * 100) == extract_keywords(ENGLISH)


def test_the_module_reads_the_main_text_of_a_page_without_meta_keywords() -> None:
    loaded = load("webcrawl.processing.keywords.Keywords")
    body = f"<nav>{'<a href=/>menu</a> ' * 50}</nav><main><h1>The radio telescope</h1><p>{ENGLISH}</p></main>"
    content = Content("http://a.test/", 200, "text/html", "utf-8", {}, body.encode())
    answer = run(loaded.type(), loaded.fields, content, 100)
    assert answer.problem is None
    assert answer.fields["text_keywords"][0] in ("radio telescope", "hydrogen clouds")
    assert "menu" not in answer.fields["text_keywords"]
