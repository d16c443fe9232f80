"""The commands that manage a server, with a real server: the output for a person, the JSON for a script, and how each command fails."""
import json
import os
import pty
import re
import select
import socket
import sqlite3
import subprocess
import threading
import uuid
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from support.checks import check_error
from support.workspace import Workspace, multipart, sweep
from support.ports import free_port
from support.server import Server, StartFailed, binary
from support.waiting import Deadline

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
SECRET = r"[A-Za-z0-9_-]{43}"
SETTINGS = {}


def environment(**extra):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RESTANTE_") and key != "NO_COLOR"}
    return {**clean, "TERM": "xterm", **extra}


def restante(*args, cwd="/", **extra):
    return subprocess.run([binary(), *map(str, args)], env=environment(**extra), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)


class Operator:
    """Runs commands as on the server's own machine: the token is found in its data directory."""

    def __init__(self, server):
        self.server = server
        self.where = ["--url", f"http://127.0.0.1:{server.port}", "--data", server.data]

    def __call__(self, *args):
        """stdout of a command that must succeed and print nothing on stderr."""
        done = restante(*args, *self.where)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def json(self, *args):
        return json.loads(self(*args, "--json"))

    def refused(self, code, *args):
        """The one sentence of a command that must fail with that exit code."""
        done = restante(*args, *self.where)
        assert (done.returncode, done.stdout) == (code, ""), done
        assert re.fullmatch(r"restante: [^\n]+\n", done.stderr), done.stderr
        return done.stderr


@pytest.fixture
def operator(server):
    return Operator(server)


# -- workspaces


