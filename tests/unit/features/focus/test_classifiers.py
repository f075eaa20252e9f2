"""How relevant a page is, for each way to say what is looked for; and what cannot be looked for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from webcrawl.config.features import FOCUS_FORMS
from webcrawl.features.focus import classifiers
from webcrawl.features.focus.classifiers import Examples, classifier_for
from webcrawl.features.focus.relevance import (
    LOOKED_AT,
    FetchedPage,
    FocusError,
    clamped,
    visible,
)

DATA = Path(__file__).parents[3] / "data"
CASES = json.loads((DATA / "focus_judged.json").read_text(encoding="utf-8"))
STARS = "The telescope shows nebulae, galaxies and the spectrum of stars; astronomers observe with a mirror."
COOKING = "Simmer the onions in butter, stir the flour into the sauce and season with nutmeg before serving."


def page(body: str, title: str = "", url: str = "http://h.test/", **more: Any) -> FetchedPage:
    given = {"mime": "text/html", "encoding": "utf-8"} | more
    return FetchedPage(url, title=title, body=body.encode(), **given)


@each_row("case", CASES, ids=lambda case: f"{case['focus']}-{case['body'][:20]}")
def test_a_page_is_as_relevant_as_it_says(case: dict[str, Any]) -> None:
    more = {name: case[name] for name in ("url", "mime", "fields") if name in case}
    found = classifier_for(case["focus"]).relevance(page(case["body"], case["title"], **more))
    assert case["least"] <= found <= case["most"], found


def test_more_of_a_keyword_is_more_relevant_but_ever_less_so() -> None:
    classifier = classifier_for("star")
    found = [classifier.relevance(page("star " * count)) for count in (1, 2, 4, 8, 16, 1000)]
    assert found == sorted(found)
    assert found[-1] < 1
    assert found[1] - found[0] > found[4] - found[3]


def test_a_long_text_needs_more_than_a_short_one() -> None:
    classifier = classifier_for("star")
    assert classifier.relevance(page("star " + "word " * 5000)) < classifier.relevance(page("star")) / 2


def test_markup_without_an_end_is_read_in_time_and_shows_nothing() -> None:
    for hostile in ("<!--" * 60_000, "<script>" * 30_000, "<" * 260_000, "<style></style" * 20_000):
        assert "telescope" not in visible(hostile)
    assert len(page("x" * 3 * LOOKED_AT).text) == LOOKED_AT


def test_pages_like_the_examples_are_found(tmp_path: Path) -> None:
    for number in range(3):
        text = f"{STARS} Number {number}."
        (tmp_path / f"{number}.html").write_text(f"<html><p>{text}</p></html>")
    classifier = classifier_for(f"pages:{tmp_path}")
    for number in range(60):
        classifier.relevance(page(f"{COOKING} {number}", url=f"http://h.test/{number}"))
    assert classifier.relevance(page(f"<p>{STARS}</p>")) > 0.8
    assert classifier.relevance(page(COOKING)) < 0.2
    assert 0.2 < classifier.relevance(page(f"{STARS[:60]} {COOKING}")) < 0.95
    assert classifier.relevance(page("")) == 0


def test_what_is_usual_in_a_crawl_makes_no_page_relevant() -> None:
    menu = "Imprint, contact, navigation, search and all about this website. "
    classifier = Examples([menu + STARS, menu + STARS[20:]])
    for _ in range(200):
        classifier.relevance(page(menu + COOKING))
    assert classifier.relevance(page(menu)) < 0.35
    assert classifier.relevance(page(menu + STARS)) > 0.7


def test_a_function_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DATA.parent))
    classifier = classifier_for("tests.unit.features.focus.test_classifiers:length")
    assert classifier.relevance(page("abcd")) == 4


def length(given: FetchedPage) -> float:
    return len(given.text)


@each_row(("given", "kept"), [(0.5, 0.5), (7, 1), (-1, 0), (float("nan"), 0), (True, 1)])
def test_what_a_function_gives_is_kept_within_bounds(given: float, kept: float) -> None:
    assert clamped(given) == kept


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "m.joblib").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(FocusError, match=r"pip install scikit-learn"):
        classifier_for(f"model:{tmp_path / 'm.joblib'}")


def test_a_model_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipeline:
        def predict(self, texts: list[str]) -> list[float]:
            return [float("star" in text) for text in texts]

        def predict_proba(self, texts: list[str]) -> list[list[float]]:
            return [[0.25, 0.75] for _ in texts]

    monkeypatch.setattr(classifiers, "_load", lambda path: Pipeline())
    assert classifier_for("model:x").relevance(page("star")) == 0.75
    monkeypatch.delattr(Pipeline, "predict_proba")
    assert classifier_for("model:x").relevance(page("star")) == 1
    monkeypatch.setattr(classifiers, "_load", lambda path: object())
    with pytest.raises(FocusError, match="no method predict"):
        classifier_for("model:x")


def test_what_is_allowed_names_every_way() -> None:
    assert all(word in FOCUS_FORMS for word in ("re:", "mime:", "pages:", "model:", "module:function"))
