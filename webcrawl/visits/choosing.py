"""Which policy an operator chose."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from webcrawl.visits.freshness import FreshnessPolicy
from webcrawl.visits.policies import FixedPolicy, MultiplicativePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webcrawl.visits.policies import Pace, RevisitPolicy

POLICIES: Mapping[str, Callable[[Pace], RevisitPolicy]] = {
    "fixed": FixedPolicy,
    "multiplicative": MultiplicativePolicy,
    "freshness": FreshnessPolicy,
}


def policy_of(name: str, pace: Pace) -> RevisitPolicy:
    """The policy of that name, or what the import path ``package.module.Class`` names, built from ``pace``.

    :raises ValueError: there is none, or it does not take the pace
    """
    built = POLICIES.get(name)
    if built is None:
        built = _imported(name)
    policy = built(pace)
    if not callable(getattr(policy, "next_visit_at", None)) or not callable(getattr(policy, "explain", None)):
        raise ValueError(
            f"{name} makes no policy: next_visit_at(history, now) and explain(history, now) are needed"
        )
    return policy


def _imported(path: str) -> Callable[[Pace], RevisitPolicy]:
    module, _, attribute = path.rpartition(".")
    if not module:
        raise ValueError(
            f"there is no policy {path!r}; there are {', '.join(POLICIES)}, or an import path of yours"
        )
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the policy {path!r} cannot be imported: {error}") from error
    if not callable(found):
        raise ValueError(f"{path!r} is no class of policies")
    return cast("Callable[[Pace], RevisitPolicy]", found)
