"""Live events: streams that replay the inbox, skip and double nothing, and end when they should."""
import threading

import pytest

from support.checks import check_error
from support.workspace import Workspace
from support.events import EventStream
from support.wire import request

SETTINGS = {"limits.polls_per_token": 3}


def follow(workspace, *, token=None, **options):
    """The stream of a workspace, after its first event."""
    stream = EventStream(workspace.server, workspace.path("events/stream"), token=token or workspace.token, **options)
    stream.opening = stream.next()
    assert stream.opening.name == "RESYNC" and stream.opening.data["workspace_id"] == workspace.id
    return stream


def follow_all(server):
    stream = EventStream(server, "/events/stream", token=server.admin_token)
    assert stream.next().name == "RESYNC"
    return stream


def invite(server, workspace):
    made = server.request("POST", "/admin/invites", token=server.admin_token,
                          json_body={"kind": "sender", "workspace_id": workspace.id, "label": "Ada"})
    assert made.status == 201, made
    return made.json()["token"]


def names(events):
    return [event.name for event in events]


def test_a_stream_begins_with_resync_and_then_has_every_new_event(server, workspace):
    workspace.notify("before")
    with follow(workspace) as stream:
        assert stream.opening.data == {"workspace_id": workspace.id, "seq": 1} and stream.opening.id == 1
        workspace.notify("grüße\n\ndata: x\r\n")
        message, logged = stream.until("ACTIVITY_LOGGED")
    row, = workspace.activity(1)
    assert message.name == "AGENT_MESSAGE" and message.data["message"] == "grüße\n\ndata: x\r\n" and message.id is None
    assert logged.id == logged.data["seq"] == row["seq"] == 2
    assert logged.data["activity_id"] == message.data["activity_id"] == row["id"]
    assert {key: logged.data[key] for key in ("activity_type", "method", "created_at", "workspace_id", "summary")} == \
           {key: row[key] for key in ("activity_type", "method", "created_at", "workspace_id", "summary")}


def test_a_client_that_reconnects_gets_the_events_that_it_missed(server, workspace):
    with follow(workspace) as stream:
        workspace.notify("seen")
        stream.until("ACTIVITY_LOGGED")
    for number in range(250):
        workspace.notify(f"missed {number}")
    with follow(workspace, last_id=stream.last_id) as again:
        assert again.opening.data == {"workspace_id": workspace.id, "seq": 251, "replayed_from": 1}
        events = [again.next() for _ in range(500)]
        workspace.notify("live")
        events += again.until("ACTIVITY_LOGGED")
    assert [e.id for e in events if e.name == "ACTIVITY_LOGGED"] == list(range(2, 253))
    assert [e.data["message"] for e in events if e.name == "AGENT_MESSAGE"] == [f"missed {n}" for n in range(250)] + ["live"]


def test_no_cut_skips_or_doubles_a_row_while_others_write(server, workspace):
    count, writers = 60, 4
    threads = [threading.Thread(target=lambda: [workspace.notify("x") for _ in range(count)]) for _ in range(writers)]
    stream, seen, cuts = follow(workspace), [], 0
    for thread in threads:
        thread.start()
    while len(seen) < count * writers:
        logged = stream.until("ACTIVITY_LOGGED")[-1]
        seen.append(logged.id)
        if logged.id % 7 == 0:
            stream.wire.reset() if logged.id % 2 else stream.close()
            stream, cuts = follow(workspace, last_id=stream.last_id), cuts + 1
            assert stream.opening.data["replayed_from"] == logged.id
    for thread in threads:
        thread.join()
    stream.close()
    assert seen == list(range(1, count * writers + 1)) and cuts > 20


@pytest.mark.parametrize("last_id", ["99", "-1", "junk", "18446744073709551616", "1.0", "<script>"])
def test_an_unknown_id_begins_at_the_newest_row_and_is_no_error(server, workspace, last_id):
    workspace.notify("a")
    with EventStream(server, workspace.path("events/stream"), token=workspace.token, headers={"Last-Event-ID": last_id}) as stream:
        assert stream.next().data == {"workspace_id": workspace.id, "seq": 1}
        workspace.notify("b")
        assert stream.until("ACTIVITY_LOGGED")[-1].id == 2


def test_the_events_of_a_file_come_in_order(server, workspace):
    with follow(workspace) as stream:
        (file_id, item), = workspace.upload(("a.txt", b"hello", "text/plain"))
        staged, _ = stream.until("ACTIVITY_LOGGED")
        assert server.get(workspace.content(file_id), token=workspace.token).status == 200
        fetched = stream.next()
        assert server.request("POST", workspace.path(f"pending-uploads/{file_id}/ack"), token=workspace.token).status == 200
        acked, logged = stream.until("ACTIVITY_LOGGED")
    assert [staged.name, fetched.name, acked.name] == ["UPLOAD_STAGED", "UPLOAD_FETCHED", "UPLOAD_ACKED"]
    for event in (staged, fetched, acked):
        assert (event.data["file_id"], event.data["name"], event.data["size"]) == (file_id, "a.txt", 5), event
        assert event.data["workspace_id"] == workspace.id and event.id is None, event
    assert staged.data["uri"] == item["uri"] and acked.data["acked_at"] and logged.id == 2
    # Events that are no rows of the inbox are not replayed.
    with follow(workspace, last_id=0) as again:
        assert names(again.until("UPLOAD_ACKED")) == ["UPLOAD_STAGED", "ACTIVITY_LOGGED", "UPLOAD_ACKED"]


