"""The chat in a real Chromium, against the real server and the demo agent that `restante dev` connects to it.

Each test is one walk of walks_chat.mjs; see support/page.py.
"""

import pytest

from support.page import ADDRESS, BINARY, READY, START_SECONDS, dev, walk  # noqa: F401


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with dev(tmp_path_factory.mktemp("dev")) as found:
        yield found


def test_the_printed_address_signs_in_and_leaves_no_token_behind(address):
    walk("invitation", address)


def test_two_chosen_files_are_delivered_answered_and_still_there_after_a_reload(address):
    walk("delivery", address)


def test_the_progress_of_a_file_is_shown_without_polling(address):
    walk("progress", address)


def test_a_stream_that_is_cut_continues_at_its_last_event(address):
    walk("cut", address)


def test_a_hidden_tab_is_up_to_date_when_it_is_shown_again(address):
    walk("asleep", address)


def test_hostile_names_and_texts_stay_text(address):
    walk("hostile", address)


def test_the_markdown_of_agents_is_rendered_and_nothing_in_it_runs(address):
    walk("markdown", address)


def test_a_file_over_the_limit_is_refused_before_it_is_sent(address):
    walk("limits", address)


def test_signing_out_ends_the_session_and_a_wrong_token_is_refused_with_a_reason(address):
    walk("leaving", address)
