"""Load: the load generator as a child process that reports JSON lines."""
import json
import subprocess

from servers import BUILD, HEALTH, on_cores


class Loadgen:
    """One run. next() returns its next report; go_on() ends a phase in which it only holds its connections open."""

    def __init__(self, scenario, server, cores, **options):
        command = [BUILD / "loadgen", scenario, "--port", str(server.port)]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        for pid in server.roots():
            command += ["--server", str(pid)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=on_cores(cores))

    def next(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the load generator ended with {self.process.wait()}")
        return json.loads(line)

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def add_rates(figures):
    """Adds the rates that follow from requests, bytes, seconds and CPU."""
    requests, seconds = figures["requests"], figures["seconds"]
    figures["rps"] = requests / seconds
    figures["per_cpu_second"] = requests / max(figures["cpu_server"], 0.001)
    figures["server_us"] = 1e6 / figures["per_cpu_second"]
    figures["server_cores"] = figures["cpu_server"] / seconds
    figures["loadgen_cores"] = figures["cpu_loadgen"] / seconds
    figures["foreign_cores"] = max(0.0, figures["cpu_machine"] - figures["cpu_server"] - figures["cpu_loadgen"]) / seconds
    if "bytes" in figures:
        figures["mb_per_second"] = figures["bytes"] / 1e6 / seconds
    return figures


def rate(server, cores, **options):
    """Requests per second of GET /health and their CPU time."""
    options = {"expect": HEALTH, **options}
    with Loadgen("rate", server, cores, **options) as run:
        return add_rates(run.next())


def traffic(scenario, server, cores, **options):
    """One run with files: upload, fetch or cycle."""
    with Loadgen(scenario, server, cores, **options) as run:
        return add_rates(run.next())
