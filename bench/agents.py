"""Agent: a real `restante connect` in a separate process, with its folder on the same disk as the servers. Watch records when each
file appears in that folder under its final name; the agent gives it that name after the content is synced."""
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
    """New files in a folder, as inotify reports them: {name: when}."""

    def __init__(self, folder):
        self.arrived, self.changed = {}, threading.Condition()
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_CLOEXEC)
        if self.descriptor < 0 or libc.inotify_add_watch(self.descriptor, os.fsencode(folder), IN_MOVED_TO | IN_CREATE) < 0:
            raise OSError(ctypes.get_errno(), f"{folder} cannot be watched")
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            events, now, at = os.read(self.descriptor, 65536), time.monotonic(), 0
            with self.changed:
                while at < len(events):
                    *_, length = HEAD.unpack_from(events, at)
                    name = events[at + HEAD.size:at + HEAD.size + length].rstrip(b"\0").decode()
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
        with open(self.folder / "lines", "wb") as lines, open(self.folder / "stderr", "wb") as stderr:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=lines, stderr=stderr, preexec_fn=on_cores(cores))
        self.watch = Watch(self.landing)

    def stderr(self):
        return (self.folder / "stderr").read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(CEILING)
        shutil.rmtree(self.folder, ignore_errors=True)
