"""The agent's state directories: one for each workspace, with its token, ledger, lock, health file and the files of running commands.

Files are 0600; a folder that we create is 0700. One agent process at a time: a second one gets an error that names the first.
"""
from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from .api import compact, text_of
from .disk import DiskTrouble, FileLock, is_locked, make_root, read_text, replace_file, trouble
from .ledger import Ledger
from .names import without_controls
from .reports import now_text


def folder_of_states(environment: Optional[Dict[str, str]] = None, windows: bool = os.name == "nt") -> Path:
    """Where state directories are, unless --state names another place. The agent in C++ has its own beside them."""
    found = dict(os.environ) if environment is None else environment
    if windows:
        local = found.get("LOCALAPPDATA") or os.path.join(found.get("USERPROFILE", "."), "AppData", "Local")
        return Path(local) / "restante" / "python"
    if found.get("XDG_STATE_HOME", "").startswith("/"):
        return Path(found["XDG_STATE_HOME"]) / "restante" / "python"
    home = found.get("HOME", "")
    return Path(home) / ".local" / "state" / "restante" / "python" if home.startswith("/") else Path(".restante")


class StateDirectory:
    """Takes the lock, which ends with the process. Raises DiskTrouble, with `in_use` when another process has it."""

    def __init__(self, path: Path, print_line: Callable[[str], None]) -> None:
        self.path = make_root(path.absolute(), private=True)
        self._lock = FileLock(self.path / "lock")
        try:
            taken = self._lock.take()
        except OSError as error:
            raise trouble(f"cannot lock {self.path}", error) from None
        if not taken:
            raise DiskTrouble(f"another agent uses the state in {self.path}: {holder_of(self.path)}", in_use=True)
        try:
            try:
                self._lock.write(f"{socket.gethostname()}, process {os.getpid()}, since {now_text()}")
            except OSError:
                pass  # a full disk; the text is for people only
            self.ledger = Ledger(self.path, print_line)
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        self.ledger.close()
        self._lock.release()

    def token(self) -> str:
        """Empty when there is none."""
        lines = (read_text(self.path / "token", 4096) or "").splitlines()
        return lines[0].strip() if lines else ""

    def keep_token(self, token: str) -> str:
        """Durable. Returns why it failed, or nothing."""
        try:
            replace_file(self.path / "token", token.encode() + b"\n")
        except DiskTrouble as error:
            return str(error)
        return ""

    def write_identity(self) -> None:
        """Which agent this is, readable while it runs: `connect` and `status` choose by it."""
        facts = {name: self.ledger.fact(name) for name in ("server", "workspace", "enrolled")}
        try:
            replace_file(self.path / "identity.json", compact(facts).encode() + b"\n")
        except DiskTrouble:
            pass  # written again at the next start


def holder_of(path: Path) -> str:
    try:
        return without_controls(read_text(path / "lock", 4096) or "")
    except DiskTrouble:
        return ""


def read_facts(path: Path) -> Dict[str, Any]:
    """A small JSON file; empty when there is none that can be read."""
    try:
        found = json.loads(read_text(path) or "{}")
    except (DiskTrouble, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class KnownState:
    """What can be read of a state directory from outside, whether an agent runs or not."""

    def __init__(self, path: Path) -> None:
        identity = read_facts(path / "identity.json")
        self.path = path
        self.server, self.workspace, self.enrolled = (text_of(identity, name) for name in ("server", "workspace", "enrolled"))
        self.in_use = is_locked(path / "lock")
        self.holder = holder_of(path)
        self.health = read_facts(path / "health.json")


def known_states(folder: Path) -> List[KnownState]:
    """Those of agents that were connected before, by workspace."""
    try:
        paths = sorted(one for one in folder.iterdir() if one.is_dir())
    except OSError:
        return []
    return [state for state in map(KnownState, paths) if state.workspace]
