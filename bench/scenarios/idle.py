"""Ten thousand keep-alive connections that have sent one request and are now idle: the user memory of each."""
import machine
from load import Loadgen, rate
from report import Section
from servers import Nginx, Restante

BAR = 8192
CONNECTIONS = 10_000


def measure(server, cores):
    # Memory of the first requests (arenas, stacks, caches) belongs to the server, not to a connection.
    rate(server, cores, connections=64, warmup=0.1, seconds=0.5)
    before = server.user_memory()
    with Loadgen("hold", server, cores, connections=CONNECTIONS) as run:
        opened = run.next()
        held = server.user_memory()
        run.go_on()
        run.next()
    return {"before": before, "held": held, "bytes_each": (held - before) / CONNECTIONS, "opening_seconds": opened["seconds"]}


def run(_):
    section = Section(f"idle: {CONNECTIONS:,} keep-alive connections, one request each, then silence")
    cores = machine.cores()
    for make in (Restante, Nginx):
        with make(len(cores), cores) as server:
            figures = section.figures[server.name] = measure(server, cores)
            detail = (f"{figures['before'] / 2**20:.1f} → {figures['held'] / 2**20:.1f} MiB anonymous; "
                      f"opened in {figures['opening_seconds']:.1f} s")
            what = f"  {server.name}: user memory each"
            if make is Restante:
                section.below(what, figures["bytes_each"], BAR, "B", detail)
            else:
                section.show(what, f"{figures['bytes_each']:,.0f} B", detail)
    return section
