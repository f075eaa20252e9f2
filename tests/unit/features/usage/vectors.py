"""Sites that say what they may be used for, made of choices, and what follows from these choices.

The truth is computed from the choices, not from the texts: ``Vector.truth`` never parses.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

PURPOSES = ("search", "ai-input", "train-ai", "tdm")
AGENT = "webcrawl"
PATH = "/docs/a/page.html"
COVERING = ("", "/", "/docs/", "/docs/a/", "/*a/page.html$", "/docs/*/page")
"""Paths of rules that match ``PATH``, and none; all of different length."""
OTHER = ("/other/", "/docs/b/", "/*.pdf$")


@dataclass
class Vector:
    """A site with one page. ``stated``: what counts, as pairs of a purpose and whether the use is allowed."""

    robots: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    metas: list[tuple[str, str]] = field(default_factory=list)
    robots_metas: list[str] = field(default_factory=list)
    tdm: str = ""
    stated: list[tuple[str, bool]] = field(default_factory=list)

    def truth(self):
        verdicts = {}
        for purpose in PURPOSES:
            answers = {allowed for name, allowed in self.stated if name == purpose}
            if answers:
                verdicts[purpose] = "no" if False in answers else "yes"
        return verdicts


def vectors(count, seed=2026):
    """The same vectors for the same seed."""
    chance = random.Random(seed)
    return [_vector(chance) for _ in range(count)]


def _vector(chance):
    vector = Vector()
    if chance.random() < 0.7:
        vector.robots = _robots(chance, vector)
    if chance.random() < 0.3:
        text, stated = _usage(chance)
        vector.headers.append(("Content-Usage", text))
        vector.stated += stated
    if chance.random() < 0.3:
        text, stated = _signal(chance)
        vector.headers.append(("Content-Signal", text))
        vector.stated += stated
    _directives(chance, vector)
    _reservations(chance, vector)
    return vector


def _usage(chance):
    """A dictionary of AIPREF, and what it states."""
    parts, stated = [], []
    for label in chance.sample(("train-ai", "search", "bots", "ai-output"), chance.randint(0, 3)):
        value = chance.choice(("y", "n", "y;x=1", "n;why=law", "maybe", "?1", '"n"'))
        parts.append(f"{label}={value}")
        if label in PURPOSES and value[:1] in "yn" and value[1:2] in ("", ";"):
            stated.append((label, value[0] == "y"))
    return chance.choice((", ", ",", " , ")).join(parts), stated


def _signal(chance):
    """The signals of Cloudflare, and what they state."""
    parts, stated = [], []
    for signal, purpose in (("search", "search"), ("ai-input", "ai-input"), ("ai-train", "train-ai")):
        value = chance.choice(("yes", "no", "No", None))
        if value is not None:
            parts.append(f"{signal}={value}")
            stated.append((purpose, value == "yes"))
    if chance.random() < 0.3:
        parts.append("use=reference")
    return chance.choice((", ", ",")).join(parts), stated


def _robots(chance, vector):
    """A robots.txt with a group for all and perhaps one for us, in any order; what our group states counts."""
    groups = [["*"]]
    if chance.random() < 0.4:
        groups.append([chance.choice((AGENT, AGENT.upper(), f"{AGENT}/1.0"))])
    if chance.random() < 0.4:
        groups.append(["otherbot"])
    decisive = groups[1][0] if len(groups) > 1 and groups[1] != ["otherbot"] else "*"
    texts = []
    for [agent] in groups:
        lines, stated = _group(chance)
        if agent == decisive:
            vector.stated += stated
        texts.append("\n".join([f"User-agent: {agent}", *lines]))
    chance.shuffle(texts)
    return chance.choice(("\n", "\n\n")).join(texts) + "\n"


def _group(chance):
    lines, stated = ["Allow: /"], []
    for name, statement in (("Content-Usage", _usage), ("Content-Signal", _signal)):
        best = -1
        chosen = []
        for path in chance.sample((*COVERING, *OTHER), chance.randint(0, 3)):
            text, meaning = statement(chance)
            lines.append(f"{name}: {path} {text}" if path else f"{name}: {text}")
            if path not in OTHER:
                length = len(path) if path else 0
                if length > best:
                    best, chosen = length, meaning
        stated += chosen
    chance.shuffle(lines)
    return lines, stated


_DIRECTIVES = {
    "noindex": ["search"],
    "none": ["search"],
    "noai": ["ai-input", "train-ai"],
    "nosnippet": ["ai-input"],
    "max-snippet:0": ["ai-input"],
    "max-snippet:20": [],
    "noarchive": [],
    "noimageai": [],
    "index": [],
}


def _directives(chance, vector):
    for place in ("X-Robots-Tag", "Robots-Tag", "meta"):
        if chance.random() > 0.25:
            continue
        rules = chance.sample(sorted(_DIRECTIVES), 2)
        vector.stated += [(purpose, False) for rule in rules for purpose in _DIRECTIVES[rule]]
        if place == "meta":
            vector.robots_metas.append(", ".join(rules))
        elif place == "X-Robots-Tag":
            vector.headers.append((place, f"otherbot: noai, {AGENT}: {rules[0]}"))
            vector.headers.append((place, rules[1]))
        else:
            ours, all_agents = (rule.replace(":", "=") for rule in rules)
            vector.headers.append((place, f"*;{all_agents}, otherbot;noai, {AGENT};{ours}"))


def _reservations(chance, vector):
    """TDMRep: what is nearest counts."""
    nearest = None
    for place in ("file", "header", "meta"):
        if chance.random() > 0.3:
            continue
        value = chance.choice(("1", "0", "2"))
        if place == "file":
            vector.tdm = json.dumps(
                [
                    {"location": "/other/", "tdm-reservation": 1},
                    {"location": "/docs/", "tdm-reservation": int(value)},
                    {"location": "/", "tdm-reservation": 2},
                ]
            )
        elif place == "header":
            vector.headers.append(("tdm-reservation", value))
        else:
            vector.metas.append(("tdm-reservation", value))
        if value != "2":
            nearest = value
    if nearest == "1":
        vector.stated += [("tdm", False), ("train-ai", False)]
    elif nearest == "0":
        vector.stated.append(("tdm", True))
