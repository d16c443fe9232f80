"""BlockedOpen: a file whose open() waits, for a server that must be in the middle of reading for as long as the test needs.

    opens = BlockedOpen(tmp_path)
    server = start(environment=opens.environment)
    with opens.blocked(path):
        ...
"""
import contextlib
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("blocked_open.c")


class BlockedOpen:
    def __init__(self, folder):
        self._file, library = folder / "blocked_open", folder / "blocked_open.so"
        self._file.write_bytes(b"")
        compiler = next(path for name in ("cc", "gcc", "clang-19") if (path := shutil.which(name)))
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        self.environment = {"LD_PRELOAD": str(library), "BLOCKED_OPEN_FILE": str(self._file)}

    @contextlib.contextmanager
    def blocked(self, path):
        """While the block runs, every openat() of a file with that name waits."""
        self._file.write_text(path.name)
        try:
            yield
        finally:
            self._file.write_bytes(b"")
