"""Machine: the kernel's figures about processes and about the machine."""
import atexit
import os
import platform
import re
import resource
import shutil
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
WARM_BYTES = 8 << 30
OPEN_FILES = 32_768  # both servers and the load generator hold ten thousand connections each


def cores():
    """The cores this process may use, in order."""
    return sorted(os.sched_getaffinity(0))


def cpu_seconds(pids):
    """User and system time of the processes so far."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def user_memory(pids):
    """Bytes of anonymous memory (heap, stacks) of the processes, without socket buffers, which belong to the kernel."""
    total = 0
    for pid in pids:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += sum(int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) for name in ("Anonymous", "Swap")) * 1024
    return total


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def allow_open_files():
    """Raises the limit of open files, for children too. If it may not be raised, the tools print what they lack."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, OPEN_FILES))
            hard = OPEN_FILES
        except (ValueError, PermissionError):
            pass
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, OPEN_FILES) if hard != resource.RLIM_INFINITY else OPEN_FILES, hard))


def raise_priority():
    """Gives this session priority over all other processes until it ends, so that they do not change a ratio: servers and load
    generator alike. True if that was allowed."""
    autogroup = Path("/proc/self/autogroup")
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        if autogroup.exists():
            before = autogroup.read_text().rpartition(" ")[2].strip()
            autogroup.write_text("-20")
            atexit.register(lambda: autogroup.write_text(before))
        return True
    except OSError:
        return False


def status_bytes(pid, name):
    """One of the memory figures of /proc/PID/status."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


def forget_peak(pid):
    """Resets VmHWM to the current resident size."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def warm_page_cache(folder, most=WARM_BYTES):
    """Writes and deletes some gigabytes. On a virtual machine the first use of a page of memory costs far more than the
    second, and the first measured server would pay for all. Some hosts take back memory that is free for a few seconds."""
    free = int(re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)[1]) * 1024
    disk = shutil.disk_usage(folder).free
    block, written, path = os.urandom(1 << 20) * 16, 0, Path(folder) / "warming"
    goal = min(most, free // 2, disk // 4)
    with open(path, "wb", buffering=0) as file:
        while written < goal:
            written += file.write(block)
    path.unlink()
    os.sync()
    return written


def read_into_page_cache(folder):
    """Reads every file once."""
    for path in Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb", buffering=0) as file:
                while file.read(4 << 20):
                    pass


def describe():
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    memory = int(re.search(r"^MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)[1]) / 2**20
    return {"cores": len(cores()), "cpu": model[1] if model else platform.machine(), "memory_gib": round(memory, 1),
            "kernel": platform.release(), "load_at_start": os.getloadavg()[0]}
