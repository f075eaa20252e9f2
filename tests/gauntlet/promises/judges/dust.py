"""Judges of DUST rules, by the requests to a forum that has each thread under several URLs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.gauntlet.promises.table import judge, need

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Copied
    from tests.gauntlet.promises.table import Promise


def _requested(stage: Copied) -> list[str]:
    """Return the URLs of the requests for pages, after the end of the crawl."""
    need(stage.statuses() == [0] * len(stage.workers), "a process of the crawl ended with an error")
    return [f"http://{hit.host}:{stage.web.port}{hit.path}" for hit in stage.web.pages()]


def _rules(stage: Copied) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = json.loads(stage.do("dust", "--json", **stage.select).out)["rules"]
    return [rule for rule in rules if rule["state"] == "confirmed" and rule["withheld"]]


@judge
def saves_copies(stage: Copied, promise: Promise) -> str:
    """The forum has six URLs for two pages of each thread."""
    urls = _requested(stage)
    texts = [stage.site.text(url) for url in urls]
    missed = [text for name in stage.site.sites for text in stage.site.truth(name) - set(texts)]
    pages = len(stage.site.truth("forum"))
    requests = sum(text is not None and text.startswith("forum: ") for text in texts)
    return need(
        not missed and requests < 2 * pages,
        f"{requests} requests for {pages} pages of the forum, which have more than {5 * pages // 2} URLs; "
        f"missed: {missed[:3]}",
    )


@judge
def withstands_lies(stage: Copied, promise: Promise) -> str:
    """No page of a site is missed, and it gets at most so many requests for each of its ``given`` kind of pages."""
    name, most = promise.given["site"], promise.given["requests_for_page"]
    urls = _requested(stage)
    texts = [
        text for url in urls if (text := stage.site.text(url)) is not None and text.startswith(f"{name}: ")
    ]
    truth = stage.site.truth(name)
    missed = sorted(truth - set(texts))
    return need(
        not missed and len(texts) <= most * len(truth),
        f"{len(texts)} requests for {len(truth)} pages of the site; missed: {missed[:3]}",
    )


@judge
def tells_dust(stage: Copied, promise: Promise) -> str:
    requested = set(_requested(stage))
    rules = _rules(stage)
    wrong = [rule["rule"] for rule in rules if len({stage.site.text(url) for url in rule["pair"]}) != 1]
    withheld = sum(rule["withheld"] for rule in rules)
    return need(
        withheld > 100 and not wrong,
        f"{len(rules)} rules and {withheld} URLs withheld, {len(requested)} requested; wrong: {wrong}",
    )


@judge
def undoes_dust(stage: Copied, promise: Promise) -> str:
    """What the rule withheld is requested, and nothing else."""
    before = _requested(stage)
    rule = max(_rules(stage), key=lambda rule: rule["withheld"])
    stage.do("dust", "--undo", rule["id"], **stage.select)
    stage.again()
    new = [url for url in _requested(stage)[len(before) :] if f"{rule['name']}=" in url]
    return need(
        len(set(new) - set(before)) > rule["withheld"] / 4, f"{len(new)} requests of {rule['rule']} after"
    )
