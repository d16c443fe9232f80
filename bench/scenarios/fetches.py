"""Downloads: the agent's GET of its staged files, from a warm page cache, every byte compared. nginx sends the same files with
sendfile and without checks; ours checks a token and a row, and records that the file was fetched."""
from contextlib import ExitStack

import machine
from contest import MIB, NGINX, Contest, count_of, rounds, show
from load import Loadgen
from report import Section

LARGE_BARS = {"peer": 3, NGINX: 0.95}
SMALL_BARS = {"peer": 12}
FILES = 64


def run(options):
    section = Section(f"fetches: {FILES} staged files, again and again, by the agent's own token")
    with Contest() as contest:
        measure(section, contest, options, "25 MiB, 8 clients", 25 * MIB, 8, "mb_per_second", "MB/s", LARGE_BARS)
        measure(section, contest, options, "1 KiB, 64 clients", 1024, 64, "rps", "/s", SMALL_BARS)
    return section


def fill(contest, server, size):
    """Uploads the files. Returns the list that the load generator fetches."""
    targets = server.folder / "targets"
    where = {"workspaces": server.workspaces} if server.workspaces else {"path": "/files"}
    with Loadgen("fill", server, contest.cores, size=size, files=FILES, connections=8, targets=targets, **where) as run:
        run.next()
    machine.read_into_page_cache(server.folder)
    return targets


def measure(section, contest, options, title, size, connections, key, unit, bars):
    with ExitStack() as stack:
        contenders = {}
        for name, make in contest.makers(nginx=NGINX in bars).items():
            server = stack.enter_context(make())
            targets = fill(contest, server, size)
            contenders[name] = lambda server=server, targets=targets: contest.traffic(
                "fetch", server, size=size, connections=connections, targets=targets, warmup=0.3, seconds=options.seconds)
        contest.postgres.sql("CHECKPOINT")
        runs, dropped = rounds(contenders, key, count_of(options))
        show(section, title, runs, dropped, key, unit, bars)
