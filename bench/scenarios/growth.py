"""What grows with the store: the same requests on a small store and on a large one, on both databases. The result is how much longer
they take on the large one. Lists are read by page; a list of everything grows with everything."""
import json
import time
from contextlib import contextmanager
from statistics import median

import grown_store
import machine
from postgres import Postgres
from report import Section
from servers import Restante

SMALL = {"workspaces": 100, "rows": 50, "asked_rows": 5_000}
LARGE = {"workspaces": 20_000, "rows": 95, "asked_rows": 100_000}
BAR = 1.5
FASTEST_MS = 0.3  # below this the difference is noise: shorter times count as this
TIMES = 40
STARTS = 5
# The operator's sweeps are measured, and the rows of files have no content.
SETTINGS = {"uploads.sweep_every": "24h", "uploads.check_every": "0s", "access.roots": "isolated", "log.requests": "none"}


def run(_):
    section = Section(f"growth: {SMALL['workspaces']:,} workspaces and {rows_of(SMALL):,} rows against {LARGE['workspaces']:,} and {rows_of(LARGE):,}")
    with Postgres() as postgres:
        for name, make in (("SQLite", on_sqlite), ("PostgreSQL", lambda size: on_postgres(postgres, size))):
            with make(SMALL) as server:
                small = measure(server)
            with make(LARGE) as server:
                large = measure(server)
            section.figures[name] = {"small": small, "large": large}
            section.note(f"on {name}")
            for what, before in small.items():
                ratio = max(large[what], FASTEST_MS) / max(before, FASTEST_MS)
                section.below(f"  {what}", ratio, BAR, "x", f"{before:.2f} ms → {large[what]:.2f} ms")
    return section


def rows_of(size):
    return size["workspaces"] * size["rows"] + size["asked_rows"]


@contextmanager
def on_sqlite(size):
    cores = machine.cores()
    with Restante(len(cores), cores, SETTINGS) as server:
        server.asked, server.child = make_family(server)
        server.stop()
        grown_store.in_sqlite(server.folder / "data" / "restante.db", asked=server.asked, **size)
        server.start()
        yield server


@contextmanager
def on_postgres(postgres, size):
    cores = machine.cores()
    with postgres.database() as url, Restante(len(cores), cores, {**SETTINGS, "database": url}) as server:
        server.asked, server.child = make_family(server)
        server.stop()
        grown_store.in_postgres(postgres, url, asked=server.asked, **size)
        server.start()
        yield server


def make_family(server):
    """The ids of the asked workspace and of one of its three children."""
    make = lambda **more: json.loads(server.request("POST", "/workspaces", server.admin_token, {"name": "asked", **more}))["id"]
    asked = make()
    return asked, [make(parent_id=asked) for _ in range(3)][0]


def measure(server):
    """{what: milliseconds}"""
    admin, asked = server.admin_token, f"/workspaces/{server.asked}"
    requests = {
        "a poll whose type matches nothing": ("GET", f"{asked}/activity?since_seq=0&type=a2a_receive"),
        "chat history over rows without messages": ("GET", f"{asked}/chat-history"),
        "peers": ("GET", f"/registry/{server.child}/peers"),
        "a page of workspaces": ("GET", "/workspaces?limit=100"),
        "upload stats, a page": ("GET", "/admin/uploads/stats?limit=100"),
        "upload stats, the total": ("GET", "/admin/uploads/stats?limit=0"),
        "delegation stats": ("GET", "/admin/delegations/stats"),
        "a sweep with nothing due": ("POST", "/admin/sweep"),
        "admin/uploads": ("GET", "/admin/uploads?limit=100"),
    }
    settle(server)
    times = {what: [] for what in requests}
    for number in range(TIMES + 3):  # the first ones read cold pages
        for what, (method, target) in requests.items():
            start = time.monotonic()
            server.request(method, target, admin)
            if number >= 3:
                times[what].append((time.monotonic() - start) * 1000)
    return {**{what: median(taken) for what, taken in times.items()}, "start to ready": median(restart(server) for _ in range(STARTS))}


def settle(server):
    """Waits until the server is idle: a large SQLite file is still checked when it is ready."""
    before = server.cpu_seconds()
    while True:
        time.sleep(1)
        now = server.cpu_seconds()
        if now - before < 0.05:
            return
        before = now


def restart(server):
    server.stop()
    start = time.monotonic()
    server.start()
    return (time.monotonic() - start) * 1000
