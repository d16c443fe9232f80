"""Files in a real Chromium: sent, cancelled, tried again, and every way they can end.

Each test is one walk of walks_files.mjs; see support/page.py.
"""

import pytest

from support.page import dev, walk
from support.wall_clock import WallClock


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with dev(tmp_path_factory.mktemp("dev")) as found:
        yield found


def test_two_dropped_files_show_their_progress_are_delivered_and_are_there_after_a_reload(address):
    walk("drop", address)


def test_a_pasted_file_is_sent_like_any_other(address):
    walk("paste", address)


def test_one_of_several_files_is_cancelled_while_it_is_sent(address):
    walk("cancel", address)


def test_a_failed_upload_is_shown_as_failed_and_is_sent_once_when_tried_again(address):
    walk("retry", address)


def test_a_file_of_an_agent_is_no_link_once_the_server_has_deleted_it(address):
    walk("withdrawn", address)


def test_discarding_a_message_recalls_its_files(tmp_path):
    with dev(tmp_path, limits_json_body="4096") as address:
        walk("discarded", address)


def test_recalled_and_failed_files_show_when_and_why_and_only_an_ack_delivers(address):
    walk("endings", address)


def test_an_expired_file_still_shows_its_progress(tmp_path):
    clock = WallClock(tmp_path)
    with dev(tmp_path / "dev", clock.environment, uploads_ttl="5m", uploads_ack_retention="1m") as address:
        walk("expired", address, WALL_CLOCK_FILE=clock.environment["WALL_CLOCK_FILE"])


def test_pictures_and_texts_are_previewed_and_nothing_that_was_uploaded_runs(address):
    walk("preview", address)
