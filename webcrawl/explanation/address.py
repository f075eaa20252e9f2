"""What a URL is called: as it is requested, as it is compared, and whose clock it is under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.urls.canonical import DEFAULT, CanonicalRules, canonical
from webcrawl.urls.canonical_steps import Step, canonical_steps
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import host_of, origin_of
from webcrawl.urls.resolution import Change, changes

if TYPE_CHECKING:
    from webcrawl.urls.host_rules import HostRule


@dataclass(frozen=True, slots=True)
class Address:
    """A URL with all names that follow from it alone."""

    written: str
    url: str
    """As it is requested."""
    changes: tuple[Change, ...]
    """What resolving changed."""
    steps: tuple[Step, ...]
    """From ``url`` to ``canonical``; the WHATWG form itself is no step."""
    host_steps: tuple[tuple[HostRule, str], ...]
    """The host rules that were applied, each with the name that it made."""
    canonical: str
    fingerprint: int
    """Of a plain GET."""
    host: str
    origin: str


def address_of(written: str, url: str, rules: CanonicalRules = DEFAULT, *, absolute: bool = True) -> Address:
    """``written``: as it was given; ``url``: as ``urls.resolve`` returns it. Of a relative link no part changed."""
    form = canonical(url, rules)
    return Address(
        written=written,
        url=url,
        changes=tuple(changes(written, url)) if absolute else (),
        steps=tuple(canonical_steps(url, rules)),
        host_steps=() if rules.hosts is None else tuple(rules.hosts.steps(host_of(url))),
        canonical=form,
        fingerprint=fingerprint(form),
        host=host_of(url),
        origin=origin_of(url),
    )
