"""How many keys there are to choose from: those with URLs that are neither parked nor given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract.samples import NOW, entry, found, settled
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.contract import Batch

if TYPE_CHECKING:
    from tests.contract.driven import Driven


def at_hand(backend: Driven, at_most: int = 1000) -> int:
    return backend.run(backend.backend.count_available_keys(at_most))


def test_keys_with_urls_are_counted_up_to_a_number(backend: Driven) -> None:
    assert at_hand(backend) == 0
    backend.commit(found(*(entry(f"http://{n}.test/{page}") for n in range(7) for page in range(2))))
    assert (at_hand(backend), at_hand(backend, 4), at_hand(backend, 0)) == (7, 4, 0)
    assert len(backend.activate_keys(3)) == 3
    assert (at_hand(backend), at_hand(backend, 6), at_hand(backend, 2)) == (7, 6, 2)


def test_parked_keys_and_those_given_up_are_not_counted(backend: Driven) -> None:
    backend.commit(found(*(entry(f"http://{n}.test/") for n in "abc")))
    a, b, _ = backend.activate_keys(3)
    a.record.parked, b.record.given_up = True, True
    a.record.next_fetch_at = NOW + 1000
    backend.run(backend.backend.release_keys([one.record for one in (a, b)]))
    assert at_hand(backend) == 1


def test_keys_that_have_run_dry_are_not_counted(backend: Driven) -> None:
    only = entry("http://a.test/")
    backend.commit(found(only))
    backend.activate_one()
    backend.commit(settled(only))
    assert at_hand(backend) == 0
    backend.commit(Batch(hosts=[HostRecord("a.test")]))
    assert at_hand(backend) == 0
