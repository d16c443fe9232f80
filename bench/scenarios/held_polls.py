"""Ten thousand held polls at once: memory of each, whether it grows, CPU and database reads while nothing happens, and how fast a
message reaches the polls of its workspace."""
import json
import time
from concurrent.futures import ThreadPoolExecutor

import machine
from load import Loadgen, rate
from report import Section
from servers import Restante, wait_until

MEMORY_BAR = 8192
GROWTH_BAR = 64  # bytes for each poll, over the quiet time: no growth, except for the allocator's own movements
CPU_BAR = 2  # percent of one core
READS_BAR = 1000  # enough for the server's background work; one read for each poll would be 10 000
DELIVERY_BAR = 20  # milliseconds, p99
POLLS = 10_000
PER_TOKEN = 8  # limits.polls_per_token
SETTLE_SECONDS = 16  # the server's work that runs every 15 s must have been done for the new polls
QUIET_SECONDS = 10  # polls last 50 s, all of it must fit
MESSAGES = 400
SCRAPES = 64


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


def reads(server):
    return server.metrics("restante_store_reads_total")[""]


def run(_):
    section = Section(f"held polls: {POLLS:,} parked, {PER_TOKEN} on each of {POLLS // PER_TOKEN:,} workspaces")
    cores = machine.cores()
    with Restante(len(cores), cores) as server:
        hold(section, server, cores)
    return section


def hold(section, server, cores, transactions=lambda: 0):
    """The whole scenario on one server. `transactions()` returns the database's count; returns how many the quiet time had."""
    workspaces = make_workspaces(server, POLLS // PER_TOKEN)
    rate(server, cores, connections=64, warmup=0.1, seconds=0.5)
    # Our own requests use heap of every pool thread; that memory belongs to no poll.
    for _ in range(SCRAPES):
        reads(server)
    before = server.user_memory()
    with Loadgen("polls", server, cores, connections=POLLS, workspaces=workspaces, messages=MESSAGES) as polls:
        polls.next()
        wait_until(lambda: server.metrics("restante_held_polls").get("") == POLLS, "all polls are parked")
        held = server.user_memory()
        time.sleep(SETTLE_SECONDS)
        asked, done = reads(server), transactions()
        settled, cpu, start = server.user_memory(), server.cpu_seconds(), time.monotonic()
        time.sleep(QUIET_SECONDS)
        busy = 100 * (server.cpu_seconds() - cpu) / (time.monotonic() - start)
        later = server.user_memory()
        asked, done = reads(server) - asked, transactions() - done
        polls.go_on()
        woken = polls.next()
        inside = server.metrics("restante_wake_latency_seconds_sum")[""] / server.metrics("restante_wake_latency_seconds_count")[""]
    each, growth = (held - before) / POLLS, max(0, later - settled) / POLLS
    section.figures["held polls"] = {"before": before, "held": held, "settled": settled, "later": later, "bytes_each": each, "quiet_reads": asked, "quiet_cpu_percent": busy, "wake": woken,
                       "bell_to_socket_mean_s": inside}
    section.below("  user memory each", each, MEMORY_BAR, "B", f"{before / 2**20:.1f} → {held / 2**20:.1f} MiB anonymous")
    section.below("  growth of that while nothing happens", growth, GROWTH_BAR, "B", f"over {QUIET_SECONDS} s; {later / 2**20:.1f} MiB then")
    section.below("  reads of the database meanwhile", asked, READS_BAR, "reads", f"of all {POLLS:,} polls together, over {QUIET_SECONDS} s")
    section.below("  CPU while nothing happens", busy, CPU_BAR, "%", f"of one core, over {QUIET_SECONDS} s")
    section.below("  message sent → agent has it, p99", woken["delivered"]["p99_ms"], DELIVERY_BAR, "ms",
                  f"of {woken['delivered']['count']} deliveries to held polls")
    for name, what in (("delivered", "message sent → agent has it"), ("acknowledged", "message sent → sender has the answer"),
                       ("behind_ack", "sender has the answer → agent has it")):
        figures = woken[name]
        section.show(f"  {what}", f"{figures['p50_ms']:.2f} ms",
                     f"p50 of {figures['count']}; p99 {figures['p99_ms']:.2f}, max {figures['max_ms']:.2f} ms")
    section.show("  bell → answer handed to the socket", f"{inside * 1000:.2f} ms", "mean, from the server's own metric")
    return done
