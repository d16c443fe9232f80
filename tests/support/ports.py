"""free_port: for a program that needs to know its port before it listens, or that uses it again after a restart.

It avoids the ports that the kernel assigns by itself (to a client, or to a program that binds port 0). The kernel could give
such a port to another process before the program binds it, or to the client of the program, which would then connect to itself.
"""
import errno
import fcntl
import os
import random
import socket
from pathlib import Path

LOWEST = 10_000
CLAIMS = []  # open files whose locks end with this process


def free_port(host="127.0.0.1"):
    """A port that this function gives to no other process while this one runs."""
    lowest_handed_out = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = list(range(LOWEST, lowest_handed_out))
    random.shuffle(ports)
    for port in ports:
        if is_free(host, port) and claim(port):
            return port
    raise RuntimeError(f"no free port from {LOWEST} to {lowest_handed_out}")


def is_free(host, port):
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def claim(port):
    # All processes use the same folder, whatever TMPDIR is: some tests keep their files in memory.
    folder = Path("/tmp", f"restante-ports-{os.geteuid()}")
    folder.mkdir(exist_ok=True)
    file = open(folder / str(port), "w", encoding="utf-8")  # noqa: SIM115: it stays open for its lock
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    CLAIMS.append(file)
    return True
