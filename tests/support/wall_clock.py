"""WallClock: the time of day that a server sees. The test sets it while the server runs. The steady clock does not change.

    clock = WallClock(tmp_path)
    server = start(environment=clock.environment)
    clock.set(hours=-1)
"""
import datetime
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("wall_clock.c")


class WallClock:
    def __init__(self, folder):
        self._file, library = folder / "wall_clock", folder / "wall_clock.so"
        self._file.write_bytes(bytes(8))
        compiler = next(path for name in ("cc", "gcc", "clang-19") if (path := shutil.which(name)))
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        self.environment = {"LD_PRELOAD": str(library), "WALL_CLOCK_FILE": str(self._file)}

    def set(self, **offset):
        """Sets the difference from the true time: hours=-1, days=2; without arguments the true time."""
        microseconds = datetime.timedelta(**offset) // datetime.timedelta(microseconds=1)
        with open(self._file, "r+b", buffering=0) as out:  # written in place: the server has it mapped
            out.write(struct.pack("=q", microseconds))
