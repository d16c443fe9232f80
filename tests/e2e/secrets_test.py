"""No secret is where it does not belong. Every operation is tried by every principal, rightly and wrongly, with the most verbose log.
Then all answers, log lines and files of the server are searched for every secret that was ever made or shown."""
import base64
import json
import os
import re
import secrets
from pathlib import Path

from support.workspace import Workspace
from support.ports import free_port
from support.schema import Spec
from support.wire import request
from support.world import PRINCIPALS, World, exchange

ROOT = Path(os.environ.get("RESTANTE_SOURCE", Path(__file__).parents[2]))
OPERATIONS = Spec((ROOT / "docs/openapi.yaml").read_text()).operations()
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
SETTINGS = {"log.level": "debug", "log.requests": "all", "limits.invalid_tokens_per_minute": 1_000_000}


def values_of(value):
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from values_of(inner)
    elif isinstance(value, str):
        yield value


class Search:
    """Collects secrets and answers. `forms` are the encodings in which a secret could be stored."""

    def __init__(self, server):
        self.server, self.secrets, self.answers = server, {}, []
        self.add("admin", server.admin_token)

    def add(self, what, secret):
        self.secrets.setdefault(secret, what)

    def keep(self, operation, answer):
        """Keeps the answer, and every part of it that looks like a secret."""
        self.answers.append((operation, answer))
        if answer.status < 300 and (answer.header("Content-Type") or "").startswith("application/json"):
            for text in values_of(json.loads(answer.body or b"null")):
                if TOKEN.fullmatch(text):
                    self.add(f"given by {operation.id}", text)
        for cookie in answer.all("Set-Cookie"):
            if value := re.match(r"[^=]+=([^;]+)", cookie):
                self.add(f"cookie of {operation.id}", value[1])

    def forms(self, secret):
        yield secret.encode()
        yield secret.encode().hex().encode()
        if TOKEN.fullmatch(secret):
            raw = base64.urlsafe_b64decode(secret + "=")
            yield raw
            yield raw.hex().encode()

    def found_in(self, content, but=()):
        """The secrets that the bytes contain, in any form."""
        return [what for secret, what in self.secrets.items() if secret not in but and any(form in content for form in self.forms(secret))]


class Watched(World):
    """A World whose own preparing requests are searched too."""

    def __init__(self, server, search):
        self.search = search
        super().__init__(server)
        search.add("workspace", self.subject.token)
        search.add("workspace", self.other.token)

    def ask(self, *arguments):
        answer = super().ask(*arguments)
        for text in values_of(answer):
            if TOKEN.fullmatch(text):
                self.search.add("made by the admin", text)
        return answer


def try_everything(server, search):
    """Every operation by every principal, and with secrets where none belongs."""
    for operation in OPERATIONS:
        world = Watched(server, search)
        for who in PRINCIPALS:
            if token := world.token(who):
                search.secrets[token] = who
            search.keep(operation, world.call(operation, who))
        world = Watched(server, search)  # the last operation may have removed what it was about
        leak = secrets.token_urlsafe(32)
        search.add("in a query", leak)
        search.keep(operation, world.call(operation, "none", query=f"?token={leak}"))
        search.keep(operation, world.call(operation, "admin", headers={"Cookie": f"__Host-restante={leak}", "X-Workspace-ID": leak}))
        for header in (f"Basic {leak}", f"Bearer {leak} x", f"bearer {leak}"):
            search.keep(operation, world.call(operation, "none", headers={"Authorization": header}))
        if operation.json_body is not None:
            for body in (b'{"token":"%s"', b'{"token":"%s","token":1}', b'["%s"]', b'{"id":"%s","message":7,"name":null,"activity_type":"%s"}'):
                search.keep(operation, world.call(operation, "admin", body=body.replace(b"%s", leak.encode())))
        search.add("admin", server.admin_token)  # one operation replaces it


def sign_in(server, search):
    """A session, used by its cookie as the page would, and closed."""
    operations = {operation.id: operation for operation in OPERATIONS}
    head = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    answer = exchange(server, operations["signIn"], request("POST", "/session", head, json.dumps({"token": server.admin_token}).encode()))
    assert answer.status < 300 and answer.all("Set-Cookie"), answer
    search.keep(operations["signIn"], answer)
    cookie = {"Cookie": answer.all("Set-Cookie")[0].split(";")[0], "Sec-Fetch-Site": "same-origin"}
    assert server.get("/workspaces", headers=cookie).status == 200
    search.keep(operations["signIn"], server.request("POST", "/workspaces", headers={**cookie, "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
                                                     json_body={"name": "x"}))
    assert server.request("DELETE", "/session", headers=cookie).status < 300


def push_and_fail(server, search, port):
    """A push workspace whose callback is down: its inbound secret is made, used, returned again and replaced."""
    workspace = Workspace(server, "push")
    search.add("workspace", workspace.token)
    body = {"id": workspace.id, "agent_card": {}, "delivery_mode": "push", "url": f"http://127.0.0.1:{port}"}
    operations = {operation.id: operation for operation in OPERATIONS}
    registered = server.request("POST", "/registry/register", token=workspace.token, json_body=body)
    assert TOKEN.fullmatch(registered.json()["platform_inbound_secret"]), registered
    search.keep(operations["register"], registered)
    message = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "hello"}]}}}
    sent = server.request("POST", workspace.path("a2a"), token=server.admin_token, json_body=message)
    assert sent.json()["delivery_mode"] == "push-fallback", sent
    search.keep(operations["sendMessage"], sent)
    search.keep(operations["heartbeat"], server.request("POST", "/registry/heartbeat", token=workspace.token, json_body={"workspace_id": workspace.id}))
    search.keep(operations["register"], server.request("POST", workspace.path("inbound-secret"), token=workspace.token))


def check_files(search, data):
    admin = (data / "admin.token").read_text().strip()
    files = [file for file in data.rglob("*") if file.is_file()]
    assert {"admin.token", "restante.db"} <= {file.name for file in files}
    for file in files:
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            continue  # deleted meanwhile: the server may still move and sweep blobs
        assert search.found_in(content, but=(admin,) if file.name == "admin.token" else ()) == [], f"{file.name} holds a secret"
        assert b"Bearer " not in content, file.name


def test_no_secret_is_in_a_log_an_error_a_metric_or_a_file(start, tmp_path):
    port = free_port()
    server = start({**SETTINGS, "push.allow_networks": "127.0.0.0/8", "push.allow_ports": port}, data=tmp_path)
    search = Search(server)
    try_everything(server, search)
    sign_in(server, search)
    push_and_fail(server, search, port)

    kinds = {what.split()[0] for what in search.secrets.values()}
    assert {"admin", "workspace", "sender", "enrolment", "revoked", "given", "cookie", "wrong"} <= kinds, kinds
    refusals = [(operation, answer) for operation, answer in search.answers if answer.status >= 400]
    assert len(refusals) > len(OPERATIONS)
    for operation, answer in refusals:
        assert search.found_in(answer.raw) == [], f"{operation} answers with a secret: {answer}"
        assert b"Bearer " not in answer.body, answer
    metrics = server.get("/metrics").body
    assert search.found_in(metrics) == [] and b"Bearer " not in metrics

    check_files(search, tmp_path)
    assert server.stop() == 0
    check_files(search, tmp_path)  # after the stop, the database's log is merged into the database
    log = b"\n".join(server.stdout() + server.stderr())
    assert log.count(b"\n") > len(search.answers), "the log was verbose"
    assert search.found_in(log) == [], "a secret is in the log"
    assert b"Bearer " not in log
    assert not list(tmp_path.rglob("core*"))
