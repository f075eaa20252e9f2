"""The contract on a real Redis Cluster, by those of its sentences in which several shards have a part.

The whole suite runs there as a long run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.conftest import on_cluster
from tests.contract.test_commits import (  # noqa: F401 - they run here once more
    test_a_commit_tells_what_it_queued_and_how_much_is_queued_in_all,
    test_a_hop_of_a_robots_redirect_is_queued_whatever_was_seen_and_is_no_url_of_the_crawl,
    test_a_key_whose_last_url_is_settled_after_its_release_is_not_idle,
    test_a_url_that_is_tried_again_is_queued_once_and_still_known,
    test_full_queues_lose_the_lowest_level_first_and_of_it_the_last_come,
    test_links_and_the_end_of_their_page_are_one_commit,
    test_many_urls_of_many_keys_fit_in_one_commit,
)
from tests.contract.test_keys import (  # noqa: F401
    test_a_key_becomes_active_once,
    test_given_up_keys_are_passed_over_and_their_urls_kept,
    test_idle_times_of_parked_keys_are_told_apart_from_those_that_merely_rest,
    test_no_more_keys_become_active_than_were_asked_for,
    test_robots_answers_come_along_with_the_head_of_a_queue,
    test_the_draw_prefers_high_levels_and_starves_none,
    test_the_last_words_of_a_released_key_come_back_with_it,
)
from tests.contract.test_queues import (  # noqa: F401
    test_loading_stretch_after_stretch_gives_the_whole_queue_once,
    test_queues_do_not_touch_each_other,
)
from tests.contract.test_reopening import (  # noqa: F401
    restart,
    test_a_key_that_was_left_active_rests_its_delay_from_the_moment_of_opening_or_longer,
    test_queues_states_and_counts_are_found_again,
)
from tests.contract.test_waiting_keys import test_only_the_keys_that_are_named_are_woken  # noqa: F401

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from tests.contract.conftest import MakeBackend
    from tests.redis_server import RedisCluster


@pytest.fixture
def make_backend(runner: asyncio.Runner, redis_cluster: RedisCluster) -> Iterator[MakeBackend]:
    yield from on_cluster(runner, redis_cluster)
