"""Ten thousand long polls held at once, as many agents would: memory each, CPU while nothing happens, and how fast a
message reaches those who wait for it."""
import json
import time
from concurrent.futures import ThreadPoolExecutor

import machine
from load import Loadgen, rate
from report import Section
from servers import Restante, wait_until

MEMORY_BAR = 8192
CPU_BAR = 2  # percent of one core
POLLS = 10_000
PER_TOKEN = 8  # limits.polls_per_token
QUIET_SECONDS = 5
MESSAGES = 400


def make_workspaces(server, count):
    """Lines "id token" in a file."""
    admin = server.admin_token

    def make(number):
        created = json.loads(server.request("POST", "/workspaces", admin, {"name": f"bench-{number}"}))
        token = json.loads(server.request("POST", f"/admin/workspaces/{created['id']}/tokens", admin))
        return f"{created['id']} {token['auth_token']}\n"

    with ThreadPoolExecutor(16) as pool:
        lines = list(pool.map(make, range(count)))
    path = server.folder / "workspaces"
    path.write_text("".join(lines))
    return path


def run(_):
    section = Section(f"held polls: {POLLS:,} parked, {PER_TOKEN} on each of {POLLS // PER_TOKEN:,} workspaces")
    cores = machine.cores()
    with Restante(len(cores), cores) as server:
        workspaces = make_workspaces(server, POLLS // PER_TOKEN)
        rate(server, cores, connections=64, warmup=0.1, seconds=0.5)
        before = server.user_memory()
        with Loadgen("polls", server, cores, connections=POLLS, workspaces=workspaces, messages=MESSAGES) as polls:
            polls.next()
            wait_until(lambda: server.metrics("restante_held_polls").get("") == POLLS, "all polls are parked")
            held = server.user_memory()
            cpu, start = server.cpu_seconds(), time.monotonic()
            time.sleep(QUIET_SECONDS)
            busy = 100 * (server.cpu_seconds() - cpu) / (time.monotonic() - start)
            polls.go_on()
            woken = polls.next()
            inside = server.metrics("restante_wake_latency_seconds_sum")[""] / server.metrics("restante_wake_latency_seconds_count")[""]
    each = (held - before) / POLLS
    section.figures = {"before": before, "held": held, "bytes_each": each, "quiet_cpu_percent": busy, "wake": woken,
                       "bell_to_socket_mean_s": inside}
    section.below("  user memory each", each, MEMORY_BAR, "B", f"{before / 2**20:.1f} → {held / 2**20:.1f} MiB anonymous")
    section.below("  CPU while nothing happens", busy, CPU_BAR, "%", f"of one core, over {QUIET_SECONDS} s")
    for name, what in (("delivered", "message sent → agent has it"), ("acknowledged", "message sent → sender has the answer"),
                       ("behind_ack", "sender has the answer → agent has it")):
        figures = woken[name]
        section.show(f"  {what}", f"{figures['p50_ms']:.2f} ms",
                     f"p50 of {figures['count']}; p99 {figures['p99_ms']:.2f}, max {figures['max_ms']:.2f} ms")
    section.show("  bell → answer handed to the socket", f"{inside * 1000:.2f} ms", "mean, by the server's own account")
    return section
