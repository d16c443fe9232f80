"""How requests are distributed over I/O threads: the same load with one thread and with one per core.

The load generator needs a whole core to keep one I/O thread busy, so on a small machine the second thread has to share it.
Pipelined requests make the generator cheap (one read and one write for sixteen requests). Then the server gets the rest of
the CPU and the gain can be seen.
"""
from statistics import median

import machine
from load import Loadgen, rate
from report import Section, note_noise, spread
from servers import Restante

REQUESTS = "restante_io_thread_requests_total"
CONNECTIONS = 64
HELD = 1000
EVEN = 0.95  # connections of the thread with the fewest against the one with the most


def per_thread(server, metric):
    return [value for _, value in sorted(server.metrics(metric).items())]


def numbers(values):
    return ", ".join(f"{value:,.0f}" for value in values)


def run(options):
    cores = machine.cores()
    section = Section(f"spread over cores: 1 I/O thread and {len(cores)}")
    if len(cores) == 1:
        section.note("one core: nothing to spread")
        return section
    with Restante(len(cores), cores) as server, Loadgen("hold", server, cores, connections=HELD) as run:
        run.next()
        connections = section.figures["connections_by_thread"] = per_thread(server, "restante_connections")
        run.go_on()
    section.at_least(f"  {HELD:,} connections, fewest against most", min(connections) / max(connections), EVEN,
                     "by thread: " + numbers(connections))
    for pipeline in (1, 16):
        measure(section, cores, pipeline, options)
    return section


def measure(section, cores, pipeline, options):
    counts = (1, len(cores))
    runs = {count: [] for count in counts}
    with Restante(1, cores) as one, Restante(len(cores), cores) as several:
        before = per_thread(several, REQUESTS)
        for _ in range(max(3, options.rounds - 2)):
            for count, server in zip(counts, (one, several)):
                runs[count].append(rate(server, cores, connections=CONNECTIONS, pipeline=pipeline, warmup=0.3,
                                        seconds=options.seconds))
        taken = [after - start for after, start in zip(per_thread(several, REQUESTS), before)]
    section.figures[f"pipeline {pipeline}"] = {"rounds": runs, "requests_by_thread": taken}
    section.note(f"{CONNECTIONS} connections, {pipeline} request(s) in progress on each")
    for count, figures in runs.items():
        section.show(f"  {count} I/O thread(s)", f"{median(f['rps'] for f in figures):,.0f}/s",
                     f"{spread([f['rps'] for f in figures])}; server {median(f['server_cores'] for f in figures):.2f} cores, "
                     f"load generator {median(f['loadgen_cores'] for f in figures):.2f}")
    gain, room = (median(f[key] for f in runs[counts[1]]) / median(f[key] for f in runs[1]) for key in ("rps", "server_cores"))
    section.show("  gain in requests/s", f"{gain:.2f}", f"with {room:.2f} times the CPU that one thread got")
    section.show("  requests, least busy against busiest thread", f"{min(taken) / max(taken):.2f}", "by thread: " + numbers(taken))
    note_noise(section, [figures for rounds in runs.values() for figures in rounds])
