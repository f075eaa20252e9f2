"""An explanation as text: short aligned lines, with local times and their distances from now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from webcrawl.explain import discovery, features
from webcrawl.explain.account import Conclusion, Fate
from webcrawl.explain.rules import RuleStage
from webcrawl.features.usage.statements import deciding_source
from webcrawl.politeness.refusals import KINDS
from webcrawl.reports import text as units
from webcrawl.robots.answer import RobotsState
from webcrawl.robots.purposes import PURPOSES
from webcrawl.storage.inspection import HOSTS_COUNTED, Activity, Demand
from webcrawl.urls.lists import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webcrawl.explain.account import ExaminedCrawl, Explanation
    from webcrawl.explain.rules import RobotsWord, UsageWord
    from webcrawl.storage.inspection import KeySnapshot, UrlSnapshot

Row = tuple[str, str]
"""A name and its text."""

_UNKNOWN = "not known"


def as_text(explanation: Explanation, crawl: ExaminedCrawl) -> str:
    """Return the whole explanation in sections; the conclusion comes first."""
    sections: list[tuple[str, Sequence[Row]]] = [
        ("URL", list(_url(explanation))),
        ("scope", list(_scope(explanation))),
        ("robots.txt", list(_robots(explanation.robots, explanation.now))),
        *([] if explanation.usage.is_silent else [("usage", list(_usage(explanation.usage)))]),
        ("frontier", list(_frontier(explanation, crawl))),
    ]
    if explanation.discovery is not None:
        found_rows = list(discovery.rows(explanation.discovery, lambda at: moment(at, explanation.now)))
        sections.append(("found", [(name, escaped(text)) for name, text in found_rows]))
    if explanation.waiting is not None:
        sections.append(("clocks", list(_clocks(explanation))))
    if explanation.remembered is not None:
        history = list(features.revisit_rows(explanation.remembered, lambda at: moment(at, explanation.now)))
        sections.append(("visits", [(name, escaped(text)) for name, text in history]))
    if explanation.worth is not None:
        sections.append(
            ("focus", [(name, escaped(text)) for name, text in features.worth_rows(explanation.worth)])
        )
    if explanation.visits is not None:
        sections.append(("fetch log", list(_log(explanation))))
    lines = [explanation.address.url, f"  {conclusion_in_words(explanation)}"]
    width = max(len(name) for _, rows in sections for name, _ in rows)
    for title, rows in sections:
        lines += ["", title, *(f"  {name:<{width}}  {text}".rstrip() for name, text in rows)]
    return "\n".join(lines)


def moment(at: float, now: float) -> str:
    """Return ``2026-11-21 14:03:05 (in 12.0 s)``, in local time."""
    away = f"in {units.duration(at - now)}" if at > now else f"{units.duration(now - at)} ago"
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M:%S} ({away})"


# -- the conclusion ------------------------------------------------------------------------------------------


def conclusion_in_words(explanation: Explanation) -> str:
    """Return the conclusion as one sentence."""
    conclusion = explanation.conclusion
    words = _FATES[conclusion.fate]
    if conclusion.fate is Fate.DONE and explanation.remembered is not None:
        words = f"fetched; visited again {moment(explanation.remembered.page.next_visit_at, explanation.now)}"
    onward = None if explanation.discovery is None else explanation.discovery.onward
    if conclusion.fate in (Fate.DONE, Fate.FAILED) and onward is not None:
        return f"{_FETCHED if conclusion.fate is Fate.DONE else words}; {onward.in_words()}"
    if conclusion.rule is not None:
        words += f": {conclusion.rule}"
        if conclusion.rule in KINDS:
            kind = KINDS[conclusion.rule]
            words += f", {kind.meaning}; what would help: {kind.remedy}"
    elif conclusion.fate in (Fate.FAILED, Fate.REFUSED):
        words += "; the rule is not stored; the log of the crawl may have it"
    if conclusion.fate is Fate.WAITS:
        words += _when(explanation)
    if explanation.discovery is not None and explanation.discovery.is_withheld:
        words += "; the links to it are not followed, see below"
    if conclusion.leased is None:
        words += "; or on its way just now, as only the worker with its key knows"
    return words


def _when(explanation: Explanation) -> str:
    waiting, snapshot = explanation.waiting, explanation.snapshot
    assert waiting is not None, "what waits in a queue was looked up in a crawl"
    assert snapshot is not None, "what waits in a queue was looked up in a crawl"
    words = []
    working = bool(snapshot.running_workers) and snapshot.demand is Demand.RUN
    if not snapshot.running_workers:
        words.append("no worker is running")
    elif not working:
        words.append(f"the crawl is to {snapshot.demand}")
    if waiting.binding is not None and waiting.earliest_at is not None:
        at = moment(waiting.earliest_at, explanation.now)
        words.append(f"may be fetched {at}, by {waiting.binding.name}")
    else:
        words.append("its time has come")
    if snapshot.before:
        words.append(_behind(snapshot.before, explanation.conclusion if working else None, explanation.now))
    return "".join(f"; {word}" for word in words)


def _behind(before: int, conclusion: Conclusion | None, now: float) -> str:
    """``conclusion``: None if the URLs before it are not being fetched."""
    words = f"behind {units.things(before, 'URL')}"
    if conclusion is None or conclusion.turn_at is None:
        return words
    return f"{words}, so about {moment(conclusion.turn_at, now)}"


_FETCHED = "done: it was fetched"
_FATES = {
    Fate.DONE: "done: it was fetched, and is not fetched again",
    Fate.FAILED: "failed",
    Fate.REFUSED: "refused",
    Fate.SETTLED: "known and not queued: this seen test does not store results",
    Fate.WAITS: "queued",
    Fate.KEPT: "queued until the next run: its key is no longer contacted in this run",
    Fate.WILL_BE_REFUSED: "queued, and refused when its turn comes",
    Fate.WOULD_BE_REFUSED: "not known; refused when it is found",
    Fate.WOULD_BE_QUEUED: "not known; queued when it is found",
    Fate.ROBOTS: "a robots.txt: fetched when a page of its origin needs it",
}


# -- the sections --------------------------------------------------------------------------------------------


def _url(explanation: Explanation) -> Iterator[Row]:
    address = explanation.address
    if address.written != address.url:
        yield "as written", escaped(address.written)
    for change in address.changes:
        yield change.part, f"{_quoted(change.before)} -> {_quoted(change.after)}"
    for step in address.steps:
        done = "nothing to do" if step.before == step.after else f"-> {step.after}"
        yield step.switch, done
    for rule, name in address.host_steps:
        yield rule.kind, f"{rule.found} {rule.instead}".rstrip() + f": known as {name}"
    same = address.canonical == address.url
    yield "canonical form", "the same" if same else address.canonical
    yield "fingerprint", str(address.fingerprint)
    yield "host", address.host
    yield "key", explanation.key


def _quoted(text: str | None) -> str:
    return "none" if text is None else repr(text)


def _scope(explanation: Explanation) -> Iterator[Row]:
    scoping = explanation.scoping
    decided = scoping.decided_by
    if scoping.stage is RuleStage.EMBED and decided is None:
        hops = units.things(scoping.embed_hops, "hop")
        yield "verdict", f"in scope, by EMBED_HOPS_MAX: an embed, {hops} from a page"
    else:
        yield "verdict", "in scope" if decided is None else f"out of scope, by {decided.rule}"
    depth = f"depth {scoping.depth}" if scoping.depth_known else "depth not known, taken as 0"
    yield "evaluated as", f"{scoping.stage}, {depth}"
    for word in scoping.words:
        objection = word.objection or "no objection"
        if not word.applies:
            objection = f"does not apply to {_a(scoping.stage)} (otherwise: {objection})"
        yield word.rule, objection + (" <- decides" if word is decided else "")


def _a(stage: RuleStage) -> str:
    return f"an {stage}" if stage is RuleStage.EMBED else f"a {stage}"


def _robots(word: RobotsWord, now: float) -> Iterator[Row]:
    record, decided = word.record, word.deciding
    yield "origin", word.origin
    if record is None:
        yield "state", "not known; fetched before the first page"
        return
    yield "state", str(record.state).replace("_", " ") + ("" if word.fresh else ", expired")
    had = record.state in (RobotsState.RULES, RobotsState.ALLOWED_ALL)
    yield "fetched" if had else "since", moment(record.fetched_at, now)
    yield "holds until" if had else "retried", moment(record.expires_at, now)
    if record.attempts:
        yield "failed", f"{_times(record.attempts)} in a row"
    if record.crawl_delay_seconds is not None:
        yield "Crawl-delay", f"{record.crawl_delay_seconds:g} s"
    yield "verdict", ("allowed: " if word.allowed else "not allowed: ") + word.reason
    if decided is not None and decided.rule is not None:
        for line in (*decided.group, decided.rule):
            yield f"line {line.number}", escaped(line.text)


def _usage(word: UsageWord) -> Iterator[Row]:
    """Yield the verdicts with the statements that decide, and the others."""
    if word.fetched is not None:
        yield "last page", "withheld: in the archive alone" if word.withheld else "used"
        yield from _verdicts(word.fetched)
    if word.known and word.known != word.fetched:
        yield "robots.txt", "says now" + (", and so the URL is not requested" if word.refused else "")
        yield from _verdicts(word.known)


def _verdicts(record: Mapping[str, Any]) -> Iterator[Row]:
    decisive = []
    for purpose in PURPOSES:
        source = deciding_source(record, purpose)
        if source is not None:
            decisive.append(source)
            yield f"  {purpose}", f"{record[purpose]} <- {_source(source)}"
    if not decisive:
        yield "  verdicts", "unknown: nothing is said"
    for source in record.get("sources", ()):
        if source not in decisive:
            overruled = ", overruled by a nearer place" if source.get("overruled") else ""
            yield "  also", f"{_source(source)}{overruled}"


def _source(source: Mapping[str, Any]) -> str:
    return escaped(f"{source.get('place')}: {source.get('text')}")


def _times(number: int) -> str:
    return units.things(number, "time")


def _frontier(explanation: Explanation, crawl: ExaminedCrawl) -> Iterator[Row]:
    yield "crawl", crawl.name
    if crawl.note is not None:
        yield "note", crawl.note
    for difference in crawl.differs:
        yield "differs", f"{difference.name} is {difference.there} there and {difference.here} here"
    snapshot = explanation.snapshot
    if snapshot is None:
        return
    yield "workers", ", ".join(snapshot.running_workers) or "none running"
    yield "state", _state(snapshot)
    entry = snapshot.entry
    if entry is not None:
        if entry.url != explanation.address.url:
            yield "queued as", entry.url
        yield "via", entry.via or "named by the operator"
        yield "depth", str(entry.depth)
        yield "level", str(entry.level)
        yield "attempts", str(entry.attempts)
        yield "place", f"behind {units.things(snapshot.before, 'URL')} of its queue"
    yield from _key(snapshot.key, explanation.now)


def _state(snapshot: UrlSnapshot) -> str:
    if snapshot.record is None:
        return "known, its state is not kept" if snapshot.known else _UNKNOWN
    more = ", and queued once more" if snapshot.entry is not None and snapshot.entry.repeat else ""
    return f"{snapshot.record}{more}"


def _key(key: KeySnapshot | None, now: float) -> Iterator[Row]:
    if key is None:
        yield "key's record", "none: no URL of this key was ever queued"
        return
    record = key.record
    activity = str(key.activity).replace("_", " ")
    if key.activity is Activity.ACTIVE:
        activity += f", with {key.holder}" if key.holder else ", as its process left it"
    if record.parked:
        activity += ", parked"
    yield "key is", f"{activity}; {units.things(key.queued, 'URL')} queued"
    if key.hosts_before is not None:
        yield "turn", _turn(key.hosts_before)
    if key.held_until is not None:
        yield "lease ends", f"{moment(key.held_until, now)}, unless it is renewed"
    yield "delay", f"{record.delay_seconds:g} s"
    yield (
        "requests",
        f"{units.count(record.fetches)}, of which {units.things(record.pages, 'page')} in the budget",
    )
    if record.refusals:
        yield (
            "refusals",
            f"{record.refusals} since its last page, left alone {_times(record.refusal_rests)}, last: "
            f"{record.last_error}",
        )
    elif record.failures or record.last_error:
        yield (
            "failures",
            f"{record.failures} in a row, parked {_times(record.parks)}, last: {record.last_error}",
        )


def _turn(hosts_before: int) -> str:
    if not hosts_before:
        return "next: no other host of its level has waited longer"
    more = "at least " if hosts_before >= HOSTS_COUNTED else ""
    return f"behind {more}{units.things(hosts_before, 'host')} of its level that waited longer"


def _clocks(explanation: Explanation) -> Iterator[Row]:
    waiting = explanation.waiting
    assert waiting is not None
    for clock in waiting.clocks:
        at = "no time" if clock.until is None else moment(clock.until, explanation.now)
        yield clock.name, f"{at}: {clock.because}" + (" <- binds" if clock is waiting.binding else "")
    if waiting.binding is None:
        rule = explanation.conclusion.rule
        yield "binding", f"none; it is not fetched: {rule}" if rule else "none: it may be fetched now"


def _log(explanation: Explanation) -> Iterator[Row]:
    visits = explanation.visits
    assert visits is not None
    if not visits.count:
        yield "lines", "none"
    elif visits.count > len(visits.last):
        yield "lines", f"{units.count(visits.count)}, the last {len(visits.last)} are"
    for line in visits.last:
        yield _ended(line), _fetched(line, explanation.now)


def _ended(line: Mapping[str, Any]) -> str:
    return str(line.get("status") or line.get("error") or "?")


def _refusal(line: Mapping[str, Any]) -> str:
    named = ", ".join(str(line[name]) for name in ("refusal_by", "refusal_detail") if line.get(name))
    return f"{line['refusal']} ({named})" if named else str(line["refusal"])


def _near_duplicate(line: Mapping[str, Any]) -> str:
    share = line.get("resemblance")
    much = f"{share:.0%} of " if isinstance(share, float) else ""
    withheld = [
        words
        for name, words in (("links_withheld", "links not followed"), ("body_withheld", "body not stored"))
        if line.get(name)
    ]
    cluster = f"cluster {line.get('cluster')}: {much}its text is that of {line['near_duplicate_of']}"
    return " and ".join([cluster, *withheld])


def _fetched(line: Mapping[str, Any], now: float) -> str:
    end = line.get("end")
    parts = [moment(end, now) if isinstance(end, int | float) else _UNKNOWN, str(line.get("kind"))]
    parts += [f"{name} {line[name]}" for name in ("mime", "location", "worker") if line.get(name)]
    if isinstance(line.get("bytes"), int):
        parts.insert(2, units.size(line["bytes"]))
    if isinstance(received := line.get("robots_received"), int | float) and line.get("kind") != "robots":
        parts.append(f"under the robots.txt of {datetime.fromtimestamp(received):%Y-%m-%d %H:%M:%S.%f}"[:-3])
    if line.get("near_duplicate_of"):
        parts.append(_near_duplicate(line))
    if line.get("refusal"):
        parts.append(f"refused by the site: {_refusal(line)}")
    if isinstance(line.get("cut"), int):
        parts.append(f"cut: read for {units.size(line['cut'])}, and links after that are not known")
    elif line.get("truncated"):
        parts.append(f"not whole in the archive ({line['truncated']})")
    if isinstance(line.get("links_dropped"), int):
        parts.append(
            f"{units.things(line['links_dropped'], 'link')} dropped, over LINKS_PER_PAGE_MAX or too long"
        )
    return ", ".join(parts)
