from __future__ import annotations

import errno
import random
from typing import TYPE_CHECKING

import pytest

from webcrawl.frontier.seen import Seen

if TYPE_CHECKING:
    from pathlib import Path


def numbers(seed: int, count: int) -> list[int]:
    """Different signed 64-bit numbers, as fingerprints are."""
    drawn = random.Random(seed)
    return list({drawn.randrange(-(1 << 63), 1 << 63) for _ in range(count)})


def test_what_was_added_is_never_new_again() -> None:
    seen = Seen(1000, 1e-3)
    known = numbers(1, 5000)
    for number in known:
        seen.add(number)
    assert not any(seen.add(number) for number in known)


def test_few_new_urls_are_taken_for_known_over_all_layers_together() -> None:
    # 100,000 additions to a first layer of 10,000 need four layers.
    error_rate = 1e-3
    seen = Seen(10_000, error_rate)
    known = numbers(2, 100_000)
    wrong = sum(not seen.add(number) for number in known)
    assert wrong <= error_rate * len(known)
    assert len(seen) == len(known) - wrong
    assert len(seen._layers) == 4


def test_boundary_fingerprints_are_different_urls() -> None:
    seen = Seen(100, 1e-6)
    boundary = [0, 1, -1, (1 << 63) - 1, -(1 << 63), 1 << 32, -(1 << 32)]
    assert all(seen.add(number) for number in boundary)
    assert not any(seen.add(number) for number in boundary)


def test_what_was_saved_is_known_after_loading_and_goes_on_growing(tmp_path: Path) -> None:
    seen = Seen(500, 1e-4)
    known, more = numbers(3, 2000), numbers(4, 2000)
    for number in known:
        seen.add(number)
    seen.save(tmp_path / "seen")
    loaded = Seen.load(tmp_path / "seen")
    assert len(loaded) == len(seen)
    assert not any(loaded.add(number) for number in known)
    assert sum(loaded.add(number) for number in more) >= len(more) - 2
    assert [layer.capacity for layer in loaded._layers] == [500, 1000, 2000, 4000]


def test_an_empty_filter_can_be_saved_and_loaded(tmp_path: Path) -> None:
    Seen(100, 1e-4).save(tmp_path / "seen")
    loaded = Seen.load(tmp_path / "seen")
    assert len(loaded) == 0
    assert loaded.add(1)


def test_saving_replaces_the_file_as_a_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "seen"
    path.write_bytes(b"an older one")
    Seen(100, 1e-4).save(path)
    Seen.load(path)
    assert [each.name for each in tmp_path.iterdir()] == ["seen"]


def test_a_disk_without_room_costs_neither_the_old_file_nor_more_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "seen"
    seen = Seen(100, 1e-4)
    seen.add(1)
    seen.save(path)
    seen.add(2)

    def no_room(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", no_room)
    with pytest.raises(OSError, match="No space left"):
        seen.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["seen"]
    assert len(Seen.load(path)) == 1


@pytest.mark.parametrize("cut", [0, 1, 3, 50, 200, -1])
def test_a_file_that_was_cut_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "seen"
    Seen(1000, 1e-4).save(path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match="seen"):
        Seen.load(path)


def test_a_wrong_bit_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "seen"
    seen = Seen(100, 1e-2)
    for number in numbers(5, 150):
        seen.add(number)
    seen.save(path)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            Seen.load(path)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "seen").write_text('{"capacity": 5}\n' * 100)
    with pytest.raises(ValueError, match="no filter"):
        Seen.load(tmp_path / "seen")
