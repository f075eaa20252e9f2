"""Judges of live settings of scope: which links of pages are requested before, while and after a setting holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.gauntlet.promises.judges.acting import changed, filled, fresh
from tests.gauntlet.promises.table import judge, need, read
from tests.gauntlet.promises.web import until

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Live
    from tests.gauntlet.promises.table import Promise

FOREIGN_SECONDS = 1.5
"""How long a link to another host, which has no place in the same queue, is waited for."""


class _Hub:
    """A page with a link that a setting refuses, and behind it one that it does not; both are in one queue."""

    def __init__(self, stage: Live, label: str, given: dict[str, Any]) -> None:
        host = fresh(stage, label)
        other = fresh(stage, "other").replace(".hubs.test", ".example")
        names = {
            "other": other,
            "port": str(stage.web.port),
            "host": host,
            "other_port": str(stage.web.other_port),
        }
        self._stage = stage
        self.refused, self.allowed = (
            filled(given[name], names) if "://" in given[name] else stage.site.url(host, given[name])
            for name in ("refused", "allowed")
        )
        self.url = stage.site.put(host, given.get("hub", "/hub"), [self.refused, self.allowed])
        stage.site.announce(self.url)

    def has_refused(self) -> bool:
        host, _, path = self.refused.partition("://")[2].partition("/")
        return bool(self._stage.web.hits(host.partition(":")[0], path=f"/{path}"))

    def follows_both(self) -> bool:
        return until(lambda: self.has_refused() and self._stage.web.has(self.allowed))

    def follows_one(self) -> bool:
        return until(lambda: self._stage.web.has(self.allowed))


def _value(stage: Live, promise: Promise) -> str:
    given = promise.given
    if "lines" in given:
        path = stage.folder / f"{promise.name}.txt"
        path.write_text(given["lines"])
        return str(path)
    return str(filled(given["value"], {"port": str(stage.web.port)}))


def _refused_together(stage: Live, group: int) -> dict[str, tuple[bool, bool, bool, bool, str]]:
    """Set all settings of a group, none of which refuses a link of another one's hub. Return for each whether both
    links were requested before, the allowed and the refused one in force, and both afterwards, with the refused URL.
    """
    rows = [row for row in read() if row.judge == "refuses_links" and row.given["group"] == group]

    def hubs(label: str) -> dict[str, _Hub]:
        return {row.name: _Hub(stage, f"{row.name}-{label}", row.given) for row in rows}

    before = {name: hub.follows_both() for name, hub in hubs("before").items()}
    with changed(stage, **{row.name: _value(stage, row) for row in rows}):
        in_force = hubs("in-force")
        allowed = {name: hub.follows_one() for name, hub in in_force.items()}
        time.sleep(FOREIGN_SECONDS)
        refused = {name: hub.has_refused() for name, hub in in_force.items()}
    after = {name: hub.follows_both() for name, hub in hubs("after").items()}
    return {
        name: (before[name], allowed[name], refused[name], after[name], hub.refused)
        for name, hub in in_force.items()
    }


@judge
def refuses_links(stage: Live, promise: Promise) -> str:
    """Settings of one group are set by one command; see ``_refused_together``."""
    group = promise.given["group"]
    if ("group", group) not in stage.kept:
        stage.kept["group", group] = _refused_together(stage, group)
    before, allowed, refused, after, url = stage.kept["group", group][promise.name]
    return need(
        before and allowed and not refused and after,
        f"{url.partition('//')[2][-60:]} {'was' if refused else 'was not'} requested in force, the link after it "
        f"{'was' if allowed else 'was not'}; both before: {_yes(before)}; both when it was taken back: {_yes(after)}",
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"


@judge
def limits_depth(stage: Live, promise: Promise) -> str:
    """Announced pages are two links from a seed: with a limit of 3 their links are requested, and no further ones."""

    def chain(label: str) -> str:
        host = fresh(stage, label)
        stage.site.put(host, "/two", ["/three"])
        stage.site.put(host, "/three", ["/four"])
        stage.site.announce(stage.site.url(host, "/two"))
        return host

    def came(host: str, path: str) -> bool:
        return until(lambda: stage.web.hits(host, path=path))

    before = chain("depth-before")
    need(came(before, "/four"), "a link at depth 4 was not requested before")
    with changed(stage, DEPTH_LIMIT=3):
        host = chain("depth-in-force")
        need(came(host, "/three"), "a link at depth 3 was not requested")
        time.sleep(FOREIGN_SECONDS)
        late = stage.web.hits(host, path="/four")
    again = came(chain("depth-after"), "/four")
    return need(
        not late and again,
        f"depth 4 {'was' if late else 'was not'} requested, depth 3 was; taken back: {'yes' if again else 'no'}",
    )


@judge
def stays_on_the_host(stage: Live, promise: Promise) -> str:
    """A host whose pages come one by one links to others on some of them."""
    host = fresh(stage, "stay")
    stage.site.announce(stage.site.drip(host, 60))
    first, second, third = (stage.site.url(fresh(stage, "elsewhere"), "/x") for _ in range(3))
    need(until(lambda: len(stage.web.pages(host)) > 1), f"{host} was not crawled")
    stage.site.announce(first, on=host)
    need(until(lambda: stage.web.has(first)), "a link to another host was not requested before")
    with changed(stage, stay="host") as since:
        stage.site.announce(second, on=host)
        need(until(lambda: len(stage.web.pages(host, since)) > 4), f"{host} was not crawled any more")
        time.sleep(FOREIGN_SECONDS)
        late = stage.web.has(second)
    stage.site.announce(third, on=host)
    again = until(lambda: stage.web.has(third))
    return need(
        not late and again,
        f"a link to another host {'was' if late else 'was not'} requested in force, one before it, and "
        f"{'one' if again else 'none'} after it",
    )
