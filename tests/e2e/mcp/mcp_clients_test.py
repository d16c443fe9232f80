"""`restante mcp` with the official MCP client and with the inspector: each lists and calls every tool, with a real server and
a real peer that answers tasks. make test installs both (package-lock.json) beside this file."""
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.agent import send, url_of
from support.workspace import Workspace
from support.server import Lines
from support.waiting import Stalled, wait_until

HERE = Path(__file__).resolve().parent
# Bounds for a hang, not expectations.
WALK_SECONDS = 400
CALL_SECONDS = 200
TOOLS = {"wait_for_message", "inbox_peek", "inbox_pop", "list_files", "send_message_to_user", "send_message_to_agent",
         "delegate_task", "delegate_task_async", "check_task_status", "complete_task", "list_peers", "get_workspace_info", "chat_history"}


@pytest.fixture(scope="module")
def node():
    found = os.environ.get("RESTANTE_NODE") or shutil.which("node")
    assert found, "node is not installed (or name it in RESTANTE_NODE)"
    assert (HERE / "node_modules/@modelcontextprotocol/sdk").is_dir(), "the clients are not installed: run make mcp-clients"
    return found


@pytest.fixture
def peer(server, connect):
    """Another agent, which answers every task with its text."""
    workspace = Workspace(server, "counter")
    agent = connect(url_of(server), token=workspace.token, exec_command="cat > /dev/null; printf 'one two three'")
    agent.wait_printed("connected to")
    return workspace


def program(mcp, workspace, folder):
    """The command of a `restante mcp` that the client starts. One is started here first and ended, so that its state exists."""
    one = mcp(url_of(workspace.server), token=workspace.token, arguments=("--allow", str(folder)))
    assert one.call("get_workspace_info")["id"] == workspace.id
    assert one.close() == 0
    return one


def give_task(giver, target, task):
    made = giver.server.request("POST", giver.path("delegate"), token=giver.token, json_body={"target_id": target.id, "task": task})
    assert made.status == 202, made
    return made.json()["delegation_id"]


def test_the_official_client_lists_and_calls_every_tool(node, workspace, peer, mcp, tmp_path):
    one = program(mcp, workspace, tmp_path)
    content = os.urandom(500_000)
    (tmp_path / "answer.bin").write_bytes(content)
    (_, item), = workspace.upload(("question.txt", b"how many?"))
    send(workspace, "first", item["uri"])
    send(workspace, "second")
    plan = {"command": one.command[0], "args": one.command[1:], "attachment": str(tmp_path / "answer.bin"), "peer": peer.id}
    walk = subprocess.Popen([node, str(HERE / "client.mjs"), json.dumps(plan)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    out, err = Lines(walk.stdout), Lines(walk.stderr)
    try:
        out.wait(lambda line: b"for a task" in line, "the client is ready for a task", WALK_SECONDS)
        task = give_task(peer, workspace, "and you?")
        code = walk.wait(WALK_SECONDS)
    except Stalled as stalled:
        raise AssertionError(b"\n".join(err()).decode()) from stalled
    finally:
        walk.kill()
        walk.wait()
        out.join()
        err.join()
        walk.stdout.close()
        walk.stderr.close()
    assert code == 0, b"\n".join(err()).decode()
    seen = json.loads(out()[-1])
    assert set(seen["tools"]) == TOOLS and seen["server"]["name"] == "restante" and seen["capabilities"] == {"tools": {}}
    assert [message["text"] for message in seen["peek"]["messages"]] == ["first", "second"]
    file, = seen["pop"]["message"]["files"]
    assert Path(file["path"]).read_bytes() == b"how many?" and seen["wait"]["message"]["text"] == "second"
    assert seen["files"]["files"] == [file] and seen["info"]["id"] == seen["meanwhile"] == workspace.id
    assert peer.id in [one["id"] for one in seen["peers"]["peers"]]
    assert seen["sent"]["files"][0]["sha256"] == hashlib.sha256(content).hexdigest()
    assert seen["progress"][-1] == {"progress": len(content), "total": len(content), "message": "sending files"}
    assert [entry["content"] for entry in seen["history"]["messages"]][-1] == "from the client"
    assert (seen["delegated"]["status"], seen["delegated"]["result"]) == ("completed", "one two three")
    message = seen["result"]["message"]
    assert (message["type"], message["delegation_id"], message["text"]) == ("result", seen["async"]["delegation_id"], "one two three")
    assert (seen["status"]["status"], seen["status"]["result"]) == ("completed", "one two three")
    assert (seen["task"]["message"]["delegation_id"], seen["task"]["message"]["text"]) == (task, "and you?")
    assert seen["completed"]["status"] == "completed"
    row = [row for row in peer.activity() if row["method"] == "delegate_result"][-1]
    assert "done by the client" in json.dumps(row["request_body"])


def inspect(node, one, *arguments):
    """The output of the inspector, as JSON."""
    inspector = HERE / "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js"
    config = one.root / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"restante": {"command": one.command[0], "args": one.command[1:]}}}))
    done = subprocess.run([node, str(inspector), "--cli", "--config", str(config), "--server", "restante", *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=CALL_SECONDS, cwd=one.root)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return json.loads(done.stdout)


def call(node, one, tool, **arguments):
    given = [argument for name, value in arguments.items() for argument in ("--tool-arg", f"{name}={value}")]
    result = inspect(node, one, "--method", "tools/call", "--tool-name", tool, *given)
    assert not result.get("isError"), result
    return result["structuredContent"]


def test_the_inspector_lists_and_calls_every_tool(node, workspace, peer, mcp, tmp_path):
    one = program(mcp, workspace, tmp_path)
    (tmp_path / "a.txt").write_text("hello")
    listed = inspect(node, one, "--method", "tools/list")["tools"]
    assert {tool["name"] for tool in listed} == TOOLS
    send(workspace, "first")
    send(workspace, "second")
    task = give_task(peer, workspace, "third")
    assert call(node, one, "get_workspace_info")["id"] == workspace.id
    assert [message["text"] for message in call(node, one, "inbox_peek")["messages"]] == ["first", "second", "third"]
    popped = wait_until(lambda: call(node, one, "inbox_pop")["message"], "the first one can be taken", CALL_SECONDS)
    assert popped["text"] == "first"
    assert call(node, one, "wait_for_message", timeout_seconds=60)["message"]["text"] == "second"
    assert call(node, one, "wait_for_message", timeout_seconds=60)["message"]["delegation_id"] == task
    assert call(node, one, "complete_task", delegation_id=task, result="yes")["status"] == "completed"
    assert call(node, one, "list_files")["files"] == []
    assert peer.id in [known["id"] for known in call(node, one, "list_peers")["peers"]]
    sent = call(node, one, "send_message_to_user", message="hi", attachments=json.dumps([str(tmp_path / "a.txt")]))
    assert sent["files"][0]["size"] == 5
    assert call(node, one, "chat_history", limit=5)["messages"][-1]["content"] == "hi"
    assert call(node, one, "send_message_to_agent", target=peer.id, message="hello, agent")["status"] == "sent"
    assert call(node, one, "delegate_task", target=peer.id, task="count", timeout_seconds=120)["result"] == "one two three"
    given = call(node, one, "delegate_task_async", target=peer.id, task="count again")
    assert call(node, one, "wait_for_message", timeout_seconds=120)["message"]["delegation_id"] == given["delegation_id"]
    assert call(node, one, "check_task_status", delegation_id=given["delegation_id"])["status"] == "completed"
