"""The browser's sender of clients/typescript in a real Chromium, against the real server and the demo agent of `restante dev`."""
import pytest

from support.page import dev, walk


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with dev(tmp_path_factory.mktemp("dev")) as found:
        yield found


def test_a_page_sends_a_file_with_progress_and_hears_the_answer(address):
    walk("sender", address)