def test_create_prints_the_line_to_paste_and_the_line_works(operator, server, tmp_path):
    shown = operator("workspace", "create", "Research laptop", "--role", "reads papers")
    workspace_id = re.search(rf'Created "Research laptop": ({UUID})\n', shown)[1]
    line = re.search(r"^  (restante connect --url \S+ --enrol \S+)$", shown, re.M)[1]
    assert "in 24 h" in shown or "in 23 h" in shown
    agent = subprocess.Popen([binary(), *line.split()[1:], "--json", "--dir", tmp_path, "--state", tmp_path / "state"], env=environment(),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        server.wait_metric("restante_held_polls", 1)
        listed = operator("workspace", "list")
        assert re.search(rf"^Research laptop +online +poll +(just now|\d+ s ago) +now +{workspace_id}$", listed, re.M), listed
    finally:
        agent.terminate()
        agent.wait(Deadline().left())


def test_json_is_the_unchanged_answer_of_the_server(operator, server):
    made = operator("workspace", "create", "Exact", "--json")
    assert made.endswith("}\n") and made.count("\n") == 1
    workspace_id = json.loads(made)["id"]
    direct = server.get(f"/workspaces/{workspace_id}", token=server.admin_token).body.decode()
    assert operator("workspace", "show", workspace_id, "--json") == direct + "\n"
    assert [w["id"] for w in operator.json("workspace", "list") if w["name"] == "Exact"] == [workspace_id]


def test_a_workspace_is_found_by_its_name_if_no_other_has_it(operator):
    workspace_id = operator.json("workspace", "create", "Only one")["id"]
    shown = operator("workspace", "show", "Only one")
    assert re.search(rf"^Id +{workspace_id}$", shown, re.M) and re.search(r"^Status +awaiting agent$", shown, re.M)
    child = operator.json("workspace", "create", "Child", "--parent", "Only one")
    assert child["parent_id"] == workspace_id
    ids = [operator.json("workspace", "create", "Duplicate")["id"] for _ in range(2)]
    refused = operator.refused(1, "workspace", "show", "Duplicate")
    assert "several workspaces" in refused and all(f"{one} (never seen)" in refused for one in ids), "the candidates, and when they were seen"
    assert ids[1] in operator("workspace", "show", ids[1][-8:]), "the short id is enough"
    assert 'no workspace is called "Unknown"' in operator.refused(1, "workspace", "show", "Unknown")


def test_where_two_share_a_name_a_short_id_is_shown_beside_it(operator, server):
    first, second = (Workspace(server, "Twin") for _ in range(2))
    operator("delegate", "compare", "--from", first.id, "--to", second.id)
    listed = operator("tasks")
    assert f"Twin ({first.id[-8:]})" in listed and f"Twin ({second.id[-8:]})" in listed


def test_on_a_terminal_a_second_workspace_of_the_same_name_is_asked_about(operator, server):
    first = operator.json("workspace", "create", "Asked twice")["id"]
    command = [binary(), "workspace", "create", "Asked twice", *map(str, operator.where)]
    shown = on_a_terminal(command, answer_to="[y/N]", typed="\n")
    assert first in shown and "Make another one?" in shown and "Nothing was made." in shown
    assert 'Created "Asked twice"' in on_a_terminal(command, answer_to="[y/N]", typed="y\n")


def test_set_changes_and_clears_the_description_of_a_workspace(operator):
    parent = operator.json("workspace", "create", "Above")["id"]
    workspace_id = operator.json("workspace", "create", "Changing", "--role", "old", "--parent", parent)["id"]
    shown = operator("workspace", "set", workspace_id, "name=Changed = again", "role=", 'agent_card={"name":"x"}', "parent_id=")
    assert re.search(r"^Name +Changed = again$", shown, re.M) and not re.search(r"^(Role|Parent) ", shown, re.M), shown
    now = operator.json("workspace", "show", workspace_id)
    assert (now["name"], now["role"], now["parent_id"], now["agent_card"]) == ("Changed = again", None, None, {"name": "x"})
    assert operator.json("workspace", "set", workspace_id, f"parent_id={parent}") == {"status": "updated"}
    assert operator.json("workspace", "show", workspace_id)["parent_id"] == parent
    assert "did you mean role?" in operator.refused(64, "workspace", "set", workspace_id, "rol=x")


def test_a_removed_workspace_does_not_exist_and_its_tokens_are_revoked(operator, server):
    workspace = Workspace(server, "Leaving")
    assert operator("workspace", "remove", "Leaving") == 'Removed "Leaving"; its tokens are revoked.\n'
    assert workspace.id not in operator("workspace", "list")
    assert server.get(workspace.path("activity"), token=workspace.token).status == 401
    assert "removed" in operator.refused(1, "workspace", "show", workspace.id)


def test_on_a_terminal_remove_asks_first_and_no_is_the_default(operator, server):
    workspace = Workspace(server, "Asked about")
    shown = on_a_terminal([binary(), "workspace", "remove", workspace.id, *map(str, operator.where)], answer_to="[y/N]", typed="\n")
    assert 'Remove "Asked about"' in shown and "Nothing was removed." in shown
    assert operator.json("workspace", "show", workspace.id)["name"] == "Asked about"
    shown = on_a_terminal([binary(), "workspace", "remove", workspace.id, *map(str, operator.where)], answer_to="[y/N]", typed="y\n")
    assert 'Removed "Asked about"' in shown


def test_colours_are_for_terminals(operator, server):
    Workspace(server, "Colourful")
    assert "\x1b[" in on_a_terminal([binary(), "workspace", "list", *map(str, operator.where)])
    assert "\x1b[" not in on_a_terminal([binary(), "workspace", "list", *map(str, operator.where)], NO_COLOR="1")
    assert "\x1b[" not in operator("workspace", "list")


def test_a_hostile_name_cannot_act_on_the_terminal(operator, server):
    evil = Workspace(server, "evil\x1b[2J\r\nforged  online")
    assert re.search(r"^evil\[2Jforged  online +awaiting agent", operator("workspace", "list"), re.M), "control characters are removed"
    # Earlier versions stored them.
    with closing(sqlite3.connect(server.data / "restante.db")) as rows:
        rows.execute("UPDATE workspaces SET name = ? WHERE id = ?", ("evil\x1b[2J\r\nforged  online", uuid.UUID(evil.id).bytes))
        rows.commit()
    shown = operator("workspace", "list")
    assert "\x1b" not in shown and "\r" not in shown
    assert re.search(r"^evil \[2J  forged  online +awaiting agent +poll +never", shown, re.M), shown


# -- tokens


def test_an_invitation_without_a_workspace_is_listed_and_revoked(operator, server):
    token = operator.json("invite", "--label", "for Ada")["token"]
    assert re.search(rf"^{re.escape(token[:8])}… +enrolment +for Ada ", operator("token", "list"), re.M)
    assert "Revoked" in operator("token", "revoke", token[:8])
    answer = server.request("POST", "/registry/register", token=token, json_body={"agent_card": {}, "delivery_mode": "poll"})
    assert answer.status == 401, answer


def test_a_token_is_created_listed_used_and_revoked(operator, server):
    workspace = Workspace(server, "Tokens")
    secret = operator("token", "create", "--workspace", workspace.id, "--label", "cron job").strip()
    assert re.fullmatch(SECRET, secret)
    assert server.get(workspace.path("activity"), token=secret).status == 200
    listed = operator("token", "list", "--workspace", "Tokens")
    row = re.search(rf"^{re.escape(secret[:8])}… +workspace +cron job +(?:just now|\d+ s ago) .*live +({UUID})$", listed, re.M)
    assert row and secret not in listed, listed
    operator("token", "revoke", "--workspace", workspace.id, secret[:8])
    assert server.get(workspace.path("activity"), token=secret).status == 401
    assert re.search(rf"^{re.escape(secret[:8])}….* revoked +{row[1]}$", operator("token", "list", "--workspace", workspace.id), re.M)
    assert server.get(workspace.path("activity"), token=workspace.token).status == 200
    sentence = operator.refused(1, "token", "revoke", "--workspace", workspace.id, secret)
    assert secret not in sentence


def test_revoking_by_id_ends_a_held_poll(operator, server):
    workspace = Workspace(server, "Held")
    made = operator.json("token", "create", "--workspace", workspace.id)
    poll, = workspace.park(token=made["auth_token"])
    operator("token", "revoke", "--workspace", workspace.id, made["token_id"])
    assert poll.read().status == 401


def test_an_agent_manages_only_its_own_tokens(operator, server):
    mine, theirs = Workspace(server, "Mine"), Workspace(server, "Theirs")
    url = f"http://127.0.0.1:{server.port}"
    done = restante("token", "list", "--workspace", mine.id, "--url", url, RESTANTE_TOKEN=mine.token)
    assert done.returncode == 0 and mine.token[:8] in done.stdout, done
    done = restante("token", "list", "--workspace", theirs.id, RESTANTE_URL=url, RESTANTE_TOKEN=mine.token)
    assert (done.returncode, done.stdout) == (77, "") and "RESTANTE_TOKEN" in done.stderr and mine.token not in done.stderr


# -- enrolment tokens and links


def test_an_invited_agent_connects_with_the_line(operator, server):
    workspace = Workspace(server, "Again")
    shown = operator("invite", "--workspace", "Again", "--label", "new laptop")
    enrolment = re.search(rf"^  restante connect --url \S+ --enrol ({SECRET})$", shown, re.M)[1]
    answer = server.request("POST", "/registry/register", token=enrolment, json_body={"delivery_mode": "poll"})
    assert answer.status == 200 and answer.json()["workspace_id"] == workspace.id
    assert server.get(workspace.path("activity"), token=answer.json()["auth_token"]).status == 200


def test_an_agent_without_a_workspace_gets_its_own(operator, server):
    made = operator.json("invite")
    assert (made["kind"], made["workspace_id"]) == ("enrolment", None)
    answer = server.request("POST", "/registry/register", token=made["token"], json_body={"agent_card": {"name": "fresh"}, "delivery_mode": "poll"})
    assert answer.status == 200, answer
    assert server.get(f"/workspaces/{answer.json()['workspace_id']}/activity", token=answer.json()["auth_token"]).status == 200


def test_an_invited_person_may_write_only_to_that_chat(operator, server):
    workspace, other = Workspace(server, "Chat"), Workspace(server, "Private")
    shown = operator("invite", "--sender", "--workspace", workspace.id, "--label", "Ada")
    link = re.search(r"^  (\S+)$", shown, re.M)[1]
    token = re.search(rf"token=({SECRET})", link)[1]
    assert link.startswith(f"http://127.0.0.1:{server.port}/")
    assert server.get(workspace.path("activity"), token=token).status == 200
    assert server.get(other.path("activity"), token=token).status == 401
    assert "Ada" in operator("token", "list", "--workspace", workspace.id)
    assert "needs --workspace" in operator.refused(64, "invite", "--sender")


# -- the operator's token


def test_rotating_the_operators_token_voids_the_old_one_at_once(start):
    server = start()
    operator, old = Operator(server), server.admin_token
    session = server.request("POST", "/session", json_body={"token": old}, headers={"Sec-Fetch-Site": "same-origin"})
    cookie = session.header("Set-Cookie").split(";")[0]
    workspace = Workspace(server)
    poll, = workspace.park(token=old)
    new = operator("token", "admin", "--rotate").strip()
    workspace.notify("not for a client with the old token")
    assert poll.read().status == 401
    assert new == server.admin_token != old and re.fullmatch(SECRET, new)
    assert (server.data / "admin.token").stat().st_mode & 0o777 == 0o600
    assert server.get("/workspaces", token=old).status == 401
    assert server.get("/workspaces", token=new).status == 200
    assert server.get("/workspaces", headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}).status == 401
    assert old not in server.log_tail() and new not in server.log_tail()
    server.stop()
    with Server(data=server.data) as again:
        assert again.get("/workspaces", token=new).status == 200
        assert again.get("/workspaces", token=old).status == 401
    server.expected_exit = None


