"""Sweeps while senders upload: a million staged rows, half of them due, in slices. Small uploads go on while a sweep runs. The
result is how much longer the slowest of them take than in the seconds before the sweep. A sweep that finds nothing must be cheap."""
import json
import time
from statistics import median

import machine
from contest import make_workspaces
from load import Loadgen, add_rates, traffic
from report import Section, note_noise, spread
from servers import Restante
from staged_rows import fill

ROWS = 1_000_000
SLICES = 5
APART = 25  # seconds between slices, so that one is due and the next is not
CLIENTS = 8
P99_BAR = 1.5
IDLE_BAR_MS = 10
IDLE_SWEEPS = 9  # the first ones read cold pages and wait for the sweep at the start
BEFORE_SECONDS = 5
DELAY = 15  # seconds until the first slice is due: enough for a start and for sweeps with nothing due
LONGEST_SWEEP = 900
# The operator's sweeps are measured; no sweep of the timer may run between them.
SETTINGS = {"uploads.quota_files": 10_000_000, "uploads.sweep_every": "24h"}


def sweep(server):
    start = time.monotonic()
    report = json.loads(server.request("POST", "/admin/sweep", server.admin_token, timeout=LONGEST_SWEEP))
    return {**report, "request_ms": (time.monotonic() - start) * 1000}


def run(_):
    section = Section(f"sweep: {ROWS:,} staged rows of 1 KiB, half of them due, {CLIENTS} clients upload 1 KiB files")
    cores, rounds = machine.cores(), []
    with Restante(len(cores), cores, SETTINGS) as server:
        load = {"size": 1024, "connections": CLIENTS, "workspaces": make_workspaces(server, CLIENTS)}
        server.stop()
        moments = fill(server.folder / "data" / "restante.db", ROWS, SLICES, APART, DELAY)
        server.start()
        nothing = [sweep(server) for _ in range(IDLE_SWEEPS)]
        traffic("upload", server, cores, warmup=0, seconds=1, **load)
        for moment in moments:
            time.sleep(max(0, moment + 0.1 - time.time()))
            rounds.append(beside(server, cores, load))
        left = sweep(server)
    section.figures = {"rounds": rounds, "nothing_due": [*nothing, left]}
    show(section, rounds, nothing, left)
    return section


def beside(server, cores, load):
    """Uploads without a sweep, then uploads until a sweep has ended."""
    without = traffic("upload", server, cores, warmup=0.3, seconds=BEFORE_SECONDS, **load)
    with Loadgen("upload", server, cores, warmup=0.3, until_line="yes", **load) as uploads:
        uploads.next()
        swept = sweep(server)
        uploads.go_on()
        return {"without": without, "beside": add_rates(uploads.next()), "swept": swept}


def show(section, rounds, nothing, left):
    acked, expired, took = (sum(r["swept"][key] for r in rounds) for key in ("acked", "expired", "duration_ms"))
    section.show("  swept", f"{acked + expired:,}", f"{acked:,} acked and {expired:,} expired, in {took / 1000:.1f} s altogether")
    p99 = {}
    for key, what in (("without", "upload without a sweep, p99"), ("beside", "upload beside a sweep, p99")):
        runs = [r[key] for r in rounds]
        p99[key] = [run["latency"]["p99_ms"] for run in runs]
        section.show(f"  {what}", f"{median(p99[key]):.2f} ms", f"{spread(p99[key], '{:.2f}')}; p50 {median(r['latency']['p50_ms'] for r in runs):.2f} ms; "
                     f"{median(r['rps'] for r in runs):,.0f} uploads/s")
    ratios = [b / a for a, b in zip(p99["without"], p99["beside"])]
    section.below("  p99 beside a sweep against without", median(p99["beside"]) / median(p99["without"]), P99_BAR, "x",
                  f"by slice {spread(ratios, '{:.2f}')}")
    section.below(f"  sweep with nothing due, {ROWS:,} rows", median(s["request_ms"] for s in nothing), IDLE_BAR_MS, "ms",
                  f"the request; with {ROWS - acked - expired:,} rows {left['request_ms']:.1f} ms")
    note_noise(section, [r[key] for r in rounds for key in ("without", "beside")])
    if acked + expired < ROWS // 2:
        section.note("not all due rows were deleted")
