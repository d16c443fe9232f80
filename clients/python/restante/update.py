"""The one file restante.py: whether the server hands out another one, and taking it. The package itself is not changed by this."""
from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Callable

from .api import ApiClient
from .disk import DiskTrouble, replace_file
from .failure import Failure
from .names import safe_name
from .wire import expect_success

DOWNLOAD = "/download/restante.py"
_MARK = b"# sha256 of the lines below: "  # in the second line of the one file (tools/join_python_client.py)


def own_file() -> str:
    """The path of the one file; empty when this is the package."""
    try:
        with open(__file__, "rb") as file:
            return __file__ if file.read(200).split(b"\n")[1].startswith(_MARK) else ""
    except (OSError, IndexError):
        return ""


def _offered(api: ApiClient) -> str:
    """The sha256 of the file that the server hands out. Raises Failure."""
    words = expect_success(api.http.send("GET", f"{DOWNLOAD}.sha256")).body.decode("ascii", "replace").split()
    if len(words) != 2 or len(words[0]) != 64 or safe_name(words[1]) != "restante.py":
        raise Failure("protocol", "the server does not say which restante.py it hands out")
    return words[0]


def say_if_newer(api: ApiClient, print_line: Callable[[str], None]) -> None:
    """Prints a line, from a thread of its own, when the server hands out another file than this one."""
    def ask() -> None:
        try:
            path = own_file()
            if path and _offered(api) != hashlib.sha256(Path(path).read_bytes()).hexdigest():
                print_line(f"the server hands out another restante.py than this one; python3 {os.path.basename(path)} update takes it")
        except (Failure, OSError):
            pass  # a server that hands out none, or cannot be reached now

    threading.Thread(target=ask, name="restante update", daemon=True).start()


def update(api: ApiClient) -> str:
    """Replaces this file by the one that the server hands out; returns a sentence. Raises Failure and DiskTrouble."""
    path = own_file()
    if not path:
        raise DiskTrouble("this is the package, not the one file restante.py; update it as you installed it")
    offered = _offered(api)
    if offered == hashlib.sha256(Path(path).read_bytes()).hexdigest():
        return "this is the restante.py that the server hands out"
    contents = expect_success(api.http.send("GET", DOWNLOAD)).body
    lines = contents.split(b"\n", 2)
    whole = len(lines) == 3 and lines[1] == _MARK + hashlib.sha256(lines[2]).hexdigest().encode()
    if not whole or hashlib.sha256(contents).hexdigest() != offered:
        raise DiskTrouble("what the server sent is cut, or not what it names; nothing was changed")
    mode = os.stat(path).st_mode
    replace_file(Path(path), contents)
    os.chmod(path, mode & 0o777)
    return f"{path} is now the restante.py that the server hands out"
