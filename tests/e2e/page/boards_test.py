"""The operator's views: what waits, the tasks, the charts and the state of the server itself.

The servers differ in their settings: one keeps files for long, one has a clock that the test sets, one soon calls a task
stuck, one has lost its blob directory.
"""

import shutil

import pytest

from support.page import dev, walk
from support.wall_clock import WallClock


@pytest.fixture
def address(tmp_path):
    with dev(tmp_path) as found:
        yield found


def test_waiting_files_are_shown_by_workspace_age_and_state_and_kept_up_to_date(address):
    walk("uploads_board", address)


def test_events_that_come_faster_than_the_server_can_be_asked_are_shown(address):
    walk("endless_events", address)


def test_files_that_expire_soon_are_a_separate_group(address):
    walk("expiring", address)


def test_tasks_are_shown_in_columns_and_with_their_details(address):
    walk("tasks_board", address)


def test_the_files_of_a_task_and_of_its_result_can_be_downloaded(address):
    walk("task_files", address)


def test_a_stuck_task_is_highlighted(tmp_path):
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
        shutil.move(tmp_path / "data" / "blobs", tmp_path / "moved")
        walk("broken_store", address)


def test_a_clock_in_doubt_is_shown_with_the_reason(tmp_path):
    clock = WallClock(tmp_path)
    with dev(tmp_path / "dev", clock.environment) as address:
        walk("doubted_clock", address, WALL_CLOCK_FILE=clock.environment["WALL_CLOCK_FILE"])


def test_five_hundred_files_and_hostile_names_are_a_list(address):
    walk("full_board", address)


def test_no_view_is_wider_than_a_phone(address):
    walk("narrow_boards", address)
