"""How work is spread over I/O threads: the same load with one thread and with one per core.

The load generator needs a core of its own to keep one I/O thread busy, so on a small machine the second thread has to
share it. Pipelined requests make the generator cheap (one read and one write for sixteen requests), so that what is
left over goes to the server and the gain can be seen.
"""
from statistics import median

import machine
from loadgen import rate
from report import Section, spread
from servers import Restante

CONNECTIONS = 64
EVEN = 0.8  # the busiest thread's share of requests against the laziest one's


def per_thread(server):
    return {labels: value for labels, value in sorted(server.metrics("restante_io_thread_requests_total").items())}


def run(options):
    cores = machine.cores()
    section = Section(f"spread over cores: 1 I/O thread and {len(cores)}")
    if len(cores) == 1:
        section.note("one core: nothing to spread")
        return section
    for pipeline in (1, 16):
        measure(section, cores, pipeline, options)
    return section


def measure(section, cores, pipeline, options):
    runs = {1: [], len(cores): []}
    with Restante(1, cores) as one, Restante(len(cores), cores) as all_:
        before = per_thread(all_)
        for _ in range(max(3, options.rounds - 2)):
            for threads, server in ((1, one), (len(cores), all_)):
                runs[threads].append(rate(server, cores, connections=CONNECTIONS, pipeline=pipeline, warmup=0.3,
                                          seconds=options.seconds))
        taken = [value - before[labels] for labels, value in per_thread(all_).items()]
    section.figures[f"pipeline {pipeline}"] = {"rounds": runs, "requests_by_thread": taken}
    section.note(f"{CONNECTIONS} connections, {pipeline} request(s) under way on each")
    for threads, figures in runs.items():
        section.show(f"  {threads} I/O thread(s)", f"{median(f['rps'] for f in figures):,.0f}/s",
                     f"{spread([f['rps'] for f in figures])}; server {median(f['server_cores'] for f in figures):.2f} cores, "
                     f"load generator {median(f['loadgen_cores'] for f in figures):.2f}")
    one, many = runs[1], runs[len(cores)]
    gain = median(f["rps"] for f in many) / median(f["rps"] for f in one)
    room = median(f["server_cores"] for f in many) / median(f["server_cores"] for f in one)
    section.show("  gain in requests/s", f"{gain:.2f}", f"with {room:.2f} times the CPU that one thread got")
    section.at_least("  laziest against busiest thread", min(taken) / max(taken), EVEN,
                     "requests by thread: " + ", ".join(f"{n:,.0f}" for n in taken))