def test_a_token_from_the_environment_cannot_be_rotated_by_the_server(start):
    token = "q3vX0b-9ZsT7uLm2JkRcW8yHnEoPaGd4fI6x_1VwQtU"
    server = start(environment={"RESTANTE_ADMIN_TOKEN": token})
    done = restante("token", "admin", "--rotate", "--url", f"http://127.0.0.1:{server.port}", RESTANTE_TOKEN=token)
    assert (done.returncode, done.stdout) == (1, "") and "RESTANTE_ADMIN_TOKEN" in done.stderr and token not in done.stderr
    assert server.get("/workspaces", token=token).status == 200


# -- how they fail


def test_a_server_that_does_not_run_is_69_and_the_sentence_contains_what_to_try(tmp_path):
    (tmp_path / "admin.token").write_text("x" * 43)
    port = free_port()
    done = restante("workspace", "list", "--url", f"http://127.0.0.1:{port}", "--data", tmp_path)
    assert (done.returncode, done.stdout) == (69, "")
    for hint in [f"127.0.0.1:{port}", "restante serve", "--url", "RESTANTE_URL"]:
        assert hint in done.stderr


def test_the_server_of_this_machine_is_found_by_its_data_directory(start, tmp_path):
    server = start()
    assert (server.data / "address").read_text() == f"http://127.0.0.1:{server.port}\n"
    assert restante("workspace", "list", "--data", server.data).returncode == 0
    (tmp_path / "data").symlink_to(server.data)
    assert restante("workspace", "list", cwd=tmp_path).returncode == 0
    server.stop()
    assert not (server.data / "address").exists()


