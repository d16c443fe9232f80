"""World: two workspaces and every kind of principal, for tests that try every operation as every principal.

Requests are made from docs/openapi.yaml: path parameters and bodies get values that exist, so that a request succeeds if the
principal is allowed to make it. Every answer is checked against the document.
"""
import json
import os
import secrets
import uuid

from support.workspace import Workspace, multipart
from support.waiting import Deadline, wait_until
from support.wire import request

# A valid JSON body by operationId. Every operation that takes JSON must be here.
BODIES = {
    "signIn": lambda w: {"token": w.server.admin_token},
    "createWorkspace": lambda w: {"name": "made", "role": "tests", "parent_id": w.subject.id},
    "patchWorkspace": lambda w: {"name": "renamed", "role": ""},
    "createToken": lambda w: {"label": "another"},
    "adminCreateToken": lambda w: {"label": "another"},
    "invite": lambda w: {"kind": "sender", "workspace_id": w.subject.id, "label": "Ada"},
    "register": lambda w: {"id": w.subject.id, "agent_card": {"name": "tester"}, "delivery_mode": "poll"},
    "heartbeat": lambda w: {"workspace_id": w.subject.id, "active_tasks": 1, "current_task": "testing", "error_rate": 0.0, "uptime_seconds": 5},
    "updateCard": lambda w: {"workspace_id": w.subject.id, "agent_card": {"name": "tester"}},
    "checkAccess": lambda w: {"caller_id": w.subject.id, "target_id": w.other.id},
    "logActivity": lambda w: {"activity_type": "agent_log", "summary": "tested", "request_body": {"a": [1, None]}},
    "ackActivity": lambda w: {"acked_seq": 0},
    "notify": lambda w: {"message": "hello", "attachments": [{"uri": "https://example.org/a", "name": "a", "mimeType": "text/plain", "size": 1}]},
    "sendMessage": lambda w: {"jsonrpc": "2.0", "id": "1", "method": "message/send",
                              "params": {"message": {"messageId": str(uuid.uuid4()), "role": "user", "parts": [{"kind": "text", "text": "hello"}]}}},
}
BODIES |= {
    "delegate": lambda w: {"target_id": w.other.id, "task": "count to ten", "idempotency_key": str(uuid.uuid4()),
                           "attachments": [{"uri": "https://example.org/a", "name": "a", "mimeType": "text/plain", "size": 1}]},
    "recordDelegation": lambda w: {"target_id": w.other.id, "task": "sent by hand", "delegation_id": str(uuid.uuid4())},
    "updateDelegation": lambda w: {"status": "completed", "result": "ten", "attachments": [{"uri": "https://example.org/a", "name": "a"}]},
    "startBlobCheck": lambda w: {"fix": False},
    "beginBlobMove": lambda w: {"to": next_place(w), "rate": 1 << 20},
    "beatDelegation": lambda w: {"progress": "seven"},
}


def migration(world):
    """The current or the last blob move; empty if there was none."""
    return world.ask("GET", "/admin/blobs")["migration"] or {}


def next_place(world):
    """A place to which a blob move can be started or continued now."""
    status = world.ask("GET", "/admin/blobs")
    if status["migration"] and status["migration"]["phase"] != "finished":
        return status["migration"]["to"]
    return "inline" if status["writes_to"] == "dir" else "dir"


def nothing_left(world):
    """Whether the blob move can be finished. Starts one if there is none."""
    if not migration(world):
        world.ask("POST", "/admin/blobs/migration", {"to": next_place(world)})
    return migration(world)["left_files"] == 0


# By operationId, what must be true before the operation can succeed: a sweep, a blob move and a blob check run in the
# background, for as long as the disk takes.
READY = {
    "sweep": lambda w: w.server.metric("restante_sweep_duration_seconds_count"),  # the one at start is over
    "beginBlobMove": lambda w: migration(w).get("phase") != "finishing",
    "finishBlobMove": nothing_left,
    "startBlobCheck": lambda w: w.ask("GET", "/admin/blobs/check")["state"] != "running",
}
READY_SECONDS = 300  # bounds a hang

PRINCIPALS = ["none", "wrong", "revoked", "peer", "sender", "other_sender", "enrolment", "other_enrolment", "agent", "admin"]


