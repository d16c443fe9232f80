"""The page in a real Chromium, against the real server and the demo agent that `restante dev` connects to it.

Each test is one walk of page.mjs, which fails on any console error, any breach of the Content-Security-Policy and any
request to another origin. RESTANTE_SCREENSHOTS names a folder to leave pictures in.
"""

import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("RESTANTE_SOURCE", HERE.parents[2]))
BINARY = os.environ.get("RESTANTE_BINARY", str(SOURCE / "build" / "restante"))
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/#token=\S+")
READY = re.compile(r"^restante ready on http://127\.0\.0\.1:\d+$")
# Bounds for a hang, not expectations: a loaded machine under sanitizers stays far below them.
START_SECONDS = 120
WALK_SECONDS = 240


def program(name, setting):
    found = os.environ.get(setting) or shutil.which(name)
    assert found, f"{name} is not installed (or name it in {setting})"
    return found


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The sign-in address of a running `restante dev`, with an empty data directory."""
    folder = tmp_path_factory.mktemp("dev")
    command = [BINARY, "dev", "--port", "0", "--data", str(folder / "data")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}
    with open(folder / "stderr", "wb") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, env=environment)
    watchdog = threading.Timer(START_SECONDS, server.kill)
    watchdog.start()
    try:
        printed, ready, found = [], False, None
        for line in server.stdout:
            printed.append(line)
            ready = ready or bool(READY.match(line.strip()))
            found = found or ADDRESS.search(line)
            if ready and found:
                break
        watchdog.cancel()
        complaint = (folder / "stderr").read_text(errors="replace")[-4000:]
        assert ready and found, f"no ready line and address in {printed!r}; the log ends:\n{complaint}"
        # Somebody must read on, or a talkative server would block on a full pipe.
        threading.Thread(target=server.stdout.read, daemon=True).start()
        yield found.group(0)
    finally:
        watchdog.cancel()
        server.terminate()
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def walk(name, address):
    assert (SOURCE / "web" / "node_modules" / "playwright-core").is_dir(), "run `npm ci` in web/ first"
    result = subprocess.run(
        [program("node", "RESTANTE_NODE"), str(HERE / "page.mjs"), name, address],
        env={**os.environ, "CHROMIUM": program("chromium", "CHROMIUM"), "RESTANTE_SOURCE": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WALK_SECONDS,
    )
    assert result.returncode == 0, result.stdout


def test_the_printed_address_signs_in_and_leaves_no_token_behind(address):
    walk("invitation", address)


def test_two_chosen_files_are_delivered_answered_and_still_there_after_a_reload(address):
    walk("delivery", address)


def test_a_life_line_moves_as_the_agent_does_without_being_polled(address):
    walk("lifeline", address)


def test_a_stream_that_is_cut_goes_on_where_it_was(address):
    walk("cut", address)


def test_hostile_names_and_texts_stay_text(address):
    walk("hostile", address)


def test_a_file_over_the_limit_is_refused_before_it_is_sent(address):
    walk("limits", address)


def test_signing_out_ends_the_session_and_a_wrong_token_is_told_so(address):
    walk("leaving", address)
