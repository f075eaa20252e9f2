"""The kinds of refusals, and their table in the documentation."""

from __future__ import annotations

from pathlib import Path

from webcrawl.politeness.refusals import KINDS, SiteRefusal

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "when-sites-refuse.md"


def test_the_guide_has_each_kind_with_its_meaning_and_what_would_help() -> None:
    rows = [
        line.strip("| ").split(" | ") for line in GUIDE.read_text().splitlines() if line.startswith("| `")
    ]
    assert rows == [
        [f"`{name}`", kind.meaning, kind.remedy, "yes" if kind.is_of_host else "no"]
        for name, kind in KINDS.items()
    ]


def test_no_remedy_is_an_evasion() -> None:
    words = " ".join(kind.remedy for kind in KINDS.values()).lower()
    assert not any(word in words for word in ("proxy", "user-agent", "pretend", "solve", "rotate"))


def test_only_a_limit_of_requests_is_tried_again() -> None:
    assert [kind for kind in KINDS if not SiteRefusal(kind).is_final] == ["rate-limited"]


def test_a_refusal_is_written_with_what_is_known_of_it() -> None:
    assert str(SiteRefusal("legal")) == "legal"
    assert str(SiteRefusal("challenge", "Cloudflare")) == "challenge (Cloudflare)"
    assert (
        str(SiteRefusal("payment-required", "Cloudflare", "USD 1")) == "payment-required (Cloudflare, USD 1)"
    )
