"""Permissions in a real Chromium: a shared link, an agent that connects, foreign origins.

Each test is one walk of walks_people.mjs; see support/page.py.
"""

import pytest

from support.page import dev, walk
from support.wall_clock import WallClock


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with dev(tmp_path_factory.mktemp("dev")) as found:
        yield found


def test_a_shared_link_opens_one_chat_and_nothing_else_until_it_is_revoked(address):
    walk("share", address)


def test_a_link_over_an_existing_session_asks_first_and_says_whose_it_is(address):
    walk("link_over_session", address)


def test_the_line_of_a_new_agent_connects_it_and_the_page_shows_it_at_once(address):
    walk("new_agent", address)


def test_an_agent_that_stopped_is_shown_as_silent_and_offline_and_can_be_connected_again(tmp_path):
    clock = WallClock(tmp_path)
    with dev(tmp_path / "dev", clock.environment, presence_silence="1s") as address:
        walk("absent", address, WALL_CLOCK_FILE=clock.environment["WALL_CLOCK_FILE"])


def test_the_list_shows_what_waits_and_which_agents_are_not_connected(address):
    walk("waiting", address)


def test_the_first_page_of_a_long_list_is_shown_before_the_others(address):
    walk("many_workspaces", address)


def test_foreign_origins_and_hosts_are_refused(address):
    walk("foreign_origins", address)


def test_everything_can_be_done_without_a_mouse(address):
    walk("keyboard", address)
