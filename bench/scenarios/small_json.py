"""GET /health against nginx's `return 200`: how close our HTTP layer is to a very fast server.

Rounds are interleaved and their order rotates, so that other load on the machine affects all servers equally. Ratios are of
medians; the spread is that of the ratios within each round.
"""
from statistics import median

import machine
from load import rate
from report import Section, note_noise, spread
from servers import SECURITY_HEADERS, Nginx, Restante

BAR = 0.8
CONNECTIONS = 64


def placements():
    """(title, server threads, server cores, load cores, load threads)."""
    cores = machine.cores()
    together = ("all on all cores", len(cores), cores, cores, len(cores))
    if len(cores) == 1:
        return [together]
    return [("server on one core, load on the others", 1, cores[:1], cores[1:], 1), together]


def compare(section, title, threads, server_cores, load_cores, load_threads, options):
    with (Restante(threads, server_cores) as ours, Nginx(threads, server_cores) as nginx,
          Nginx(threads, server_cores, SECURITY_HEADERS) as dressed):
        servers = [ours, nginx, dressed]
        runs = {server.name: [] for server in servers}
        for number in range(options.rounds + 1):
            shift = number % len(servers)
            for server in servers[shift:] + servers[:shift]:
                figures = rate(server, load_cores, connections=CONNECTIONS, threads=load_threads, warmup=0.3,
                               seconds=options.seconds)
                if number > 0:  # the first round warms the caches and branch predictors of all
                    runs[server.name].append(figures)
        heads = {server.name: server.head_size() for server in servers}

    section.figures[title] = {"head_bytes": heads, "rounds": runs}
    section.note(f"{title}: {threads} I/O thread(s), {CONNECTIONS} connections, {options.rounds} rounds of {options.seconds} s")
    for name, figures in runs.items():
        section.show(f"  {name} ({heads[name]} B head)", f"{median(f['rps'] for f in figures):,.0f}/s",
                     f"{spread([f['rps'] for f in figures])}; CPU {median(f['server_us'] for f in figures):.1f} us/request, "
                     f"{median(f['server_cores'] for f in figures):.2f} cores; load generator "
                     f"{median(f['loadgen_cores'] for f in figures):.2f}; p99 {median(f['latency']['p99_ms'] for f in figures):.2f} ms")
    for what, key in (("requests/s", "rps"), ("requests per CPU second", "per_cpu_second")):
        whole, by_round = ratio(runs[ours.name], runs[nginx.name], key)
        section.at_least(f"  {what}, ratio to nginx", whole, BAR, by_round)
    for what, key in (("requests/s", "rps"), ("requests per CPU second", "per_cpu_second")):
        whole, by_round = ratio(runs[ours.name], runs[dressed.name], key)
        section.show(f"  {what}, ratio to {dressed.name}", f"{whole:.2f}", by_round)
    note_noise(section, [figures for rounds in runs.values() for figures in rounds])


def ratio(ours, theirs, key):
    """The ratio of the medians, and the spread of the ratios within each round."""
    rounds = [a[key] / b[key] for a, b in zip(ours, theirs)]
    return median(f[key] for f in ours) / median(f[key] for f in theirs), f"by round {spread(rounds, '{:.2f}')}"


def run(options):
    section = Section("small JSON: GET /health against nginx")
    for placement in placements():
        compare(section, *placement, options)
    return section
