"""Which state directory an agent uses: --state, or the one of its workspace, which the server names without spending a token."""
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from .api import ApiClient, text_of
from .failure import Backoff, Failure, Stop
from .names import parse_id
from .session import NEW_LINE, hash_of
from .state import KnownState, folder_of_states, known_states
from .wire import Url, parse_url


class AgentError(Exception):
    """Why the agent cannot run: a sentence. `code` is the exit code of the command line."""

    def __init__(self, sentence: str, code: int = 1) -> None:
        super().__init__(sentence)
        self.code = code


USAGE, UNAVAILABLE, TRY_AGAIN, NO_PERMISSION = 64, 69, 75, 77  # exit codes


@dataclass
class Choice:
    """What a person or a program gave; empty: not given."""

    server: str = ""
    enrol: str = ""
    token: str = ""
    workspace: str = ""
    state: str = ""


@dataclass
class Chosen:
    server: Url
    state: Path


def choose_state(given: Choice, stop: Stop, print_line: Callable[[str], None], folder: Optional[Path] = None) -> Chosen:
    """Raises AgentError. Waits for the server if it has to be asked and cannot be reached."""
    if given.workspace and not parse_id(given.workspace):
        raise AgentError("the workspace is not an id of the form 01234567-89ab-cdef-0123-456789abcdef", USAGE)
    if given.state:
        path = Path(given.state)
        return Chosen(_server(given.server or KnownState(path).server), path)
    states = folder or folder_of_states()
    known = known_states(states)
    workspace = (parse_id(given.workspace) or "") or next(
        (one.workspace for one in known if given.enrol and one.enrolled == hash_of(given.enrol)), "")
    if not workspace and (given.enrol or given.token):
        workspace = _ask_whose(_server(given.server or (known[0].server if len(known) == 1 else "")), given, stop, print_line)
        if not workspace and given.enrol:
            workspace = f"new-{hash_of(given.enrol)[:16]}"
    if not workspace:
        if len(known) > 1:
            listed = ", ".join(f"{one.workspace} ({one.server})" for one in known)
            raise AgentError(f"several agents were connected here: give --workspace with one of {listed}", USAGE)
        if not known:
            _server(given.server)
            raise AgentError("no token yet: give --enrol with the token that `New agent` on the page shows, or --token-file", NO_PERMISSION)
        workspace = known[0].workspace
    found = next((one for one in known if one.workspace == workspace), None)
    return Chosen(_server(given.server or (found.server if found else "")), found.path if found else states / workspace)


def _server(text: str) -> Url:
    if not text:
        raise AgentError("which server? Give --url https://… the first time; it is remembered", USAGE)
    try:
        return parse_url(text)
    except Failure as failure:
        raise AgentError(f"--url {text}: {failure}", USAGE) from None


def _ask_whose(server: Url, given: Choice, stop: Stop, print_line: Callable[[str], None]) -> str:
    """The workspace of the token; empty when it has none, or when the server does not say. Spends nothing."""
    api, pause, printed = ApiClient(server, given.enrol or given.token, stop=stop), Backoff(0.5, 10.0), False
    while not stop.requested:
        try:
            found = api.session()
        except Failure as failure:
            if given.enrol and failure.kind == "status" and not failure.may_yet_succeed():
                return ""  # registering will say whether it is valid
            if failure.is_status(401):
                raise AgentError("the server does not take this token; it was revoked, or is another server's. " + NEW_LINE, NO_PERMISSION) from None
            if not failure.passes():
                raise AgentError(f"{server} does not work as a Restante server: {failure}", UNAVAILABLE) from None
            if not printed:
                print_line(f"{failure}; trying again until it works")
            printed = True
            stop.wait(pause.next())
            continue
        if text_of(found, "role") in ("admin", "sender"):
            raise AgentError("this is a person's token: an agent needs the token of its workspace, or an enrolment token", NO_PERMISSION)
        return parse_id(text_of(found, "workspace_id")) or ""
    raise AgentError("stopped", 0)


def landing_directory(given: str) -> Path:
    """`given`, or /workspace where that can be written to, or the current directory."""
    if given:
        return Path(given)
    usual = Path("/workspace")
    return usual if os.name != "nt" and os.access(usual, os.W_OK | os.X_OK) else Path(".")
