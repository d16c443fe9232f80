"""A server that is killed again and again on the same data: whatever was answered 2xx is there afterwards, once, as it was.

A recorder in a process of its own does everything that leaves something behind and writes down what was acknowledged; the
server gets SIGKILL after a random number of acknowledgements and is started again. RESTANTE_KILLS sets how often, and
RESTANTE_SEED repeats a run.
"""
import hashlib
import os
import random

import pytest

from support.workspace import Workspace
from support.recorder import Recorder
from support.server import Server
from support.waiting import wait_until

pytestmark = pytest.mark.bytes
KILLS = int(os.environ.get("RESTANTE_KILLS", "8"))
SEED = int(os.environ.get("RESTANTE_SEED", "0")) or random.randrange(1, 1 << 32)
SETTINGS = {"log.requests": "none", "limits.invalid_tokens_per_minute": 1_000_000}
ROW_KINDS = {"message", "notify", "activity", "upload"}
EVERYTHING = ROW_KINDS | {"ack_upload", "ack", "create", "token", "revoke", "row"}


class Oracle:
    """What was acknowledged in all rounds so far, and what must therefore be there."""

    def __init__(self, inbox, other):
        self.inbox, self.other = inbox, other
        self.rows, self.files, self.acked_files, self.workspaces, self.tokens = {}, {}, set(), {}, {}
        self.revoked, self.seen, self.acked_seq, self.rounds = set(), {}, 0, 0

    def doers(self, admin):
        """Everybody who does something; the round is in their names, so that no text is ever sent twice."""
        def doer(do, name, token, **extra):
            return {"do": do, "name": f"{name}.{self.rounds}", "token": token, "workspace": self.inbox.id, **extra}
        agent = self.inbox.token
        return [doer("message", "neighbour", self.other.token), doer("message", "operator", admin), doer("notify", "agent", agent),
                doer("activity", "log", agent), doer("upload", "up1", admin, agent=agent), doer("upload", "up2", admin, agent=agent),
                doer("ack", "acker", agent), doer("create", "maker", admin), doer("tokens", "locksmith", admin),
                doer("follow", "reader", agent, at=max(self.seen, default=0))]

    def learn(self, lines):
        assert not [line for line in lines if line["do"] == "trouble"], lines[-3:]
        for line in lines:
            kind = line["do"]
            if kind in ROW_KINDS:
                self.rows[line["text"]] = line
            if kind == "upload":
                self.files[line["file_id"]] = line["sha256"]
            elif kind == "ack_upload":
                self.acked_files.add(line["file_id"])
            elif kind == "ack":
                self.acked_seq = max(self.acked_seq, line["seq"])
            elif kind == "create":
                self.workspaces[line["id"]] = line
            elif kind == "token":
                self.tokens[line["id"]] = line["secret"]
            elif kind == "revoke":
                self.revoked.add(line["id"])
            elif kind == "row":
                self.seen[line["seq"]] = line["id"]
        self.rounds += 1

    def check(self, server):
        inbox = self.inbox.on(server)
        rows = inbox.activity()
        self.check_rows(rows)
        self.check_files(inbox, rows)
        stands = server.request("POST", inbox.path("activity/ack"), token=inbox.token, json_body={"acked_seq": 0})
        assert stands.json()["last_acked_seq"] >= self.acked_seq
        self.check_workspaces(server)
        self.check_tokens(server, inbox)

    def check_rows(self, rows):
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1)), "no number is missing"
        times = [row["created_at"] for row in rows]
        assert times == sorted(times)
        by_seq = {row["seq"]: row["id"] for row in rows}
        assert self.seen.items() <= by_seq.items(), "what a reader was shown stays where it was"
        found = {}
        for row in rows:
            if row["activity_type"] != "upload_receipt":
                found.setdefault(text_of(row), []).append(row)
        assert not [text for text, same in found.items() if len(same) > 1], "nothing is there twice"
        assert self.rows.keys() <= found.keys(), f"lost: {sorted(self.rows.keys() - found.keys())[:5]}"
        for text, line in self.rows.items():
            if line["do"] == "message":
                assert (found[text][0]["seq"], found[text][0]["id"]) == (line["seq"], line["id"])
        unanswered = found.keys() - self.rows.keys()
        assert len(unanswered) <= 6 * self.rounds, "one request of each of six writers may have been under way at each kill"

    def check_files(self, inbox, rows):
        receipts = [row["request_body"]["file_id"] for row in rows if row["method"] == "chat_upload_acked"]
        assert len(receipts) == len(set(receipts)) and self.acked_files <= set(receipts)
        for file_id, sha256 in self.files.items():
            content = inbox.server.get(inbox.content(file_id), token=inbox.token)
            if file_id in receipts:
                assert content.status == 404, "acked means gone for the agent"
            else:
                assert content.status == 200 and hashlib.sha256(content.body).hexdigest() == sha256
        # Acknowledged or not: a file has an inbox row or is not there at all, and a row is a promise that its bytes can be read.
        announced = [row["request_body"]["file_id"] for row in rows if row["method"] == "chat_upload_receive"]
        waiting = list_waiting(inbox)
        assert sorted(waiting) == sorted(set(announced) - set(receipts))
        for file_id in waiting:
            assert inbox.server.get(inbox.content(file_id), token=inbox.token).status == 200

    def check_workspaces(self, server):
        listed = {workspace["id"]: workspace["name"] for workspace in server.get("/workspaces", token=server.admin_token).json()}
        assert {id: line["text"] for id, line in self.workspaces.items()}.items() <= listed.items()
        assert len(set(listed.values())) == len(listed), "each was made once"
        if self.workspaces:
            # The last one's enrolment still works, and only once.
            line = self.workspaces.pop(list(self.workspaces)[-1])
            body = {"id": line["id"], "agent_card": {}, "delivery_mode": "poll"}
            first = server.request("POST", "/registry/register", token=line["enrolment"], json_body=body)
            again = server.request("POST", "/registry/register", token=line["enrolment"], json_body=body)
            assert (first.status, again.status) == (200, 401) and first.json()["auth_token"]

    def check_tokens(self, server, inbox):
        dead = {token_id for token_id, secret in self.tokens.items()
                if server.get(inbox.path("activity?limit=1"), token=secret).status == 401}
        assert self.revoked <= dead, "revoked stays revoked"
        assert len(dead - self.revoked) <= 1, "none is lost; one may have been on its way out when the kill came"
        # Those that were never taken back, because a kill came between, go now: a workspace has fifty at most.
        # So do those of which nobody was told.
        listed = server.get(inbox.path("tokens"), token=inbox.token).json()
        unheard_of = {token["id"] for token in listed if token["label"].startswith("locksmith") and not token["revoked_at"]} - self.tokens.keys()
        assert len(unheard_of) <= 1, "one may have been made when the kill came"
        for token_id in (self.tokens.keys() - self.revoked) | unheard_of:
            assert server.request("DELETE", inbox.path(f"tokens/{token_id}"), token=inbox.token).status in (200, 404)
        self.revoked |= self.tokens.keys()