def test_a_sender_gets_only_the_events_of_the_chat(server, workspace):
    sender, peer = invite(server, workspace), Workspace(server, "peer")
    with follow(workspace, token=sender) as stream:
        message = {"method": "message/send", "params": {"message": {"parts": [{"kind": "text", "text": "between agents"}]}}}
        assert server.request("POST", workspace.path("a2a"), token=peer.token, json_body=message).status == 200
        logged = {"activity_type": "agent_log", "summary": "a thought"}
        assert server.request("POST", workspace.path("activity"), token=workspace.token, json_body=logged).status == 200
        workspace.notify("to people")
        seen = stream.until("ACTIVITY_LOGGED")
    assert names(seen) == ["AGENT_MESSAGE", "ACTIVITY_LOGGED"] and seen[-1].id == 3
    rows = server.get(workspace.path("activity?since_seq=0"), token=sender).json()
    assert [row["method"] for row in rows] == ["notify"]
    assert [row["seq"] for row in workspace.activity()] == [1, 2, 3]


def test_revoking_the_token_ends_its_stream_and_no_other(server, workspace):
    made = server.request("POST", workspace.path("tokens"), token=workspace.token, json_body={"label": "spare"}).json()
    with follow(workspace, token=made["auth_token"]) as ending, follow(workspace) as staying:
        revoked = server.request("DELETE", workspace.path(f"tokens/{made['token_id']}"), token=workspace.token)
        assert revoked.status == 200, revoked
        assert ending.to_end() == []
        workspace.notify("still here")
        assert staying.next().name == "AGENT_MESSAGE"
    check_error(server.get(workspace.path("events/stream"), token=made["auth_token"]), 401)


def test_removing_the_workspace_ends_its_streams(server, workspace):
    with follow(workspace) as by_agent, follow(workspace, token=server.admin_token) as by_admin:
        assert server.request("DELETE", f"/workspaces/{workspace.id}", token=server.admin_token).status == 200
        assert by_agent.to_end() == [] and by_admin.to_end() == []
    check_error(server.get(workspace.path("events/stream"), token=server.admin_token), 410)


def test_one_stream_more_than_the_cap_ends_the_oldest(server, workspace):
    streams = [follow(workspace) for _ in range(4)]
    assert streams[0].to_end() == []
    workspace.notify("hello")
    for stream in streams[1:]:
        assert stream.next().name == "AGENT_MESSAGE"
    for stream in streams:
        stream.close()
    server.wait_metric("restante_held_polls", 0)


def test_the_operator_gets_the_events_of_every_workspace(server, workspace):
    other = Workspace(server, "other")
    with follow_all(server) as stream:
        workspace.notify("one")
        (file_id, _), = other.upload(("b.txt", b"hello"))
        assert server.get(other.content(file_id), token=other.token).status == 200
        seen = stream.until("UPLOAD_FETCHED")
        server.request("POST", other.path(f"pending-uploads/{file_id}/ack"), token=other.token)
        seen += stream.until("UPLOAD_ACKED")
    kept = [(event.name, event.data["workspace_id"]) for event in seen]
    assert kept == [("AGENT_MESSAGE", workspace.id), ("ACTIVITY_LOGGED", workspace.id), ("UPLOAD_STAGED", other.id),
                    ("ACTIVITY_LOGGED", other.id), ("UPLOAD_FETCHED", other.id), ("UPLOAD_ACKED", other.id)]
    assert all(event.id is None for event in seen), "this stream cannot be resumed"


def test_only_the_operator_gets_the_events_of_all_workspaces(server, workspace):
    for token in (workspace.token, invite(server, workspace), None):
        check_error(server.get("/events/stream", token=token), 401, code="admin_required")


def test_the_pages_session_may_open_a_stream_and_a_foreign_page_may_not(server, workspace):
    signed_in = server.request("POST", "/session", json_body={"token": server.admin_token}, headers={"Sec-Fetch-Site": "same-origin"})
    assert signed_in.status == 200, signed_in
    cookie = {"Cookie": signed_in.header("Set-Cookie").split(";")[0]}
    path = workspace.path("events/stream")
    with EventStream(server, path, headers={**cookie, "Sec-Fetch-Site": "same-origin"}) as stream:
        assert stream.next().name == "RESYNC"
    check_error(server.get(path, headers={**cookie, "Sec-Fetch-Site": "cross-site"}), 403)


def test_a_server_that_stops_ends_its_streams_and_the_next_server_replays_from_there(start, tmp_path):
    server = start({}, data=tmp_path)
    workspace = Workspace(server)
    stream, everything = follow(workspace), follow_all(server)
    workspace.notify("before")
    assert stream.until("ACTIVITY_LOGGED")[-1].id == 1
    everything.until("ACTIVITY_LOGGED")
    ended = threading.Thread(target=server.stop)
    ended.start()
    assert stream.to_end() == [] and everything.to_end() == []
    stream.close(), everything.close()
    ended.join()
    workspace = workspace.on(start({}, data=tmp_path))
    workspace.notify("after")
    with follow(workspace, last_id=stream.last_id) as again:
        assert [event.id for event in again.until("ACTIVITY_LOGGED")] == [None, 2]


def test_a_comment_is_no_event_and_a_head_request_gets_only_the_head(server, workspace):
    with server.connect() as wire:
        wire.send(request("HEAD", workspace.path("events/stream"), workspace.auth()))
        assert wire.read("HEAD").header("Content-Type") == "text/event-stream"
        wire.send(request("GET", "/health"))
        assert wire.read().status == 200
