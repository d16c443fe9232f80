"""Restante on PostgreSQL against the peer on the same PostgreSQL, with the same durability. Small files, where each is a durable
commit; large files; polls that find nothing; and ten thousand held polls, which must not use the database."""
from contextlib import ExitStack, contextmanager

from contest import MIB, Contest, rounds, show
from report import Section
from scenarios import held_polls, upload_memory, uploads
from servers import Restante

SMALL_BARS = {"peer": 4}
LARGE_BARS = {"peer": 5}
IDLE_BARS = {"peer": 4}
POLLERS = 512
TRANSACTIONS_BAR = 30  # in the quiet time: the clock, a sweep, the records of finished polls; held polls make none


def run(options):
    section = Section("on PostgreSQL: one PostgreSQL for both, fsync and synchronous_commit on")
    with Contest(POLLERS) as contest:
        ours = contest.ours_on_postgres
        uploads.measure(section, contest, options, "1 KiB uploads, 64 clients", 1024, 64, "rps", "/s", SMALL_BARS, ours)
        uploads.measure(section, contest, options, "25 MiB uploads, 8 clients", 25 * MIB, 8, "mb_per_second", "MB/s", LARGE_BARS, ours)
        poll_idly(section, contest, options)
        hold_polls(section, contest)
        with fresh(contest) as server:
            section.note(f"memory, {upload_memory.CLIENTS} uploads of 25 MiB at once, {upload_memory.FILES} in all")
            upload_memory.measure(section, server, contest.cores)
    return section


@contextmanager
def fresh(contest):
    """A server on a separate database without workspaces."""
    with contest.postgres.database() as url, Restante(len(contest.cores), contest.cores, {"database": url}) as server:
        server.url = url
        yield server


def poll_idly(section, contest, options):
    with ExitStack() as stack:
        contenders = {}
        for name, make in contest.makers(ours=contest.ours_on_postgres).items():
            server = stack.enter_context(make())
            contenders[name] = lambda server=server: contest.traffic(
                "idle-polls", server, connections=POLLERS, warmup=0.5, seconds=options.seconds)
        runs, dropped = rounds(contenders, "rps", options.rounds)
        show(section, f"polls that find nothing, {POLLERS} connections", runs, dropped, "rps", "/s", IDLE_BARS)


def hold_polls(section, contest):
    section.note(f"held polls: {held_polls.POLLS:,} parked")
    with fresh(contest) as server:
        done = held_polls.hold(section, server, contest.cores, lambda: contest.postgres.transactions(server.url))
    section.below("  transactions in PostgreSQL meanwhile", done, TRANSACTIONS_BAR, "", "over the same time, of everything the server does, by pg_stat_database")
