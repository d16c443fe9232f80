"""The whole cycle of a file: upload, poll with a cursor until the file is in the inbox, fetch, ack. 64 clients with a workspace each
send one request after the other, as existing clients do."""
from contest import Contest, count_of, rounds, show
from report import Section

BARS = {"peer": 8}
CLIENTS = 64


def run(options):
    section = Section("cycles: upload → poll → fetch → ack")
    with Contest() as contest:
        def fresh(make):
            def once():
                with make() as server:
                    return contest.traffic("cycle", server, size=1024, connections=CLIENTS, warmup=0.5, seconds=options.seconds)
            return once

        contenders = {name: fresh(make) for name, make in contest.makers().items()}
        runs, dropped = rounds(contenders, "rps", count_of(options))
        show(section, f"1 KiB, {CLIENTS} clients", runs, dropped, "rps", "cycles/s", BARS)
    return section
