"""JSON bodies: anything that is not valid JSON is answered 400 on every route, and text is stored exactly as it was sent."""
import unicodedata

import pytest

from support.checks import check_error
from support.workspace import Workspace
from support.wire import request

NASTY = ["'; DROP TABLE activity_logs; --", "100%_\\%", "\"quoted\" 'twice' `thrice`", "$(id) `id` ; | & > <", "{{7*7}} ${7*7} <%= 7*7 %>",
         "<script>alert(1)</script>", "__proto__", "constructor", "../../etc/passwd", "%00%0d%0a", "\r\n\r\nHTTP/1.1 200 OK", "\u202egnp.exe",
         "\ufeffbom", "\u2028\u2029", "e\u0301 é ☃ 𝔘𝔫𝔦 👩‍👩‍👧", "\x01\x1f\x7f\x9f", " leading and trailing ", "\\u0041 \\n", "null", "true", "-0", "1e999"]


def post(server, workspace, rest, body, content_type="application/json"):
    with server.connect() as wire:
        wire.send(request("POST", workspace.path(rest), {**workspace.auth(), "Content-Type": content_type}, body))
        return wire.read("POST")


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_text_comes_back_as_it_was_sent(server, text):
    """In every text field, through the database and back."""
    workspace = Workspace(server, "x" + text)
    name = "".join(c for c in "x" + text if unicodedata.category(c) != "Cc")
    assert server.get(f"/workspaces/{workspace.id}", token=workspace.token).json()["name"] == name, "a name has no controls"
    message = {"messageId": "id " + text, "role": "user", "parts": [{"kind": "text", "text": text, text: text}], "metadata": {text: [text]}}
    sent = server.request("POST", workspace.path("a2a"), token=server.admin_token,
                          json_body={"jsonrpc": "2.0", "id": text, "method": "message/send", "params": {"message": message}})
    assert sent.status == 200, sent
    workspace.notify("x" + text)
    logged = server.request("POST", workspace.path("activity"), token=workspace.token, json_body={
        "activity_type": "agent_log", "summary": text, "method": text, "status": text, "error_detail": text, "request_body": {text: text}})
    assert logged.status == 200, logged
    first, second, third = workspace.activity()
    assert (first["request_body"]["id"], first["request_body"]["params"]["message"]) == (text, message)
    assert second["response_body"] == {"result": "x" + text}
    assert [third[name] for name in ("summary", "method", "status", "error_detail")] == [text] * 4 and third["request_body"] == {text: text}
    found = server.get(workspace.path("activity?since_seq=0&type=" + "".join(f"%{byte:02x}" for byte in text.encode() or b"x")), token=workspace.token)
    assert found.status in (200, 400) and (found.status == 400 or found.json() == []), "a filter is a value, never a pattern"


BAD = [b"", b'""', b"null", b"[]", b"5", b"{", b"{}x", b"{} {}", b"{'message':'x'}", b'{"message":"x",}', b'{"message":"x"/*c*/}', b"// c\n{}",
       b'{"message":NaN}', b'{"message":Infinity}', b'{"message":"x","message":"y"}', b'{"message":"x","a":{"b":1,"b":2}}', b'\xef\xbb\xbf{"message":"x"}',
       b'{"message":"\xff\xfe"}', b'{"message":"\xed\xa0\x80"}', b'{"message":"\xc0\xaf"}', b'{"message":"\\ud800"}', b'{"message":"\\udc00\\ud800"}',
       b'{"message":"\n"}', b'{"message":"\\x41"}', b'{"message":"x', b"[" * 65 + b"]" * 65, b"[" * 1_000_000, b'{"a":' * 100_000,
       '{"message":"x"}'.encode("utf-16"), b'{"message":"x","n":' + b"1" * 400_000 + b'e99999999999999999999}']


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_invalid_json_is_400_and_leaves_nothing(server, workspace, body):
    for rest in ("notify", "activity", "a2a"):
        check_error(post(server, workspace, rest, body), 400)
    assert workspace.activity() == []


@pytest.mark.parametrize("body", [b'{"message":"a\\u0000b"}', b'{"message":"x","\\u0000":1}', b'{"message":"x","a":[{"b":"\\u0000"}]}'],
                         ids=["value", "key", "deep"])
def test_a_nul_is_refused_by_its_name(server, workspace, body):
    check_error(post(server, workspace, "notify", body), 400, code="nul_not_allowed")
    assert workspace.activity() == []


@pytest.mark.parametrize("body, status", [
    (b'{"message":"' + b"x" * (1024 * 1024) + b'"}', 413),
    (b'{"message":"x","' + b"k" * (1024 * 1024 - 40) + b'":1}', 200),
    (b'{"message":"x","n":[' + b"1," * 400_000 + b"1]}", 400),
    (b'{"message":"x",' + b",".join(b'"k%d":%d' % (n, n) for n in range(60_000)) + b"}", 400),
    (b'{"message":"x",' + b",".join(b'"%s":1' % (b"a" * (n % 500) + b"b" * (n // 500)) for n in range(1_800)) + b"}", 200),
], ids=["beyond_1_mib", "one_long_key", "many_items", "many_keys", "alike_keys"])
def test_large_bodies_are_accepted_or_refused_and_others_are_served_meanwhile(server, workspace, body, status):
    answer = post(server, workspace, "notify", body)
    assert answer.status == status, answer
    assert len(workspace.activity()) == (status == 200)
    server.check_alive()


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
                                  "application/json; charset=utf-16", "application/json; charset=latin1", "application/json, text/plain"])
def test_json_under_another_name_is_415(server, workspace, kind):
    check_error(post(server, workspace, "notify", b'{"message":"x"}', kind), 415)
    assert workspace.activity() == []


@pytest.mark.parametrize("kind", ["application/json", "APPLICATION/JSON", "application/json;charset=utf-8", 'application/json; charset="UTF-8"'])
def test_json_under_its_own_name_is_accepted(server, workspace, kind):
    assert post(server, workspace, "notify", b' {"message" : "x"}\n', kind).status == 200
    assert workspace.messages() == ["x"]


def test_unknown_members_are_ignored(server, workspace):
    body = b'{"message":"x","__proto__":{"admin":true},"constructor":{"prototype":{}},"toString":null,"":1,"message ":"y"}'
    assert post(server, workspace, "notify", body).status == 200
    assert workspace.activity()[0]["response_body"] == {"result": "x"}
