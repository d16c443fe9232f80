"""Sixteen large files at once: how far the server's memory rises. Content is streamed and not kept in memory."""
import machine
from contest import MIB, make_workspaces
from load import traffic
from report import Section
from servers import Restante

BAR = 32
CLIENTS = 16
FILES = 96


def run(_):
    section = Section(f"memory: {CLIENTS} uploads of 25 MiB at once, {FILES} files in all, on a server that has just started")
    cores = machine.cores()
    with Restante(len(cores), cores) as server:
        measure(section, server, cores)
    return section


def measure(section, server, cores, bar=BAR):
    workspaces = make_workspaces(server, CLIENTS)
    pid = server.process.pid
    machine.forget_peak(pid)
    before = machine.status_bytes(pid, "VmRSS")
    figures = traffic("upload", server, cores, size=25 * MIB, connections=CLIENTS, files=FILES, warmup=0, workspaces=workspaces)
    peak, private = machine.status_bytes(pid, "VmHWM"), machine.status_bytes(pid, "RssAnon")
    section.figures["upload memory"] = {"before": before, "peak": peak, "anonymous_after": private, "run": figures}
    section.below("  resident memory, peak against start", (peak - before) / MIB, bar, "MiB",
                  f"{before / MIB:.1f} → {peak / MIB:.1f} MiB; anonymous afterwards {private / MIB:.1f} MiB; "
                  f"{figures['mb_per_second']:,.0f} MB/s")
