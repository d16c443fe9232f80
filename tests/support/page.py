"""A running `restante dev` and a real Chromium that uses its page.

A walk is one of e2e/page/walks_*.mjs; it fails on any console error, any breach of the Content-Security-Policy and any
request to another origin. RESTANTE_SCREENSHOTS names a folder for screenshots.
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import threading

SOURCE = pathlib.Path(os.environ.get("RESTANTE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BINARY = os.environ.get("RESTANTE_BINARY", str(SOURCE / "build" / "restante"))
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/#token=\S+")
READY = re.compile(r"^restante ready on http://127\.0\.0\.1:\d+$")
# Bounds for a hang, not expectations: a loaded machine under sanitizers stays far below them.
START_SECONDS = 120
WALK_SECONDS = 900
LOGS = {}  # the log of the server at each address


def program(name, setting):
    found = os.environ.get(setting) or shutil.which(name)
    assert found, f"{name} is not installed (or name it in {setting})"
    return found


@contextlib.contextmanager
def dev(folder, more_environment=(), **settings):
    """The sign-in address of a `restante dev` with an empty data directory and these settings (`uploads_ttl="2s"`)."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [BINARY, "dev", "--port", "0", "--data", str(folder / "data")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_")}
    environment.update({"RESTANTE_" + key.upper(): value for key, value in settings.items()})
    environment.update(more_environment)
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
        # A thread reads on; otherwise a server that prints much would block on a full pipe.
        threading.Thread(target=server.stdout.read, daemon=True).start()
        LOGS[found.group(0)] = folder / "stderr"
        yield found.group(0)
    finally:
        watchdog.cancel()
        server.terminate()
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def walk(name, address, **environment):
    """Runs the walk of that name and returns its output. RESTANTE_SLOWDOWN=10 makes the page's own work ten times slower."""
    assert (SOURCE / "web" / "node_modules" / "playwright-core").is_dir(), "run `npm ci` in web/ first"
    given = {"CHROMIUM": program("chromium", "CHROMIUM"), "RESTANTE_SOURCE": str(SOURCE), "RESTANTE_BINARY": BINARY,
             "RESTANTE_WALK_SECONDS": str(WALK_SECONDS)}
    command = [program("node", "RESTANTE_NODE"), str(SOURCE / "tests" / "e2e" / "page" / "page.mjs"), name, address]
    try:
        result = subprocess.run(command, env={**os.environ, **given, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=WALK_SECONDS + 60)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{name} was not over after {late.timeout} s; its output: {late.output}\n{server_log_of(address)}") from None
    if result.returncode != 0:
        failures = [line for line in result.stdout.splitlines() if line.startswith("walk failed")]
        raise AssertionError("\n".join([*failures[-1:], server_log_of(address), result.stdout]))
    return result.stdout


def server_log_of(address):
    """The end of the server's log. Most lines are requests, so warnings and errors come first."""
    lines = LOGS[address].read_text(errors="replace").splitlines()
    unusual = [line for line in lines if not re.search(r'"level":"(debug|info)"|level=(debug|info)', line)]
    return "the server's log ends:\n" + "\n".join([*unusual[-10:], "…", *lines[-5:]])
