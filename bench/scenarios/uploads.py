"""Uploads: large files, where throughput counts, and small ones, where each is a durable commit. An answer of ours or of the peer
means that content and rows are on the disk; ours also hashes the content. nginx accepts the same content by PUT and does
neither."""
import machine
from contest import MIB, NGINX, Contest, count_of, rounds, show
from report import Section
from servers import BUILD

LARGE_BARS = {"peer": 6, NGINX: 0.45}
SMALL_BARS = {"peer": 8}
WARM = 3 << 30  # about as much as the fastest server writes in one measurement
SLOW = 4  # the peer needs seconds for one large file: its measurement is this many times longer


def run(options):
    section = Section("uploads: one file a request, multipart, durable when answered")
    with Contest() as contest:
        measure(section, contest, options, "25 MiB, 8 clients", 25 * MIB, 8, "mb_per_second", "MB/s", LARGE_BARS)
        measure(section, contest, options, "1 KiB, 64 clients", 1024, 64, "rps", "/s", SMALL_BARS)
    return section


def measure(section, contest, options, title, size, connections, key, unit, bars, ours=None):
    def fresh(name, make):
        slow = SLOW if size >= MIB and name.startswith("peer") else 1

        def once():
            with make() as server:
                machine.warm_page_cache(BUILD, WARM)
                return contest.traffic("upload", server, size=size, connections=connections, warmup=0.5,
                                       seconds=options.seconds * slow)
        return once

    contenders = {name: fresh(name, make) for name, make in contest.makers(ours=ours, nginx=NGINX in bars).items()}
    runs, dropped = rounds(contenders, key, count_of(options))
    show(section, title, runs, dropped, key, unit, bars)
