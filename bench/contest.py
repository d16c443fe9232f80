"""Contest: sends files through Restante, its peer and nginx, one after the other, in one run. It has what all scenarios with
files share: which servers take part, the rounds, and the lines of the report."""
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from statistics import median

import machine
import peer
from load import traffic
from postgres import Postgres
from report import note_noise, spread
from servers import BUILD, Nginx, Restante

MIB = 1 << 20
BEHIND = 0.8  # a configuration of the peer below this share of its best in the first round is not measured further
OURS, NGINX = Restante.name, "nginx"


def make_workspaces(server, count=peer.WORKSPACES):
    """Writes a file with lines "id token sender": a workspace, its agent's token and the token of a sender."""
    admin = server.admin_token

    def make(number):
        workspace = json.loads(server.request("POST", "/workspaces", admin, {"name": f"bench-{number}"}))["id"]
        agent = json.loads(server.request("POST", f"/admin/workspaces/{workspace}/tokens", admin))["auth_token"]
        sender = json.loads(server.request("POST", "/admin/invites", admin, {"kind": "sender", "workspace_id": workspace}))["token"]
        return f"{workspace} {agent} {sender}\n"

    with ThreadPoolExecutor(16) as pool:
        lines = list(pool.map(make, range(count)))
    path = server.folder / "workspaces"
    path.write_text("".join(lines))
    return path


class Contest:
    """All servers that may take part. A server is started for each measurement, or once for a whole comparison."""

    def __init__(self, workspaces=peer.WORKSPACES):
        self.cores, self.count = machine.cores(), workspaces
        self.stack = ExitStack()

    def __enter__(self):
        peer.build()
        machine.warm_page_cache(BUILD)
        try:
            self.postgres = self.stack.enter_context(Postgres())
            self.peer_workspaces = peer.make_schema(self.postgres, self.count)
            self.stack.callback(self.peer_workspaces.unlink)
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    @contextmanager
    def ours(self):
        with Restante(len(self.cores), self.cores) as server:
            server.workspaces = make_workspaces(server, self.count)
            yield server

    @contextmanager
    def ours_on_postgres(self):
        """On the same PostgreSQL as the peer, in a separate database."""
        with (self.postgres.database() as url,
              Restante(len(self.cores), self.cores, {"database": url}, [self.postgres.process.pid]) as server):
            server.workspaces, server.url = make_workspaces(server, self.count), url
            yield server

    @contextmanager
    def nginx(self):
        with Nginx(len(self.cores), self.cores) as server:
            server.workspaces = None
            yield server

    @contextmanager
    def peer(self, configuration):
        try:
            with peer.Peer(configuration, self.postgres, self.peer_workspaces, self.cores) as server:
                yield server
        finally:
            self.postgres.sql("TRUNCATE pending_uploads, activity_logs", "CHECKPOINT")

    def makers(self, *, ours=None, nginx=False):
        """{name: how to make it}"""
        made = {OURS: ours or self.ours}
        for configuration in peer.CONFIGURATIONS:
            made[f"peer, {configuration}"] = lambda configuration=configuration: self.peer(configuration)
        return made | ({NGINX: self.nginx} if nginx else {})

    def traffic(self, scenario, server, **options):
        where = {"workspaces": server.workspaces} if server.workspaces else {"path": "/files"}
        return traffic(scenario, server, self.cores, **where, **options)


def is_peer(name):
    return name.startswith("peer, ")


def best_peer(figures):
    """{name: number} → the peer's best name."""
    return max((name for name in figures if is_peer(name)), key=figures.get)


def rounds(contenders, key, count):
    """{name: measure()} → {name: [figures by round]}. The first round warms up all servers and is not counted, but it shows
    which configurations of the peer are worth measuring."""
    trial = {}
    for name, measure in contenders.items():
        trial[name] = measure()[key]
        os.sync()
    best = trial[best_peer(trial)]
    names = [name for name in contenders if not is_peer(name) or trial[name] >= BEHIND * best]
    runs = {name: [] for name in names}
    for number in range(count):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            runs[name].append(contenders[name]())
            os.sync()  # unwritten data of one server must not be written while the next one is measured
    return runs, {name: number for name, number in trial.items() if name not in runs}


def show(section, title, runs, dropped, key, unit, bars):
    """Adds the lines of all servers and the bars: {contender or "peer": at least this ratio}."""
    section.note(title)
    section.figures[title] = {"rounds": runs, "dropped_after_the_first_round": dropped}
    for name, figures in runs.items():
        cpu = f"{median(f['cpu_server'] / f['bytes'] * 1e9 for f in figures):,.1f} CPU s/GB" if figures[0]["bytes"] else (
            f"{median(f['server_us'] for f in figures):,.0f} us/request")
        section.show(f"  {name}", f"{median(f[key] for f in figures):,.0f} {unit}",
                     f"{spread([f[key] for f in figures])}; p99 {median(f['latency']['p99_ms'] for f in figures):,.1f} ms; "
                     f"server {median(f['server_cores'] for f in figures):.2f} cores, {cpu}; "
                     f"load generator {median(f['loadgen_cores'] for f in figures):.2f}")
    for name, number in dropped.items():
        section.note(f"  {name}: {number:,.0f} {unit} in the first round, not measured further")
    best = best_peer({name: median(f[key] for f in figures) for name, figures in runs.items()})
    for other, bar in bars.items():
        against = best if other == "peer" else other
        by_round = [a[key] / b[key] for a, b in zip(runs[OURS], runs[against])]
        ratio = median(f[key] for f in runs[OURS]) / median(f[key] for f in runs[against])
        section.at_least(f"  {unit}, ratio to {against}", ratio, bar, f"by round {spread(by_round, '{:.2f}')}")
    note_noise(section, [figures for figures_of_one in runs.values() for figures in figures_of_one])


def count_of(options):
    """Fewer rounds than in scenarios that write nothing: one round takes half a minute."""
    return max(1, options.rounds - 2)
