"""Deliveries: uris become paths, and only what the server confirms is a task."""
import json

import pytest

from restante.api import Row, divide, Upload
from restante.delivery import deliver_file, deliver_message, is_self_test, named_files, readable, result_of
from restante.loop import is_from_server, view_of
from restante.records import FileRecord

ID = "01999a3c-0000-7000-8000-0123456789ab"
URI = f"platform-pending:{ID}/{ID}"


def record(**more):
    return FileRecord(ID, "a.txt", 5, "ab" * 32, URI, "row-1", 3, "2026-01-01T00:00:00Z", **more)


def row(parts, metadata=None, source=None, method="message/send", **more):
    body = {"jsonrpc": "2.0", "params": {"message": {"parts": parts, **({"metadata": metadata} if metadata else {})}}, **more}
    return Row("row-9", 9, method, source, "2026-01-01T00:00:00Z", "ok", body)


FILE = {"kind": "file", "file": {"uri": URI, "name": "x"}}
TEXT = {"kind": "text", "text": "hello"}


def test_a_file_that_landed_is_named_by_its_path_also_in_the_body():
    made = deliver_message(row([TEXT, FILE, {"kind": "text", "text": "bye"}]), lambda _: record(where="landed", path="/w/a.txt"))
    assert (made.type, made.text) == ("message", "hello\nbye")
    assert made.files[0].as_json() == {"name": "a.txt", "size": 5, "sha256": "ab" * 32, "path": "/w/a.txt", "uri": "workspace:/w/a.txt",
                                       "state": "landed"}
    assert made.body["params"]["message"]["parts"][1]["file"]["uri"] == "workspace:/w/a.txt"
    assert made.end().files == [ID] and made.end().notified == []
    assert json.loads(made.json())["source_id"] is None and "again" not in json.loads(made.json())


@pytest.mark.parametrize("known, state", [(record(), "missing"), (record(trouble="failed", reason="full"), "failed"),
                                          (record(where="gone", trouble="expired"), "expired"), (record(where="gone"), "gone"),
                                          (record(where="refused"), "failed"), (None, "unknown")])
def test_a_file_that_has_not_landed_keeps_its_uri_and_says_why(known, state):
    made = deliver_message(row([FILE]), lambda _: known)
    assert (made.files[0].state, made.files[0].uri, made.files[0].path) == (state, URI, "")
    assert made.body["params"]["message"]["parts"][0]["file"] == {"uri": URI, "name": "x", "state": state}


def test_parts_at_any_depth_are_found_and_a_deep_body_is_no_trouble():
    deep = {"parts": [FILE]}
    for _ in range(60):
        deep = {"history": [deep]}
    assert named_files(Row("r", 1, "message/send", None, "", "", {"params": deep})) == [ID]
    assert named_files(row([{"kind": "file", "file": "no object"}, "no part", {"file": {"uri": 5}}])) == []


def test_a_message_of_a_person_is_never_a_task_and_loses_the_name_of_one():
    made = deliver_message(row([TEXT], {"delegation_id": "d1", "parent_delegation_id": "d0", "x": 1}), lambda _: None)
    assert not made.is_task() and made.body["params"]["message"]["metadata"] == {"x": 1}
    assert deliver_message(row([TEXT], {"delegation_id": "d1"}, source="agent"), lambda _: None).is_task()


TASK = {"target_id": "me", "source_id": "caller", "task": "hello", "status": "queued"}


@pytest.mark.parametrize("change, is_task", [({}, True), ({"target_id": "another"}, False), ({"source_id": "another"}, False),
                                             ({"task": "other words"}, False), ({"recorded": True}, False), ({"task": None}, False)])
def test_a_task_is_one_only_if_the_server_gave_it_to_us_from_this_sender_in_these_words(change, is_task):
    made = deliver_message(row([TEXT], {"delegation_id": "d1"}, source="caller"), lambda _: None)
    assert is_from_server({**TASK, **change}, "me", made) is is_task


@pytest.mark.parametrize("more, interest", [
    ({}, "wanted"), ({"status": "stuck"}, "late"), ({"status": "failed", "error_detail": "cancelled by caller"}, "unwanted"),
    ({"status": "completed"}, "unwanted"),
    ({"deadline": "2026-01-01T10:00:00Z", "agent_seen_at": "2026-01-01T10:00:00Z"}, "unwanted"),
    ({"deadline": "2026-01-01T10:00:01Z", "agent_seen_at": "2026-01-01T10:00:00Z"}, "wanted")])
def test_whether_a_task_is_still_wanted_is_decided_by_the_servers_clock(more, interest):
    assert view_of({**TASK, **more}).interest == interest


def test_a_result_names_its_task():
    made = row([TEXT], method="delegate_result", source="callee", delegation_id="d1")
    assert result_of(made) == "d1"
    assert (deliver_message(made, lambda _: None).type, deliver_message(made, lambda _: None).delegation_id) == ("result", "d1")


def test_the_report_that_a_file_did_not_arrive_is_another_delivery_than_the_file():
    assert deliver_file(record(where="landed")).id == "row-1"
    assert deliver_file(record(trouble="failed")).id == "row-1-failed"


def test_rows_of_the_self_test_are_recognised():
    assert is_self_test(Row("r", 1, "chat_upload_receive", None, "", "", {"name": "restante-doctor-1.txt"}), "me")
    assert is_self_test(row([TEXT], {"restante_doctor": True}, source="me"), "me")
    assert not is_self_test(row([TEXT], {"restante_doctor": True}, source="another"), "me")


def test_a_line_for_a_person_has_no_control_characters():
    made = deliver_message(row([{"kind": "text", "text": "a\x1b[2J\nb"}, FILE]), lambda _: record(trouble="failed", reason="disk\x07 full"))
    assert readable(made) == "2026-01-01T00:00:00Z message from the person: a?[2J\n    b\n    a.txt (5 bytes) [failed: disk? full]"


def test_uploads_are_divided_by_the_servers_limits(tmp_path):
    files = [Upload(tmp_path, str(number), 10, "") for number in range(5)]
    assert [len(batch) for batch in divide(files, {"max_files": 2})] == [2, 2, 1]
    assert [len(batch) for batch in divide(files, {"max_files": 64, "per_request_bytes": 3 * 1024 + 40})] == [2, 2, 1]
