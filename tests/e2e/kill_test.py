"""A server is killed again and again on the same data: every request that was answered 2xx has its effect afterwards, exactly once.

A recorder in a separate process makes every kind of request that stores something and records the acknowledged ones. The
server gets SIGKILL after a random number of them and is started again. RESTANTE_KILLS sets how often, and RESTANTE_SEED
repeats a run.
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
    """Everything that was acknowledged in all rounds so far, and so must be there."""

    def __init__(self, inbox, other):
        self.inbox, self.other = inbox, other
        self.rows, self.files, self.acked_files, self.workspaces, self.tokens = {}, {}, set(), {}, {}
        self.revoked, self.seen, self.acked_seq, self.rounds = set(), {}, 0, 0

    def doers(self, admin):
        """All doers. Their names contain the round, so that no text is sent twice."""
        def doer(do, name, token, **extra):
            return {"do": do, "name": f"{name}.{self.rounds}", "token": token, "workspace": self.inbox.id, **extra}
        agent = self.inbox.token
        return [doer("message", "peer", self.other.token), doer("message", "operator", admin), doer("notify", "agent", agent),
                doer("activity", "log", agent), doer("upload", "up1", admin, agent=agent), doer("upload", "up2", admin, agent=agent),
                doer("ack", "acker", agent), doer("create", "maker", admin), doer("tokens", "tokens", admin),
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
        answer = server.request("POST", inbox.path("activity/ack"), token=inbox.token, json_body={"acked_seq": 0})
        assert answer.json()["last_acked_seq"] >= self.acked_seq
        self.check_workspaces(server)
        self.check_tokens(server, inbox)

    def check_rows(self, rows):
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1)), "no number is missing"
        times = [row["created_at"] for row in rows]
        assert times == sorted(times)
        by_seq = {row["seq"]: row["id"] for row in rows}
        assert self.seen.items() <= by_seq.items(), "a row that a reader has seen keeps its number"
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
        assert len(unanswered) <= 6 * self.rounds, "one request of each of six writers may have been in progress at each kill"

    def check_files(self, inbox, rows):
        receipts = [row["request_body"]["file_id"] for row in rows if row["method"] == "chat_upload_acked"]
        assert len(receipts) == len(set(receipts)) and self.acked_files <= set(receipts)
        for file_id, sha256 in self.files.items():
            content = inbox.server.get(inbox.content(file_id), token=inbox.token)
            if file_id in receipts:
                assert content.status == 404, "an acked file is not served to the agent any more"
            else:
                assert content.status == 200 and hashlib.sha256(content.body).hexdigest() == sha256
        # Acknowledged or not: a file has an inbox row or does not exist, and a file with a row has its content.
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
            # The enrolment token of the last one still works, and only once.
            line = self.workspaces.pop(list(self.workspaces)[-1])
            body = {"id": line["id"], "agent_card": {}, "delivery_mode": "poll"}
            first = server.request("POST", "/registry/register", token=line["enrolment"], json_body=body)
            again = server.request("POST", "/registry/register", token=line["enrolment"], json_body=body)
            assert (first.status, again.status) == (200, 401) and first.json()["auth_token"]

    def check_tokens(self, server, inbox):
        dead = {token_id for token_id, secret in self.tokens.items()
                if server.get(inbox.path("activity?limit=1"), token=secret).status == 401}
        assert self.revoked <= dead, "revoked stays revoked"
        assert len(dead - self.revoked) <= 1, "none is lost; one may have been in revocation at the kill"
        # Tokens that were not revoked because of a kill are revoked now: a workspace has fifty at most.
        # So are tokens whose creation was not answered.
        listed = server.get(inbox.path("tokens"), token=inbox.token).json()
        unanswered = {token["id"] for token in listed if token["label"].startswith("tokens") and not token["revoked_at"]} - self.tokens.keys()
        assert len(unanswered) <= 1, "one may have been made when the kill came"
        for token_id in (self.tokens.keys() - self.revoked) | unanswered:
            assert server.request("DELETE", inbox.path(f"tokens/{token_id}"), token=inbox.token).status in (200, 404)
        self.revoked |= self.tokens.keys()


def list_waiting(inbox):
    """The ids of all files that are not acked yet."""
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
    """Waits in steps: a slow machine has the ceiling's time for every `step` lines."""
    for some in [*range(step, count, step), count]:
        recorder.wait_lines(some)


def has_everything(lines):
    """One of each kind was recorded; or there is trouble, which is reported later."""
    kinds = {line["do"] for line in lines}
    return EVERYTHING <= kinds or "trouble" in kinds


def test_every_acknowledged_request_survives_every_kill(tmp_path):
    print(f"RESTANTE_SEED={SEED}")
    chance = random.Random(SEED)
    with Server(SETTINGS, data=tmp_path) as server:
        oracle = Oracle(Workspace(server, "inbox"), Workspace(server, "peer"))
        server.kill()
    for number in range(KILLS):
        with Server(SETTINGS, data=tmp_path) as server, Recorder(server.port, oracle.doers(server.admin_token)) as recorder:
            wait_lines(recorder, chance.randrange(1, 400))
            if number == KILLS - 1:  # every kind of request was acknowledged once, also the slow ones of this blob place
                wait_until(lambda: has_everything(recorder.lines()), "everything was acknowledged once", 300, every=0.2)
            server.kill()
            oracle.learn(recorder.wait_end())
        with Server(SETTINGS, data=tmp_path) as server:
            oracle.check(server)
            server.kill()  # also when no request was in progress
    with Server(SETTINGS, data=tmp_path) as server:
        oracle.check(server)
    print(f"{KILLS} kills: {len(oracle.rows)} rows, {len(oracle.files)} files, {len(oracle.acked_files)} acks, {len(oracle.tokens)} tokens, "
          f"{len(oracle.seen)} rows seen by the reader")
    assert oracle.rows and oracle.files and oracle.tokens and oracle.seen
