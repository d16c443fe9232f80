"""The chat history of a workspace, and who sent a row."""
from support.checks import check_error
from support.workspace import Workspace
from support.push import Callback, PushWorkspace, allowing
from support.waiting import wait_until


def history(workspace, query="", token=None):
    page = workspace.server.get(f"/workspaces/{workspace.id}/chat-history{query}", token=token or workspace.token)
    assert page.status == 200, page
    return page.json()


def send_message(workspace, text, files=(), token=None):
    parts = [{"kind": "text", "text": text}, *({"kind": "file", "file": {"uri": item["uri"], "name": item["name"]}} for item in files)]
    body = {"method": "message/send", "params": {"message": {"parts": parts}}}
    sent = workspace.server.request("POST", workspace.path("a2a"), token=token or workspace.server.admin_token, json_body=body)
    assert sent.status == 200, sent


def test_a_conversation_with_files_is_read_back_in_order(server, workspace):
    (_, first), (_, second) = workspace.upload(("a.txt", b"a", "text/plain"), ("b.txt", b"bb"))
    send_message(workspace, "two files", [first])
    workspace.notify("thank you")
    send_message(workspace, "between agents", token=Workspace(server, "peer").token)
    page = history(workspace)
    assert page["reached_end"] is True
    assert [(m["role"], m["content"], [a["name"] for a in m.get("attachments", [])]) for m in page["messages"]] == [
        ("user", "", ["b.txt"]), ("user", "two files", ["a.txt"]), ("agent", "thank you", [])]
    assert page["messages"][0]["attachments"] == [{"uri": second["uri"], "name": "b.txt", "mimeType": "application/octet-stream", "size": 2}]
    assert page == history(workspace), "ids are stable"
    rows = {row["id"]: row for row in workspace.activity()}
    assert all(m["timestamp"] == rows[m["id"]]["created_at"] for m in page["messages"])


def test_pages_lead_back_to_the_first_message(server, workspace):
    for number in range(25):
        workspace.notify(str(number))
    read, query = [], "?limit=4"
    while True:
        page = history(workspace, query)
        read = [m["content"] for m in page["messages"]] + read
        if page["reached_end"]:
            break
        query = f"?limit=4&before_ts={page['messages'][0]['timestamp']}"
    assert read == [str(number) for number in range(25)]


def test_an_invalid_time_is_refused(server, workspace):
    error = check_error(server.get(workspace.path("chat-history?before_ts=yesterday"), token=workspace.token), 400)
    assert "before_ts" in error["error"]


def test_the_answer_of_a_called_agent_is_part_of_the_chat(start):
    with Callback() as callback:
        workspace = PushWorkspace(start(allowing(callback.port)), callback.url())
        assert workspace.send("ping").status == 200
        asked, answered = history(workspace)["messages"]
    assert (asked["role"], asked["content"], answered["role"], answered["content"]) == ("user", "ping", "agent", "hi")
    assert answered["id"] == asked["id"] + ":reply"


def test_peer_info_names_the_sender_and_the_state_of_the_file(server, workspace):
    (file_id, item), = workspace.upload(("a.txt", b"a", "text/plain"))
    peer = Workspace(server, "peer agent")
    send_message(workspace, "see this", [item, {"uri": "https://example.org/x", "name": "x"}])
    send_message(workspace, "from afar", token=peer.token)

    def rows():
        return server.get(workspace.path("activity?since_seq=0&include=peer_info"), token=workspace.token).json()

    upload, message, afar = rows()
    assert [row["peer_name"] for row in (upload, message, afar)] == [None, None, "peer agent"]
    assert upload["attachments"] == [{"kind": "file", "uri": item["uri"], "mime_type": "text/plain", "name": "a.txt", "size": 1, "state": "staged"}]
    assert [(a["name"], a["state"]) for a in message["attachments"]] == [("a.txt", "staged"), ("x", "unknown")]
    server.get(workspace.content(file_id), token=workspace.token)
    wait_until(lambda: rows()[1]["attachments"][0]["state"] == "fetched", "the file counts as fetched")
    server.request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), token=workspace.token)
    assert rows()[1]["attachments"][0]["state"] == "acked"
    assert server.request("DELETE", f"/workspaces/{peer.id}", token=server.admin_token).status == 200
    assert rows()[2]["peer_name"] is None
