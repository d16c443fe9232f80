"""Files and messages go from a server to an agent through a proxy that cuts, stalls and resets, while both sides are killed at
random: nothing is lost, nothing is handed over twice, every byte is right. RESTANTE_STORM sets how many (1000)."""
import hashlib
import json
import os
import random
import socket
import struct
import threading
import urllib.request
from pathlib import Path

from support.workspace import Workspace, multipart
from support.ports import free_port
from support.waiting import Deadline, Stalled, wait_until

COUNT = int(os.environ.get("RESTANTE_STORM", "1000"))
SEED = int(os.environ.get("RESTANTE_SEED", "0")) or random.randrange(1, 1 << 30)


class StormyProxy:
    """A TCP proxy to a port that may be closed. Each connection has a random behaviour: calm, cut after some bytes, reset, or stalled and
    then cut."""

    def __init__(self, port, dice):
        self.port, self.dice, self.calm = port, dice, threading.Event()
        self.behaviours = {"calm": 0, "cut": 0, "reset": 0, "stall": 0}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            behaviour = "calm" if self.calm.is_set() else self.dice.choices(list(self.behaviours), [3, 3, 2, 1])[0]
            self.behaviours[behaviour] += 1
            threading.Thread(target=self._serve, args=(client, behaviour, self.dice.randrange(200, 150_000)), daemon=True).start()

    def _serve(self, client, behaviour, allowance):
        try:
            server = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        except OSError:
            return client.close()
        server.settimeout(None)
        left = [allowance if behaviour != "calm" else 1 << 60]
        ending = threading.Event()

        def pump(source, target):
            try:
                while not ending.is_set():
                    data = source.recv(16384)
                    if not data:
                        break
                    target.sendall(data[:max(0, left[0])])
                    left[0] -= len(data)
                    if left[0] <= 0:
                        break
            except OSError:
                pass
            if behaviour == "stall" and left[0] <= 0:
                self.calm.wait(2)  # open for a while without any data
            if behaviour == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            ending.set()
            for one in (source, target):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        pump(client, server)
        back.join()
        client.close()
        server.close()

    def close(self):
        self.listener.close()


class Site:
    """The server, which is killed and started again on the same port and data."""

    def __init__(self, start):
        self._start = start
        self.port = free_port()
        self.server = start(listen=(f"127.0.0.1:{self.port}",))
        self.data = self.server.data
        self.lock = threading.Lock()

    def kill_and_restart(self):
        with self.lock:
            self.server.kill()
            self.server = self._start(data=self.data, listen=(f"127.0.0.1:{self.port}",))


def persistently(action, what):
    """Repeats the action until it works: the server may be down. Every action has a key, so that a repetition has no second effect."""
    deadline, pause = Deadline(300), threading.Event()
    while True:
        try:
            return action()
        except (OSError, AssertionError) as trouble:
            if deadline.left() == 0:
                raise AssertionError(f"never worked: {what}") from trouble
            pause.wait(0.1)


def post(port, path, token, body, key, content_type):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, method="POST", headers={
        "Authorization": f"Bearer {token}", "Content-Type": content_type, "Idempotency-Key": key})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def send_everything(site, workspace, admin, dice, sent):
    for n in range(COUNT):
        content = dice.randbytes(dice.choice([1, 300, 5_000, 70_000, 400_000]))
        headers, body = multipart((f"file-{n}.bin", content))
        answer = persistently(lambda: post(site.port, workspace.path("chat/uploads"), admin, body, f"file-{n}", headers["Content-Type"]),
                              f"upload {n}")
        sent["files"][f"file-{n}.bin"] = hashlib.sha256(content).hexdigest()
        parts = [{"kind": "text", "text": f"message {n}"}]
        if n % 2 == 0:
            parts.append({"kind": "file", "file": {"uri": answer["files"][0]["uri"], "name": f"file-{n}.bin"}})
        message = json.dumps({"method": "message/send", "params": {"message": {"messageId": f"m-{n}", "parts": parts}}}).encode()
        persistently(lambda: post(site.port, workspace.path("a2a"), admin, message, f"message-{n}", "application/json"), f"message {n}")
        sent["messages"].append(f"message {n}")


