"""The header fields by which a server tells how many requests it allows, in their present and former forms.

Followed: draft-ietf-httpapi-ratelimit-headers-10 (24 September 2025), ``RateLimit`` and ``RateLimit-Policy``. Read as
well, because servers still send them and they can be told apart:

* drafts 07 (``RateLimit: limit=100, remaining=50, reset=5``), 04 to 07 (``RateLimit-Policy: 100;w=60``), 03 to 06
  (``RateLimit-Limit``, ``RateLimit-Remaining``, ``RateLimit-Reset``, all in requests and seconds);
* ``X-RateLimit-*`` and ``X-Rate-Limit-*`` of no specification. Their reset is in seconds, or it is a moment in
  seconds or milliseconds since 1970: what is neither a time of up to a month nor a moment near now is ignored.

Fields that cannot be parsed are ignored, as the draft demands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import http_sf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIELDS = (
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Rate-Limit-Remaining",
    "X-Rate-Limit-Reset",
)
"""The names of the fields; several lines of one are joined with commas."""

FIELD_MAX = 2_048
"""Characters of a field that is read; a longer one is ignored."""
ITEMS_MAX = 32

_REQUESTS = frozenset({None, "requests", "request"})
"""The unit of quotas that is counted here; the draft names it in both ways. Bytes are for the server to count, and
concurrent requests are one at a time."""

_NUMBER = re.compile(r"[0-9]{1,15}")
_MONTH_SECONDS = 31 * 86_400
_NEAR_SECONDS = 86_400


class Quota(NamedTuple):
    """The requests that are allowed. None: not said."""

    remaining: int | None = None
    """Requests that remain until ``reset_seconds``."""
    reset_seconds: float | None = None
    """Time until more are allowed."""
    allowed: int | None = None
    """Requests that are allowed in each ``window_seconds``."""
    window_seconds: float | None = None


def quotas(fields: Mapping[str, str], now: float) -> list[Quota]:
    """Return the quotas in header fields, by their names in ``FIELDS``; never raises. ``now``: the server's time, in
    epoch seconds."""
    known = {name: value for name, value in fields.items() if len(value) <= FIELD_MAX}
    policies = dict(_policies(known.get("RateLimit-Policy", "")))
    if "RateLimit" in known:
        return [*_limits(known["RateLimit"], policies), *_quotas_from(policies)]
    former = known.get("RateLimit-Limit", "").partition(",")[2]
    quotas = _quotas_from({**policies, **dict(_policies(former))})
    for prefix in ("RateLimit", "X-RateLimit", "X-Rate-Limit"):
        remaining = _whole(known.get(f"{prefix}-Remaining"))
        if remaining is not None:
            reset = _whole(known.get(f"{prefix}-Reset"))
            is_seconds = prefix == "RateLimit"
            return [Quota(remaining, reset if is_seconds else _until(reset, now)), *quotas]
    return quotas


class _Policy(NamedTuple):
    allowed: int | None
    window_seconds: int | None
    unit: str | None


def _policies(value: str) -> Iterator[tuple[str, _Policy]]:
    """Yield the policies of a field, by their names; those of former drafts have numbers, and are named after their
    places."""
    for number, (name, parameters) in enumerate(_items(value)):
        window, unit = _amount(parameters.get("w")), parameters.get("qu")
        if isinstance(name, str):
            allowed = _amount(parameters.get("q"))
        else:
            allowed, name = _amount(name), str(number)
        yield name, _Policy(allowed, window, unit if unit is None or isinstance(unit, str) else "")


def _limits(value: str, policies: Mapping[str, _Policy]) -> Iterator[Quota]:
    """Yield what remains of each policy, by the field ``RateLimit``."""
    for name, parameters in _items(value):
        remaining = _amount(parameters.get("r"))
        policy = policies.get(name) if isinstance(name, str) else None
        if remaining is not None and (policy is None or policy.unit in _REQUESTS):
            yield Quota(remaining, _amount(parameters.get("t")), *(policy or ())[:2])
    members = _parse_field(value, "dictionary")
    if isinstance(members, dict):
        remaining, reset = (_amount(_bare(members.get(name))) for name in ("remaining", "reset"))
        if remaining is not None:
            yield Quota(remaining, reset)


def _quotas_from(policies: Mapping[str, _Policy]) -> list[Quota]:
    return [
        Quota(None, None, policy.allowed, policy.window_seconds)
        for policy in policies.values()
        if policy.allowed is not None and policy.window_seconds and policy.unit in _REQUESTS
    ]


def _items(value: str) -> Iterator[tuple[object, dict[str, object]]]:
    """Yield the items of a list of structured fields with their parameters."""
    members = _parse_field(value, "list") if value else None
    for member in members[:ITEMS_MAX] if isinstance(members, list) else ():
        name, parameters = member if isinstance(member, tuple) else (member, {})
        if not isinstance(name, list):
            yield str(name) if isinstance(name, http_sf.Token) else name, parameters


def _parse_field(value: str, kind: str) -> object:
    try:
        return http_sf.parse(value.encode("latin-1", "replace"), tltype=kind)
    except (ValueError, http_sf.StructuredFieldError):
        return None


def _bare(member: object) -> object:
    return member[0] if isinstance(member, tuple) else member


def _amount(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _whole(text: str | None) -> int | None:
    """Return a number in a field of former drafts; of one that was sent twice nothing."""
    text = (text or "").strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def _until(reset: int | None, now: float) -> float | None:
    """Return the seconds until a reset that may be a time or a moment; None if it cannot be told."""
    if reset is None or reset <= _MONTH_SECONDS:
        return reset
    for moment in (reset, reset / 1000):
        if -_NEAR_SECONDS <= moment - now <= _MONTH_SECONDS:
            return max(moment - now, 0.0)
    return None
