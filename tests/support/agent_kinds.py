"""The agents that run the scenarios of tests/e2e/agents_test.py, and how each is started.

A kind is a name and a function that returns the first words of a command line. Every kind takes the words of `restante connect` after
them, so that support.agent.Connect can start any of them:

    <program> connect --url URL --dir DIR --state DIR [--enrol TOKEN | --enrol-file FILE | --token-file FILE]
                      [--exec COMMAND | --json] [--file-wait SECONDS] [--reply-to-agents]

What the scenarios expect of a program:
- SIGTERM ends it with exit code 0; a token that the server refuses ends it with 77; a state directory in use with 75.
- --exec gets the delivery as one line of JSON on its stdin; RESTANTE_RESULT_DIR names its folder for result files.
- --json prints one JSON object a line on stdout and nothing else there.
- stderr has a line that begins with `connected to` and contains the workspace's id, as soon as it is registered.

To add a kind: write a function that returns its first words (and builds what it needs, once for a test run), and add it to KINDS.
RESTANTE_AGENT_KINDS=python,cpp chooses some of them.
"""
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.server import binary
from support.typescript_agent import typescript

SOURCE = Path(os.environ.get("RESTANTE_SOURCE") or Path(__file__).resolve().parents[2])


def cpp():
    return [binary()]


@functools.lru_cache(maxsize=None)
def joined_python_client():
    """The single file, as the server hands it out."""
    path = Path(tempfile.mkdtemp(prefix="restante-python-")) / "restante.py"
    subprocess.run([sys.executable, str(SOURCE / "tools" / "join_python_client.py"), str(path)], check=True)
    return path


def python():
    return [sys.executable, str(joined_python_client())]


KINDS = {"cpp": cpp, "python": python, "typescript": typescript}


def chosen_kinds():
    chosen = os.environ.get("RESTANTE_AGENT_KINDS")
    return [kind for kind in KINDS if not chosen or kind in chosen.split(",")]
