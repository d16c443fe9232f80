"""The operator's views: what waits, the tasks, the charts and the state of the server itself.

Each test has a server of its own temper: one that keeps files for long, one whose clock moves on, one that soon
loses patience with a task, one whose disk has gone.
"""

import shutil

import pytest

from support.page import dev, walk
from support.wall_clock import WallClock


@pytest.fixture
def address(tmp_path):
    with dev(tmp_path) as found:
        yield found


def test_what_waits_is_seen_by_workspace_age_and_state_and_moves_by_itself(address):
    walk("uploads_board", address)


def test_news_that_comes_faster_than_it_can_be_looked_at_is_shown(address):
    walk("news_without_end", address)


def test_what_expires_soon_is_a_heap_of_its_own(address):
    walk("expiring", address)


def test_tasks_stand_in_columns_and_tell_their_story(address):
    walk("delegations_board", address)


def test_the_files_of_a_task_and_of_its_result_are_there_to_be_read(address):
    walk("task_files", address)


def test_a_stuck_task_stands_out(tmp_path):
    with dev(tmp_path, delegations_stuck_after="1s", delegations_sweep_every="100ms") as address:
        walk("stuck_task", address)


def test_the_charts_are_drawn_from_the_servers_own_figures(tmp_path):
    clock = WallClock(tmp_path)
    forgetful = {"uploads_ttl": "5m", "uploads_sweep_every": "100ms", "uploads_ack_retention": "1m"}
    with dev(tmp_path / "dev", clock.environment, metrics_sample_every="500ms", **forgetful) as address:
        walk("dashboard", address, WALL_CLOCK_FILE=clock.environment["WALL_CLOCK_FILE"])


def test_the_state_of_the_server_is_shown_without_its_secrets(tmp_path):
    with dev(tmp_path, log_level="warn") as address:
        walk("health", address)


def test_a_store_that_has_failed_is_named_with_the_reason(tmp_path):
    with dev(tmp_path) as address:
        shutil.move(tmp_path / "data" / "blobs", tmp_path / "elsewhere")
        walk("broken_store", address)


def test_five_hundred_files_and_hostile_names_are_a_list(address):
    walk("full_board", address)


def test_no_view_is_wider_than_a_telephone(address):
    walk("narrow_boards", address)
