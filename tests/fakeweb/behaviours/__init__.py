"""Ways for a page to misbehave, by name. Each file holds one family; a behaviour is a function of a Stage."""

from tests.fakeweb.behaviours.broken import BROKEN
from tests.fakeweb.behaviours.changing import CHANGING
from tests.fakeweb.behaviours.codings import CODINGS
from tests.fakeweb.behaviours.contents import CONTENTS
from tests.fakeweb.behaviours.costly import COSTLY
from tests.fakeweb.behaviours.headers import HEADERS
from tests.fakeweb.behaviours.heavy import HEAVY, HEAVY_FORMS
from tests.fakeweb.behaviours.huge import HUGE
from tests.fakeweb.behaviours.redirects import REDIRECTS
from tests.fakeweb.behaviours.refusals import REFUSALS
from tests.fakeweb.behaviours.sitemaps import SITEMAPS
from tests.fakeweb.behaviours.slow import SLOW
from tests.fakeweb.behaviours.stage import Behaviour, Outcome, Stage
from tests.fakeweb.behaviours.statuses import STATUSES
from tests.fakeweb.behaviours.tags import TAGS
from tests.fakeweb.behaviours.traps import TRAPS, is_trap

BEHAVIOURS: dict[str, Behaviour] = {
    **STATUSES,
    **REDIRECTS,
    **REFUSALS,
    **SLOW,
    **HUGE,
    **HEAVY,
    **BROKEN,
    **COSTLY,
    **CODINGS,
    **HEADERS,
    **CONTENTS,
    **CHANGING,
    **TAGS,
    **SITEMAPS,
    **TRAPS,
}

__all__ = ["BEHAVIOURS", "HEAVY_FORMS", "Behaviour", "Outcome", "Stage", "is_trap"]
