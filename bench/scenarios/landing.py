"""From a person's upload to the file on the agent's disk: the time from the first sent byte until the file is in the agent's folder
under its final name, synced and verified. One file after the other, as a person sends them; server, agent and sender share the
cores. The time contains two durable writes of the server (blob and rows), the wake of a held poll, a fetch, and a durable write of
the agent."""
import hashlib
import http.client
import json
import os
import statistics
import time

import machine
from agents import Agent
from contest import MIB
from report import Section
from servers import Restante, wait_until

P50_BAR, P99_BAR = 10, 50  # milliseconds
WARMUP = 30
SIZES = (("1 KiB", 1024, 500), ("100 KiB", 100 * 1024, 300), ("5 MiB", 5 * MIB, 40))
BARRED = ("1 KiB", "100 KiB")
BOUNDARY = "bench-boundary"


class Person:
    """Sends files over one connection, as a browser does."""

    def __init__(self, server, workspace):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.connection.connect()
        self.path = f"/workspaces/{workspace}/chat/uploads"
        self.headers = {"Authorization": f"Bearer {server.admin_token}", "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}

    def send(self, content):
        """(when the first byte was sent, when the answer arrived, the name under which the file lands)"""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n'.encode()
        body = head + content + f"\r\n--{BOUNDARY}--\r\n".encode()
        began = time.monotonic()
        self.connection.request("POST", self.path, body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        answered = time.monotonic()
        if answer.status != 200:
            raise RuntimeError(f"upload: {answer.status} {text[:200]}")
        uri = json.loads(text)["files"][0]["uri"]
        return began, answered, uri[-36:].replace("-", "") + "-a.bin"


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def measure(person, agent, size, count):
    """Milliseconds for each file: until the sender's answer, and until it is in the agent's folder."""
    answered, landed = [], []
    for number in range(-WARMUP, count):
        content = os.urandom(size)
        began, answer, name = person.send(content)
        arrived = agent.watch.wait(name)
        if hashlib.sha256((agent.landing / name).read_bytes()).digest() != hashlib.sha256(content).digest():
            raise RuntimeError(f"{name} landed with other content")
        if number >= 0:
            answered.append((answer - began) * 1000)
            landed.append((arrived - began) * 1000)
    return answered, landed


def run(_):
    section = Section("landing: a person uploads → the file is on the agent's disk, one after the other")
    cores = machine.cores()
    with Restante(len(cores), cores) as server:
        made = json.loads(server.request("POST", "/workspaces", server.admin_token, {"name": "laptop"}))
        token = json.loads(server.request("POST", f"/admin/workspaces/{made['id']}/tokens", server.admin_token))["auth_token"]
        with Agent(server, token, cores) as agent:
            wait_until(lambda: "connected to" in agent.stderr(), "the agent is connected")
            wait_until(lambda: server.metrics("restante_held_polls").get("") == 1, "its poll is held")
            person = Person(server, made["id"])
            for name, size, count in SIZES:
                show(section, name, *measure(person, agent, size, count))
    return section


def show(section, name, answered, landed):
    section.figures[name] = {"answered_ms": answered, "landed_ms": landed}
    detail = f"{len(landed)} files; max {max(landed):.2f} ms; the sender has the answer after {statistics.median(answered):.2f} ms"
    if name in BARRED:
        section.below(f"  {name}, p50", statistics.median(landed), P50_BAR, "ms", detail)
        section.below(f"  {name}, p99", percentile(landed, 0.99), P99_BAR, "ms")
    else:
        section.show(f"  {name}", f"{statistics.median(landed):.2f} ms", f"p50; p99 {percentile(landed, 0.99):.2f} ms; {detail}")
