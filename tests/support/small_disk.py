"""A server whose data lies on a disk of a few mebibytes, in a mount namespace of its own so that nothing is left behind."""
import os
import subprocess
from pathlib import Path

import pytest

from support import backend
from support.server import Server, binary


def unshare():
    """The command that gives a process mounts of its own; as root without a user namespace, which containers may refuse."""
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        probe = subprocess.run([*command, "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"], capture_output=True, check=False)
        if probe.returncode == 0:
            return command
    pytest.skip("no small disk to be had: neither mount nor user namespaces are allowed here")


class SmallDisk(Server):
    """As Server, its rows and bytes on the disk. `size` is of the whole disk, database included."""

    def __init__(self, folder, size, settings=None):
        if backend.ROWS != "sqlite":
            pytest.skip("what fills up is a disk of the server's own")
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