def test_nothing_is_lost_doubled_or_damaged_in_a_storm(start, connect):
    dice = random.Random(SEED)
    print(f"seed {SEED}")
    site = Site(start)
    workspace = Workspace(site.server)
    admin = site.server.admin_token
    proxy = StormyProxy(site.port, random.Random(dice.random()))
    agent = connect(proxy.url, token=workspace.token, reply="noted")
    sent = {"files": {}, "messages": []}
    sender = threading.Thread(target=send_everything, args=(site, workspace, admin, random.Random(dice.random()), sent))
    sender.start()
    kills, pause = {"agent": 0, "server": 0}, threading.Event()

    def wait_connected(agent):
        """A long ceiling, because every attempt to connect may be cut, too."""
        agent.stderr.wait(lambda line: b"connected to" in line, "the agent is connected", ceiling=300)

    def kill_one_side(agent):
        # Mostly while it works, sometimes while it starts, also on a slow machine.
        if dice.random() < 0.8:
            wait_connected(agent)
        pause.wait(dice.uniform(0.1, 1.5))
        if dice.random() < 0.3:
            site.kill_and_restart()
            kills["server"] += 1
            return agent
        agent.kill()
        kills["agent"] += 1
        return connect(proxy.url, token=workspace.token, reply="noted", keep=agent)

    least = 2 if COUNT < 200 else 5
    while sender.is_alive() or min(kills.values()) < least:
        agent = kill_one_side(agent)
    sender.join()
    proxy.calm.set()
    # If a sender had died, the storm would be shorter without this check.
    count = len(sent["messages"])
    assert count == len(sent["files"]) == COUNT, f"seed {SEED}: {count} of {COUNT} sent"

    def files_of(deliveries):
        return {file["name"] for d in deliveries for file in d["files"] if file["state"] == "landed"}

    def missing():
        deliveries = agent.deliveries()
        return (set(sent["messages"]) - {d["text"] for d in deliveries if d["type"] == "message"}) | (set(sent["files"]) - files_of(deliveries))

    try:
        wait_until(lambda: not missing(), "everything arrives", ceiling=900, every=0.5)
    except Stalled:
        printed = b"\n".join(agent.stderr()[-10:]).decode()
        raise AssertionError(f"seed {SEED}, {kills}, {proxy.behaviours}: {sorted(missing())} did not arrive; the agent printed:\n{printed}") from None
    deliveries = agent.deliveries()
    ids = [d["id"] for d in deliveries]
    assert len(ids) == len(set(ids)), f"seed {SEED}: handed over twice: {[i for i in ids if ids.count(i) > 1]}"
    assert [d["text"] for d in deliveries if d["type"] == "message"] == sent["messages"], f"seed {SEED}: lost, doubled or out of order"
    for delivery in deliveries:
        for file in delivery["files"]:
            if file["state"] == "landed":
                assert hashlib.sha256(Path(file["path"]).read_bytes()).hexdigest() == sent["files"][file["name"]], f"seed {SEED}: {file}"
    # At most once alone, and once with the message that names it.
    for kind in ("file", "message"):
        landed = [file["name"] for d in deliveries if d["type"] == kind for file in d["files"] if file["state"] == "landed"]
        assert len(landed) == len(set(landed)), f"seed {SEED}: handed over twice as {kind}"
    replies = lambda: len(workspace.on(site.server).messages())
    wait_until(lambda: replies() >= len(deliveries), "every reply", ceiling=300, every=0.5)
    assert replies() == len(deliveries), f"seed {SEED}: a reply was sent twice"
    wait_until(lambda: site.server.get(workspace.path("pending-uploads"), token=admin).json() == [], "every ack", ceiling=300, every=0.5)
    wait_connected(agent)  # it may just have been started
    assert agent.stop() == 0
    assert list((agent.state / "runs").iterdir()) == [], f"seed {SEED}: left over"
    assert [path.name for path in agent.landed() if path.name.startswith(".part-")] == [], f"seed {SEED}: left over"
    proxy.close()
    print(f"seed {SEED}: {len(sent['files'])} files, {len(sent['messages'])} messages, {kills}, {proxy.behaviours}")