def test_the_token_of_a_server_that_is_gone_is_sent_to_nobody(start):
    """After a kill its note is still there, and another program may have its port."""
    server = start()
    note = server.data / "address"
    noted = note.read_text()
    server.kill()
    assert note.read_text() == noted
    with socket.create_server(("127.0.0.1", server.port)) as other:
        for _ in ("noted", "never noted"):
            done = restante("workspace", "list", "--data", server.data)
            assert done.returncode == 69 and f"the server of {server.data} is not running" in done.stderr, done
            note.unlink(missing_ok=True)
        other.settimeout(0)
        with pytest.raises(BlockingIOError):
            other.accept()


def test_a_refusal_names_the_address_that_was_asked_and_whose_token_it_was(server, tmp_path):
    url = f"http://127.0.0.1:{server.port}"
    workspace = Workspace(server)
    token = tmp_path / "agent.token"
    token.write_text(workspace.token)
    for command, code in ((["workspace", "list"], 77), (["workspace", "show", "01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42"], 77)):
        done = restante(*command, "--url", url, "--token-file", token)
        assert done.returncode == code and url in done.stderr and str(token) in done.stderr, done
    gone = restante("workspace", "show", "01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42", "--url", url, "--data", server.data)
    assert gone.returncode == 1 and url in gone.stderr and "admin.token" in gone.stderr, gone


