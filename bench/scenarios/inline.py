"""File content in the database: Restante with blobs = inline against the peer, which also stores content there, on the same PostgreSQL
and with the same durability. Also how far memory rises during uploads of large files."""
from contextlib import contextmanager

from contest import MIB, Contest, make_workspaces
from report import Section
from scenarios import upload_memory, uploads
from servers import Restante

LARGE_BARS = {"peer": 1.2}
MEMORY_BAR = 64  # each file has two chunks of 1 MiB in memory, and each session sends one


def run(options):
    section = Section("inline: file content in PostgreSQL, one PostgreSQL for both, fsync and synchronous_commit on")
    with Contest() as contest:
        @contextmanager
        def ours():
            with server_of(contest) as server:
                server.workspaces = make_workspaces(server, contest.count)
                yield server

        uploads.measure(section, contest, options, "25 MiB uploads, 8 clients", 25 * MIB, 8, "mb_per_second", "MB/s", LARGE_BARS, ours)
        with server_of(contest) as server:
            section.note(f"memory, {upload_memory.CLIENTS} uploads of 25 MiB at once, {upload_memory.FILES} in all")
            upload_memory.measure(section, server, contest.cores, MEMORY_BAR)
    return section


@contextmanager
def server_of(contest):
    """A server on a separate database."""
    with (contest.postgres.database() as url,
          Restante(len(contest.cores), contest.cores, {"database": url, "blobs": "inline"}, [contest.postgres.process.pid]) as server):
        yield server
