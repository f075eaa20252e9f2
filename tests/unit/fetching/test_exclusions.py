"""An exclusion that came while the connection was made is obeyed: the list is asked when all is ready to be sent."""

from __future__ import annotations

from tests.unit.fetching.lab import answering, fetch_from
from webcrawl.refusal import Refused
from webcrawl.scope.exclusion import ExclusionList

PAGE = b"HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\nhello"


def test_nothing_is_sent_to_what_is_excluded_by_now() -> None:
    sent: list[bytes] = []
    exclusions = ExclusionList.of(b"127.0.0.1 # mail\nlocalhost\n")
    fetched = fetch_from(answering(PAGE, record=sent), facts={"exclusions": exclusions})

    assert isinstance(fetched.error, Refused)
    assert fetched.error.rule == "exclusion"
    assert sent == []


def test_what_was_sent_remembers_the_list() -> None:
    exclusions = ExclusionList.of(b"elsewhere.test\n")
    fetched = fetch_from(answering(PAGE), facts={"exclusions": exclusions})

    assert fetched.response is not None
    assert fetched.meta.sent_under == exclusions.version
