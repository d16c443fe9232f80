"""A server whose data is on a disk of a few mebibytes. The disk is in a separate mount namespace, so that nothing is left behind."""
import os
import subprocess
from pathlib import Path

import pytest

from support import backend
from support.server import Server, binary


def unshare():
    """The command that gives a process its own mounts. As root it uses no user namespace, because containers may refuse that."""
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        probe = subprocess.run([*command, "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"], capture_output=True, check=False)
        if probe.returncode == 0:
            return command
    pytest.skip("cannot make a small disk: neither mount nor user namespaces are allowed here")


class SmallDisk(Server):
    """A Server with database and files on the small disk. `size` is the size of the whole disk."""

    def __init__(self, folder, size, settings=None):
        if backend.ROWS != "sqlite":
            pytest.skip("only a server that stores database and files on its own disk can fill that disk")
        wrapper = folder / "on-a-small-disk"
        data = folder / "data"
        data.mkdir()
        mounted = f'mount -t tmpfs -o size={size} tmpfs "{data}" && exec "{binary()}" "$@"'
        wrapper.write_text(f"#!/bin/sh\nexec {' '.join(unshare())} sh -c '{mounted}' sh \"$@\"\n")
        wrapper.chmod(0o755)
        before = os.environ["RESTANTE_BINARY"]
        os.environ["RESTANTE_BINARY"] = str(wrapper)
        try:
            super().__init__(settings, data=data)
        finally:
            os.environ["RESTANTE_BINARY"] = before
        self.data = Path(f"/proc/{self.process.pid}/root{data}")
        self.home.rows.data = self.data
