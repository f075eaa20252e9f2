"""Ways for a page to misbehave, by name. Each file holds one family."""

from tests.fakeweb.behaviours.redirects import REDIRECTS
from tests.fakeweb.behaviours.stage import Behaviour, Outcome, Stage

BEHAVIOURS: dict[str, Behaviour] = {**REDIRECTS}

__all__ = ["BEHAVIOURS", "Behaviour", "Outcome", "Stage"]
