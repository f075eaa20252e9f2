"""How a URL comes to its comparable form: what each switch of the rules made of it, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from webcrawl.urls.canonical import DEFAULT, CanonicalRules, canonical

SWITCHES = tuple(field.name for field in fields(CanonicalRules) if field.init)
"""The names of all switches, in the order in which they are told."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one switch did; ``before`` and ``after`` are the same where it found nothing to do."""

    switch: str
    before: str
    after: str


def canonical_steps(url: str, rules: CanonicalRules = DEFAULT) -> list[Step]:
    """Return a step for each switch that is on. The last one ends in ``canonical(url, rules)``.

    A step is what the switch adds to those before it: the forms are those that rules with ever more switches
    give, so nothing of the rewriting is said twice.
    """
    given = {name: getattr(rules, name) for name in SWITCHES}
    so_far = replace(rules, **{name: type(value)() for name, value in given.items()})
    steps, form = [], canonical(url, so_far)
    for name, value in given.items():
        if not value:
            continue
        so_far = replace(so_far, **{name: value})
        after = canonical(url, so_far)
        steps.append(Step(name, form, after))
        form = after
    return steps