def list_waiting(inbox):
    """The ids of every file that is not acknowledged yet."""
    found, after = [], ""
    while True:
        page = inbox.server.get(inbox.path(f"pending-uploads?limit=100{after}"), token=inbox.token).json()
        if not page:
            return found
        found += [item["file_id"] for item in page]
        after = f"&after={found[-1]}"


def text_of(row):
    text = row["response_body"]["result"] if row["method"] == "notify" else row["summary"]
    return text.removeprefix("chat_upload_receive: ")


def wait_lines(recorder, count, step=20):
    """A slow machine has the ceiling's time for every few of them."""
    for some in [*range(step, count, step), count]:
        recorder.wait_lines(some)


def has_everything(lines):
    """One of each kind; or there is trouble, which is told later."""
    kinds = {line["do"] for line in lines}
    return EVERYTHING <= kinds or "trouble" in kinds


def test_what_was_acknowledged_survives_every_kill(tmp_path):
    print(f"RESTANTE_SEED={SEED}")
    chance = random.Random(SEED)
    with Server(SETTINGS, data=tmp_path) as server:
        oracle = Oracle(Workspace(server, "inbox"), Workspace(server, "neighbour"))
        server.kill()
    for number in range(KILLS):
        with Server(SETTINGS, data=tmp_path) as server, Recorder(server.port, oracle.doers(server.admin_token)) as recorder:
            wait_lines(recorder, chance.randrange(1, 400))
            if number == KILLS - 1:  # whatever is slow where the bytes are kept has happened once
                wait_until(lambda: has_everything(recorder.lines()), "everything was acknowledged once", 300, every=0.2)
            server.kill()
            oracle.learn(recorder.wait_end())
        with Server(SETTINGS, data=tmp_path) as server:
            oracle.check(server)
            server.kill()  # also when nothing was under way
    with Server(SETTINGS, data=tmp_path) as server:
        oracle.check(server)
    print(f"{KILLS} kills: {len(oracle.rows)} rows, {len(oracle.files)} files, {len(oracle.acked_files)} acks, {len(oracle.tokens)} tokens, "
          f"{len(oracle.seen)} rows seen by the reader")
    assert oracle.rows and oracle.files and oracle.tokens and oracle.seen
