"""FilledData: a data directory on SQLite with a row in every table, for tests that move it to another database. A test reads
everything through the API before and after the move; the answers must be the same byte for byte."""
import hashlib
import sqlite3
from contextlib import closing

from support.workspace import Workspace
from support.push import Callback, PushWorkspace, allowing
from support.server import Server
from support.waiting import wait_until

# Fields that change with time or when they are read, by the path that has them.
VOLATILE = {
    "workspaces": {"usual_poll_gap_seconds", "listening", "last_poll_at", "silence", "silent_for_seconds", "status", "updated_at"},
    "tokens": {"last_used_at"},
    "stats": {"oldest_age_seconds"},
    "delegations?limit=100": {"why"},
}
KEY = {"Idempotency-Key": "once-and-for-all"}


def user_message(text, message_id):
    return {"method": "message/send", "params": {"message": {"messageId": message_id, "parts": [{"kind": "text", "text": text}]}}}


def steady(value, volatile):
    if isinstance(value, dict):
        return {key: steady(item, volatile) for key, item in value.items() if key not in volatile}
    return [steady(item, volatile) for item in value] if isinstance(value, list) else value


class FilledData:
    """Filled by the constructor; the server has stopped when it returns."""

    def __init__(self, data):
        self.data, self.contents, self.answers = data, {}, {}
        data.mkdir()
        self._have_one_expire()
        with Callback() as callback:
            self.settings = allowing(callback.port)
            with Server(self.settings, data=data) as server:
                self._fill(server, callback.url())
            with Server({**self.settings, "blobs": "inline"}, data=data) as server:
                self._upload_inline(server)
            with Server(self.settings, data=data) as server:
                self.before = self.look(server)
        self._add_short_lived_rows()

    @property
    def database(self):
        return self.data / "restante.db"

    @property
    def url(self):
        return f"sqlite://{self.database}"

    def _have_one_expire(self):
        with Server({"uploads.ttl": "1s", "uploads.ack_retention": "0s", "uploads.sweep_every": "50ms"}, data=self.data) as server:
            agent = Workspace(server, "Research läptop")
            (self.expired, _), (other, _) = agent.upload(("late.bin", b"x" * 100_000), ("late.txt", b"x"))
            for file_id in (self.expired, other):
                wait_until(lambda: self._upload_status(server, agent, file_id)["state"] == "expired", "it has expired")
            wait_until(lambda: server.metric("restante_pending_uploads_swept_total", '{outcome="expired"}') == 2, "and was swept")
            self.agent = (agent.id, agent.token)

    @staticmethod
    def _upload_status(server, agent, file_id):
        return server.get(agent.path(f"pending-uploads/{file_id}"), token=server.admin_token).json()

    def _fill(self, server, callback):
        agent = Workspace(server, known=self.agent)
        child = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": "child", "role": "réviewer", "parent_id": agent.id})
        assert child.status == 201, child
        self.removed = Workspace(server, "removed").id
        assert server.request("DELETE", f"/workspaces/{self.removed}", token=server.admin_token).status == 200
        push = PushWorkspace(server, callback)
        self.push = (push.id, push.token, push.secret)
        self._make_tokens(server, agent)
        for n in range(30):
            agent.notify(f"message {n} ❦ \u2028 \"quoted\" \\ back")
        self.sent = server.request("POST", agent.path("a2a"), token=server.admin_token, json_body=user_message("remember me", "m-1")).json()
        self.claimed = server.request("POST", agent.path("notify"), token=agent.token, json_body={"message": "claimed"}, headers=KEY).json()
        self._upload(server, agent)
        acked = server.request("POST", agent.path("activity/ack"), token=agent.token, json_body={"acked_seq": 7})
        assert acked.json() == {"last_acked_seq": 7}
        self._delegate(server, agent, child.json()["id"])

    def _make_tokens(self, server, agent):
        self.sender = server.request("POST", "/admin/invites", token=server.admin_token,
                                     json_body={"kind": "sender", "workspace_id": agent.id, "label": "Ada"}).json()["token"]
        self.revoked = agent.new_token()
        tokens = server.get(agent.path("tokens"), token=agent.token).json()
        doomed, = [token["id"] for token in tokens if self.revoked.startswith(token["prefix"])]
        assert server.request("DELETE", agent.path(f"tokens/{doomed}"), token=agent.token).status == 200

    def _upload(self, server, agent):
        files = [("small.txt", b"small"), ("large.bin", bytes(range(256)) * 8000), ("sm\u00e5ll2.txt", b"also small"), ("acked.txt", b"acked"),
                 ("acked.bin", b"A" * 300_000), ("failed.txt", b"failed"), ("recalled.bin", b"R" * 50_000), ("fetched.bin", b"F" * 20_000)]
        ids = {name: file_id for (name, _), (file_id, _) in zip(files, agent.upload(*files))}
        self.contents = {ids[name]: content for name, content in files if not name.startswith(("recalled", "acked"))}
        self.files = [*ids.values(), self.expired]
        self.acked = [ids["acked.txt"], ids["acked.bin"]]
        post = lambda path, **more: server.request("POST", agent.path(f"pending-uploads/{path}"), token=agent.token, **more)
        for file_id in (*self.acked, ids["fetched.bin"]):
            assert server.get(agent.content(file_id), token=agent.token).status == 200
        for file_id in self.acked:
            assert post(f"{file_id}/ack").json() == {"acked": True}
        assert post(f"{ids['failed.txt']}/fail", json_body={"reason": "no room ❦" * 30}).status == 200
        recalled = server.request("DELETE", agent.path(f"pending-uploads/{ids['recalled.bin']}"), token=server.admin_token)
        assert recalled.status == 200, recalled

    def _upload_inline(self, server):
        """Content in the database: three full chunks and a part of a fourth."""
        content = bytes(range(255)) * 12_500
        (file_id, _), = Workspace(server, known=self.agent).upload(("in rows.bin", content))
        self.contents[file_id] = content
        self.files.append(file_id)

    def _delegate(self, server, agent, callee):
        """One task that is running and one that has ended."""
        self.callee = callee
        token = server.request("POST", f"/admin/workspaces/{callee}/tokens", token=server.admin_token, json_body={}).json()["auth_token"]
        for name, update in (("task-1", {"status": "in_progress"}), ("task-2", {"status": "completed", "result": "done"})):
            made = server.request("POST", agent.path("delegate"), token=agent.token,
                                  json_body={"target_id": callee, "task": f"do {name}", "delegation_id": name, "idempotency_key": f"key of {name}"})
            assert made.status == 202, made
            reported = server.request("POST", f"/workspaces/{callee}/delegations/{name}/update", token=token, json_body=update)
            assert reported.status == 200, reported

    def _add_short_lived_rows(self):
        """Rows that normally exist for moments: keys of blobs that are about to be deleted, which exist only between two steps of a sweep;
        a blob move and a blob check that have ended."""
        with closing(sqlite3.connect(self.database)) as rows:
            rows.execute("INSERT INTO dropped_blobs (blob_key) VALUES (?)", ("0" * 32,))
            rows.execute("INSERT INTO orphan_candidates (blob_key, since) VALUES (?, 1)", ("dir:" + "1" * 32,))
            rows.execute("INSERT OR IGNORE INTO trial_writes (id, number) VALUES (1, 1)")
            rows.execute("INSERT INTO blob_checks (state, mend, begun_at, worker, worker_until, progress, findings, ended_at) "
                         "VALUES ('done', 0, 1, randomblob(16), 2, '{}', '[]', 3)")
            rows.execute("INSERT INTO blob_moves (from_place, to_place, phase, rate, begun_at, phase_at, worker, worker_until) "
                         "VALUES ('inline', 'dir', 'finished', 0, 1, 2, randomblob(16), 3)")
            rows.commit()

    def grow(self, rows):
        """Appends so many rows to the agent's inbox, for moves that take a while."""
        with closing(sqlite3.connect(self.database)) as file:
            workspace = bytes.fromhex(self.agent[0].replace("-", ""))
            last, created = file.execute("SELECT last_seq, last_created_at FROM inbox_heads WHERE workspace_id = ?", (workspace,)).fetchone()
            file.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO activity_logs (id, workspace_id, "
                         "seq, activity_type, summary, request_body, created_at) SELECT randomblob(16), ?, ? + i, 'agent_log', 'row ' || i, "
                         "'{\"i\":' || i || '}', ? FROM n", (rows, workspace, last, created))
            file.execute("UPDATE inbox_heads SET last_seq = last_seq + ? WHERE workspace_id = ?", (rows, workspace))
            file.commit()

    # -- afterwards

    def look(self, server):
        """Everything that the API shows, as {path: JSON}, without the fields that a read changes."""
        agent = Workspace(server, known=self.agent)
        seen = {"log": agent.activity(), "workspaces": server.get("/workspaces", token=server.admin_token).json(),
                "history": server.get(agent.path("chat-history?limit=500"), token=self.sender).json()}
        for path in ("pending-uploads", "tokens", "delegations?limit=100"):
            seen[path] = server.get(agent.path(path), token=agent.token).json()
        for file_id in self.files:
            seen[file_id] = server.get(agent.path(f"pending-uploads/{file_id}"), token=server.admin_token).json()
        for file_id in self.contents:
            answer = server.get(agent.content(file_id), token=server.admin_token)
            seen[f"content of {file_id}"] = [answer.status, hashlib.sha256(answer.body).hexdigest()]
        seen["stats"] = server.get("/admin/uploads/stats", token=server.admin_token).json()
        return {what: steady(answer, VOLATILE.get(what, ())) for what, answer in seen.items()}

    def check(self, server):
        """The API shows the same as before, and everything works on."""
        after = self.look(server)
        assert after.keys() == self.before.keys()
        for what, seen in self.before.items():
            assert after[what] == seen, f"{what} was {seen} and is {after[what]}"
        agent = Workspace(server, known=self.agent)
        for file_id, content in self.contents.items():
            answer = server.get(agent.content(file_id), token=agent.token)
            assert (answer.status, len(answer.body), hashlib.sha256(answer.body).digest()) == (
                200, len(content), hashlib.sha256(content).digest()), (file_id, answer.status, answer.body[:200])
        for file_id in self.acked:
            assert server.get(agent.content(file_id), token=agent.token).status == 404
        assert server.get(agent.path("activity"), token=self.revoked).status == 401
        assert server.get(f"/workspaces/{self.removed}", token=server.admin_token).status == 410
        self._check_goes_on(server, agent)

    def _check_goes_on(self, server, agent):
        rows = agent.activity()
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        assert server.get(agent.path(f"activity?since_id={rows[-1]['id']}"), token=agent.token).json() == []
        # Requests that were accepted once have no second effect.
        again = server.request("POST", agent.path("a2a"), token=server.admin_token, json_body=user_message("remember me", "m-1")).json()
        assert (again["activity_id"], again["seq"]) == (self.sent["activity_id"], self.sent["seq"])
        repeated = server.request("POST", agent.path("notify"), token=agent.token, json_body={"message": "claimed"}, headers=KEY)
        assert repeated.json() == self.claimed
        hit = server.request("POST", agent.path("delegate"), token=agent.token,
                             json_body={"target_id": self.callee, "task": "do task-1", "delegation_id": "task-1"})
        assert hit.status == 200 and hit.json()["idempotent_hit"], hit
        assert agent.head() == rows[-1]["seq"]
        agent.notify("after the move")
        added, = agent.activity(rows[-1]["seq"])
        assert added["seq"] == rows[-1]["seq"] + 1 and added["created_at"] >= rows[-1]["created_at"]
        # New files come after the old ones.
        (new, _), = agent.upload(("new.txt", b"new"))
        assert [item["file_id"] for item in server.get(agent.path("pending-uploads"), token=agent.token).json()][-1] == new
        workspace, token, secret = self.push
        beat = server.request("POST", "/registry/heartbeat", token=token, json_body={"workspace_id": workspace})
        assert beat.json()["platform_inbound_secret"] == secret