def test_a_missing_or_wrong_token_is_77_and_the_sentence_names_where_it_was_looked_for(server, tmp_path):
    url = f"http://127.0.0.1:{server.port}"
    done = restante("workspace", "list", "--url", url, "--data", tmp_path / "none")
    assert done.returncode == 77 and "admin.token" in done.stderr and "--token-file" in done.stderr
    wrong = tmp_path / "wrong"
    wrong.write_text("w" * 43 + "\n")
    done = restante("workspace", "list", "--url", url, "--token-file", wrong)
    assert done.returncode == 77 and str(wrong) in done.stderr and "w" * 43 not in done.stderr
    wrong.write_text("two\x00words")
    assert restante("workspace", "list", "--url", url, "--token-file", wrong).returncode == 77


def test_the_token_of_the_data_directory_is_not_sent_to_another_machine(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/admin.token").write_text("x" * 43)
    done = restante("workspace", "list", "--url", "http://192.0.2.1", cwd=tmp_path)
    assert done.returncode == 77 and "--token-file" in done.stderr


def test_the_data_directory_in_the_current_folder_and_restante_data_are_found(server, tmp_path):
    (tmp_path / "data").symlink_to(server.data)
    url = f"http://127.0.0.1:{server.port}"
    assert restante("workspace", "list", "--url", url, cwd=tmp_path).returncode == 0
    assert restante("workspace", "list", RESTANTE_URL=url, RESTANTE_DATA=str(server.data)).returncode == 0


class Other(BaseHTTPRequestHandler):
    """A web server that is not Restante."""

    reply = (200, "text/html", b"<html>hello</html>")

    def do_GET(self):
        status, kind, body = self.reply
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("reply, code, expected", [
    ((200, "text/html", b"<html>hello</html>"), 1, "not JSON"),
    ((404, "application/json", b'{"error":"there is nothing at this address","code":"not_found"}'), 1, "another version"),
    ((503, "application/json", b'{"error":"later","code":"platform_unavailable"}'), 75, "later"),
    ((302, "text/html", b""), 1, "redirect"),
    ((500, "text/plain", b"\x1b[31moops"), 75, "500"),
])
def test_the_answer_of_another_web_server_gives_a_sentence_and_an_exit_code(tmp_path, reply, code, expected):
    (tmp_path / "admin.token").write_text("x" * 43)
    handler = type("Handler", (Other,), {"reply": reply})
    with HTTPServer(("127.0.0.1", 0), handler) as odd:
        threading.Thread(target=odd.handle_request, daemon=True).start()
        done = restante("workspace", "list", "--url", f"http://127.0.0.1:{odd.server_port}", "--data", tmp_path)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert expected in done.stderr and "\x1b" not in done.stderr


# -- migrations


def test_migrate_makes_a_schema_that_the_server_then_finds_complete(tmp_path):
    data = ["--data", tmp_path / "data"]
    assert "no database" in restante("migrate", "status", *data).stderr
    up = restante("migrate", "up", *data)
    assert up.returncode == 0 and re.fullmatch(r"Applied \d+ migrations\.\n", up.stdout), up
    assert restante("migrate", "up", *data).stdout == "Nothing to do: the schema is up to date.\n"
    rows = json.loads(restante("migrate", "status", *data, "--json").stdout)
    assert rows and all(row["known"] and row["applied_at"] for row in rows)
    with Server({"migrate": "false"}, data=tmp_path / "data") as server:
        assert server.get("/ready").status == 200


def test_migrate_down_reverts_one_migration_and_up_applies_it_again(tmp_path):
    data = ["--data", tmp_path / "data"]
    restante("migrate", "up", *data)
    rows = json.loads(restante("migrate", "status", *data, "--json").stdout)
    newest = f"{rows[-1]['version']:04} {rows[-1]['name']}"
    assert restante("migrate", "down", *data).stdout == f"Undid {newest}.\n"
    shown = restante("migrate", "status", *data).stdout
    assert len(re.findall(r"waiting: restante migrate up", shown)) == 1 and shown.splitlines()[-1].endswith("migrate up")
    assert restante("migrate", "up", *data).stdout == "Applied 1 migration.\n"
    for _ in rows:
        assert restante("migrate", "down", *data).returncode == 0
    assert restante("migrate", "down", *data).stdout == "Nothing to undo: no migration is applied.\n"


def test_without_migrating_a_server_starts_on_a_schema_from_before_uploads_and_on_a_complete_one(tmp_path):
    data = ["--data", tmp_path / "data"]
    restante("migrate", "up", *data)
    rows = json.loads(restante("migrate", "status", *data, "--json").stdout)
    while rows[-1]["name"] != "uploads":
        missing = rows.pop()
        assert restante("migrate", "down", *data).returncode == 0
        with pytest.raises(StartFailed) as failed:
            Server({"migrate": "false"}, data=tmp_path / "data").discard()
        assert f"migration {missing['version']} ({missing['name']})" in str(failed.value) and "restante migrate up" in str(failed.value)
    assert restante("migrate", "down", *data).returncode == 0
    with Server({"migrate": "false"}, data=tmp_path / "data") as server:
        ready = server.get("/ready")
        assert ready.status == 503 and ready.json()["checks"]["uploads"] == "failed", ready
        workspace = Workspace(server)
        workspace.notify("the rest works")
        headers, body = multipart(("a", b"x"))
        error = check_error(server.request("POST", workspace.path("chat/uploads"), token=server.admin_token, headers=headers, body=body), 422)
        assert error["error"].startswith("workspace has no callback URL")
        for path in ["/admin/delegations", "/admin/blobs"]:
            assert server.get(path, token=server.admin_token).status == 503
        assert sweep(server)["acked"] == 0
    restante("migrate", "up", *data)
    with Server({"migrate": "false"}, data=tmp_path / "data") as server:
        assert server.get("/ready").status == 200


def test_migrate_changes_nothing_while_a_server_runs_but_shows_the_status(server):
    for action in ["up", "down"]:
        done = restante("migrate", action, "--data", server.data)
        assert (done.returncode, done.stdout) == (69, "") and f"process {server.process.pid}" in done.stderr, done
    status = restante("migrate", "status", "--data", server.data)
    assert status.returncode == 0 and "applied" in status.stdout


def test_migrate_does_not_replace_a_lost_database_by_a_new_one(tmp_path):
    (tmp_path / "admin.token").write_text("x" * 43)
    done = restante("migrate", "up", "--data", tmp_path)
    assert done.returncode == 69 and "missing" in done.stderr and not (tmp_path / "restante.db").exists()


def on_a_terminal(argv, answer_to=None, typed="", **extra):
    """The output of argv on a pseudo-terminal; `typed` is entered once `answer_to` has appeared."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(argv[0], argv, environment(**extra))
    shown, deadline = b"", Deadline()
    try:
        while deadline.left() > 0:
            if not select.select([terminal], [], [], deadline.left())[0]:
                break
            try:
                chunk = os.read(terminal, 4096)
            except OSError:  # Linux reports in this way that the other side has closed
                break
            shown += chunk
            if answer_to and answer_to.encode() in shown:
                os.write(terminal, typed.encode())
                answer_to = None
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return shown.decode(errors="replace")