class World:
    def __init__(self, server):
        self.server = server
        self.subject, self.other = Workspace(server, "subject"), Workspace(server, "other")
        self._known = {"none": None, "wrong": secrets.token_urlsafe(32), "agent": self.subject.token, "peer": self.other.token}

    def token(self, who):
        """The token of that principal; None for a request without a token."""
        if who == "admin":
            return self.server.admin_token  # read again each time: an operation replaces it
        if who not in self._known:
            place = self.other if who.startswith("other_") else self.subject
            self._known[who] = self._revoked() if who == "revoked" else self.invite(who.removeprefix("other_"), place)
        return self._known[who]

    def invite(self, kind, place):
        return self.ask("POST", "/admin/invites", {"kind": kind, "workspace_id": place.id, "label": "test"}, 201)["token"]

    def fresh_token(self):
        """(id, secret) of one more token of the subject."""
        made = self.ask("POST", self.subject.path("tokens"), {"label": "spare"}, 201)
        return made["token_id"], made["auth_token"]

    def _revoked(self):
        token_id, secret = self.fresh_token()
        self.ask("DELETE", self.subject.path(f"tokens/{token_id}"), None, 200)
        return secret

    def ask(self, method, target, body=None, status=200):
        """The JSON answer to a request of the admin, which must succeed."""
        answer = self.server.request(method, target, token=self.server.admin_token, json_body=body)
        assert answer.status == status, f"{method} {target}: {answer}"
        return answer.json()

    # -- requests

    def target(self, operation, subject_id=None):
        """The path with its parameters filled in."""
        path = operation.path.replace("{id}", subject_id or self.subject.id)
        if "{fid}" in path:
            path = path.replace("{fid}", self.subject.upload(("a.txt", b"content", "text/plain"))[0][0] if not subject_id else str(uuid.uuid4()))
        if path == "/admin/invites/{tokenId}":
            path = path.replace("{tokenId}", self.ask("POST", "/admin/invites", {"kind": "enrolment"}, 201)["token_id"])
        if "{tokenId}" in path:
            path = path.replace("{tokenId}", self.fresh_token()[0] if not subject_id else str(uuid.uuid4()))
        if "{did}" in path:
            path = path.replace("{did}", str(uuid.uuid4()) if subject_id else self.delegation(given=operation.id == "cancelDelegation"))
        path = path.replace("/download/{file}", f"/download/restante-linux-{os.uname().machine}.sha256")
        assert "{" not in path, f"support/world.py does not know the parameters of {path}"
        return path

    def delegation(self, given):
        """The id of a task that the subject has given (or got)."""
        caller, callee = (self.subject, self.other) if given else (self.other, self.subject)
        return self.ask("POST", caller.path("delegate"), {"target_id": callee.id, "task": "count to ten"}, 202)["delegation_id"]

    def body(self, operation):
        """(headers, bytes) of a valid body. Waits until the operation can succeed."""
        if operation.id in READY:
            wait_until(lambda: READY[operation.id](self), f"{operation} can succeed", READY_SECONDS)
        if operation.json_body is not None or operation.id in BODIES:
            assert operation.id in BODIES, f"support/world.py has no body for {operation.id}"
            return {"Content-Type": "application/json"}, json.dumps(BODIES[operation.id](self)).encode()
        if "multipart/form-data" in operation.body:
            return multipart(("b.txt", b"content", "text/plain"))
        return {}, None

    def headers(self, operation, who):
        fields = {}
        if operation.id == "signIn":
            fields["Sec-Fetch-Site"] = "same-origin"
        if any(p["in"] == "header" and p["name"] == "X-Workspace-ID" and p.get("required") for p in operation.parameters):
            fields["X-Workspace-ID"] = self.other.id if who == "peer" else self.subject.id
        return fields

    def call(self, operation, who, *, subject_id=None, body=None, headers=(), query="", wire=None):
        """Makes the request as that principal and returns the answer, checked against the document. body: bytes to send instead of the usual."""
        kind, usual = self.body(operation)
        fields = {**self.headers(operation, who), **kind, **dict(headers)}
        if self.token(who):
            fields.setdefault("Authorization", f"Bearer {self.token(who)}")
        raw = request(operation.method, self.target(operation, subject_id) + query, fields, usual if body is None else body)
        return exchange(self.server, operation, raw, wire)


def exchange(server, operation, raw, wire=None):
    """Sends the bytes of a request of that operation and returns the checked answer. Of a stream only the head is read."""
    own = wire or server.connect()
    try:
        own.send(raw)
        streams = "text/event-stream" in (operation.response(200) or {}).get("content", {})
        answer = read_stream_head(own) if streams else own.read(operation.method)
    finally:
        if not wire:
            own.close()
    assert answer is not None, f"{operation}: closed without an answer"
    check_answer(operation, answer)
    return answer


def read_stream_head(wire):
    """The head of a stream that stays open, or any other answer as a whole."""
    deadline = Deadline()
    while not wire.buffer and not wire.ended:
        wire._fill(deadline)
    answer = wire._read_head(deadline)
    if not (answer.header("Content-Type") or "").startswith("text/event-stream"):
        answer.body = wire._read_body(answer, deadline)
    return answer


def check_answer(operation, answer):
    """Fails unless the status, the media type and every field are documented."""
    documented = operation.response(answer.status)
    assert documented is not None, f"{operation} answers {answer.status}, which docs/openapi.yaml does not know: {answer}"
    content = documented.get("content", {})
    media = (answer.header("Content-Type") or "").split(";")[0]
    if not content or "*/*" in content:
        return
    assert media in content, f"{operation} answers {answer.status} as {media!r}, documented are {list(content)}"
    if media == "application/json":
        faults = operation.spec.faults(answer.json(), content[media]["schema"], closed=True)
        assert not faults, f"{operation} {answer.status}: {faults}\n{answer.body.decode()}"
