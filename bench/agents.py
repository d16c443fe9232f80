"""Agent: a real `restante connect` in a process of its own, its folder on the disk that the servers use; and a watch on that
folder that notes when each file came to lie there under its final name, which it gets once its bytes are synced."""
import ctypes
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from servers import BUILD, CEILING, on_cores

IN_MOVED_TO, IN_CREATE = 0x80, 0x100
HEAD = struct.Struct("iIII")


class Watch:
    """Arrivals in a folder, by the kernel's own notes: {name: when}."""

    def __init__(self, folder):
        self.arrived, self.changed = {}, threading.Condition()
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_CLOEXEC)
        if self.descriptor < 0 or libc.inotify_add_watch(self.descriptor, os.fsencode(folder), IN_MOVED_TO | IN_CREATE) < 0:
            raise OSError(ctypes.get_errno(), f"{folder} cannot be watched")
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            notes, now, at = os.read(self.descriptor, 65536), time.monotonic(), 0
            with self.changed:
                while at < len(notes):
                    *_, length = HEAD.unpack_from(notes, at)
                    name = notes[at + HEAD.size:at + HEAD.size + length].rstrip(b"\0").decode()
                    self.arrived.setdefault(name, now)
                    at += HEAD.size + length
                self.changed.notify_all()

    def wait(self, name):
        with self.changed:
            if not self.changed.wait_for(lambda: name in self.arrived, CEILING):
                raise RuntimeError(f"{name} never landed")
            return self.arrived[name]


class Agent:
    def __init__(self, server, token, cores):
        self.folder = Path(tempfile.mkdtemp(prefix="agent-", dir=BUILD))
        self.landing = self.folder / "dir" / ".molecule" / "chat-uploads"
        self.landing.mkdir(parents=True)
        (self.folder / "token").write_text(token)
        command = [BUILD / "restante", "connect", "--url", f"http://127.0.0.1:{server.port}", "--token-file", self.folder / "token",
                   "--dir", self.folder / "dir", "--state", self.folder / "state", "--json"]
        with open(self.folder / "lines", "wb") as lines, open(self.folder / "said", "wb") as said:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=lines, stderr=said, preexec_fn=on_cores(cores))
        self.watch = Watch(self.landing)

    def said(self):
        return (self.folder / "said").read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(CEILING)
        shutil.rmtree(self.folder, ignore_errors=True)
