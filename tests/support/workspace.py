"""Workspace: the API calls of one workspace, for tests that need messages, uploads and polls."""
import json
import re

from support.waiting import wait_until
from support.wire import request


def multipart(*files, boundary="restante-test-boundary"):
    """(headers, body) of an upload. A file is (name, bytes) or (name, bytes, media type)."""
    body = b""
    for name, content, *media in files:
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
                 f'Content-Type: {media[0] if media else "application/octet-stream"}\r\n\r\n').encode() + content + b"\r\n"
    return {"Content-Type": f"multipart/form-data; boundary={boundary}"}, body + f"--{boundary}--\r\n".encode()


def files_of(response):
    """[(file_id, item)] of an upload's answer."""
    assert response is not None and response.status == 200, response
    return [(re.fullmatch(r"platform-pending:[0-9a-f-]{36}/([0-9a-f-]{36})", item["uri"])[1], item)
            for item in response.json()["files"]]


def sweep(server):
    """Runs a sweep and returns its result. The server refuses it while its own sweep runs, as after the start."""
    ask = lambda: server.request("POST", "/admin/sweep", token=server.admin_token)
    answer = wait_until(lambda: (one := ask()).status != 409 and one, "no other sweep is running")
    assert answer.status == 200, answer
    return answer.json()


class Workspace:
    """A workspace in poll mode with a valid token."""

    def __init__(self, server, name="test", *, known=None):
        self.server = server
        if known:
            self.id, self.token = known
            return
        made = server.request("POST", "/workspaces", token=server.admin_token, json_body={"name": name})
        assert made.status == 201, made
        self.id = made.json()["id"]
        self.token = self.new_token()

    def new_token(self):
        """Another valid token of this workspace."""
        made = self.server.request("POST", f"/admin/workspaces/{self.id}/tokens", token=self.server.admin_token, json_body={})
        assert made.status == 201 and made.json()["workspace_id"] == self.id, made
        return made.json()["auth_token"]

    def on(self, server):
        """The same workspace on a server that was started again on the same data."""
        return Workspace(server, known=(self.id, self.token))

    def path(self, rest):
        return f"/workspaces/{self.id}/{rest}"

    def auth(self, token=None):
        return {"Authorization": f"Bearer {token or self.token}"}

    # -- messages and files

    def notify(self, message):
        sent = self.server.request("POST", self.path("notify"), token=self.token, json_body={"message": message})
        assert (sent.status, sent.json()["status"]) == (200, "sent"), sent

    def upload(self, *files):
        """[(file_id, item)] of files given as (name, bytes)."""
        headers, body = multipart(*files)
        return files_of(self.server.request("POST", self.path("chat/uploads"), token=self.server.admin_token, headers=headers, body=body))

    def activity(self, since_seq=0):
        """Every row after since_seq, oldest first, read by the operator: reading on with the agent's token would ack the rows, and an
        agent that starts later would begin after them."""
        rows = []
        while True:
            after = rows[-1]["seq"] if rows else since_seq
            page = self.server.get(self.path(f"activity?since_seq={after}&limit=500"), token=self.server.admin_token)
            assert page.status == 200, page
            if not page.json():
                return rows
            rows += page.json()

    def head(self):
        """The seq of the newest row."""
        rows = self.activity()
        return rows[-1]["seq"] if rows else 0

    def messages(self):
        """The texts of every notify so far, oldest first."""
        return [row["response_body"]["result"] for row in self.activity() if row["method"] == "notify"]

    def content(self, file_id):
        return self.path(f"pending-uploads/{file_id}/content")

    # -- the bytes of requests

    def notify_bytes(self, message="hello", headers=()):
        fields = {**self.auth(), "Content-Type": "application/json", **dict(headers)}
        return request("POST", self.path("notify"), fields, json.dumps({"message": message}).encode())

    def poll_bytes(self, since_seq=0, wait=50, token=None, headers=()):
        return request("GET", self.path(f"activity?since_seq={since_seq}&wait={wait}"), {**self.auth(token), **dict(headers)})

    def upload_bytes(self, *files, headers=()):
        """(head, body) of an upload by the admin."""
        fields, body = multipart(*files)
        fields = {"Authorization": f"Bearer {self.server.admin_token}", **fields, "Content-Length": len(body), **dict(headers)}
        return request("POST", self.path("chat/uploads"), fields), body

    # -- requests in progress

    def park(self, count=1, *, token=None, **options):
        """`count` connections whose polls wait for the next row. They are held when this returns."""
        since_seq = self.head()
        held = self.server.metric("restante_held_polls") or 0
        wires = []
        for _ in range(count):  # each polls at once: the server closes a connection without a request after a while
            wires.append(self.server.connect(**options))
            wires[-1].send(self.poll_bytes(since_seq, token=token))
        self.server.wait_metric("restante_held_polls", held + count)
        return wires

    def begin_upload(self, *files, **options):
        """(connection, rest of the body) of an upload that the server has begun to read: it answered 100 Continue."""
        head, body = self.upload_bytes(*files, headers={"Expect": "100-continue"})
        wire = self.server.connect(**options)
        wire.send(head)
        assert wire.read_informational().status == 100
        half = len(body) // 2
        wire.send(body[:half])
        return wire, body[half:]
