"""docs/openapi.yaml is right: its operations are the server's routes, its schemas fit the answers, only its callers are
allowed, and a body of the wrong type never causes a 5xx."""
import copy
import json
import os
import re
import uuid
from pathlib import Path

import pytest

from support.checks import check_error
from support.schema import Spec
from support.wire import request
from support.world import PRINCIPALS, World, check_answer, exchange

ROOT = Path(os.environ.get("RESTANTE_SOURCE", Path(__file__).parents[2]))
TEXT = (ROOT / "docs/openapi.yaml").read_text()
# The tests use invalid tokens and repeat requests very often. A requested sweep is refused while another one runs.
SETTINGS = {"limits.invalid_tokens_per_minute": 1_000_000, "delegations.max_per_pair": 0, "delegations.max_per_callee": 0,
            "uploads.sweep_every": "24h"}
SPEC = Spec(TEXT)
OPERATIONS = SPEC.operations()
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
KNOWN_CALLERS = {"anyone", "admin", "agent", "sender", "other_sender", "peer", "enrolment", "other_enrolment"}
GUARDED = [operation for operation in OPERATIONS if "anyone" not in (operation.callers or [])]
WITH_JSON = [operation for operation in OPERATIONS if operation.json_body is not None]
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=repr)
every_guarded = pytest.mark.parametrize("operation", GUARDED, ids=repr)
every_json = pytest.mark.parametrize("operation", WITH_JSON, ids=repr)


# -- the document and the routes


def routes_in_source():
    text = (ROOT / "src/api/routes.cpp").read_text()
    rows = re.findall(r'\{Method::(\w+),\s*"(/[^"]*)"', text)
    return {(method.rstrip("_").upper(), re.sub(r":(\w+)", r"{\1}", path)) for method, path in rows}


def test_the_document_lists_exactly_the_routes_of_the_server():
    documented = {(operation.method, operation.path) for operation in OPERATIONS}
    routes = routes_in_source() | {("GET", "/openapi.yaml")}
    assert len(routes) > 20, "the table was found"
    assert documented - routes == set(), "documented, but no route"
    assert routes - documented == set(), "a route, but not documented"


@every_operation
def test_an_operation_documents_its_purpose_its_callers_and_its_body(operation):
    assert operation.item["summary"].endswith(".") and operation.id, operation
    assert operation.callers and set(operation.callers) <= KNOWN_CALLERS, operation
    named = {p["name"] for p in operation.parameters if p["in"] == "path"}
    assert named == set(re.findall(r"\{(\w+)\}", operation.path)), operation
    assert all(p.get("description") and p.get("schema") for p in operation.parameters), operation
    assert any(status.startswith("2") for status in operation.item["responses"]), operation


def test_operation_ids_are_unique():
    ids = [operation.id for operation in OPERATIONS]
    assert len(ids) == len(set(ids))


def test_every_schema_and_response_is_used():
    for kind in ("schemas", "responses", "parameters", "headers"):
        for name in SPEC.document["components"].get(kind, {}):
            assert f'"#/components/{kind}/{name}"' in TEXT, f"{kind}/{name} is used nowhere"


def test_the_server_serves_the_document_that_it_was_built_with(server):
    answer = server.get("/openapi.yaml", headers={"Host": "elsewhere.example"})
    assert (answer.status, answer.header("Content-Type")) == (200, "application/yaml")
    assert answer.body.decode() == TEXT


@every_operation
def test_a_documented_operation_is_there_and_other_methods_are_refused(server, operation):
    place = re.sub(r"\{\w+\}", str(uuid.uuid4()), operation.path)
    with server.connect() as wire:
        answer = exchange(server, operation, request(operation.method, place, {"Content-Length": 0} if operation.method in ("POST", "PATCH") else {}), wire)
        assert answer.status != 405 and b'"not_found"' not in answer.body, answer
    documented = {other.method for other in OPERATIONS if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", other.path), place)}
    for method in set(METHODS) - documented:
        refused = server.request(method, place)
        check_error(refused, 405, code="method_not_allowed")
        allowed = set(refused.header("Allow").replace(",", " ").split())
        assert allowed - {"HEAD", "OPTIONS"} == documented, refused


# -- who may call an operation


def refusal_code(operation, who):
    if operation.callers == ["admin"]:
        return "admin_required"
    return "missing_token" if who == "none" else "invalid_token"


@every_operation
def test_every_listed_caller_is_allowed_and_at_least_one_succeeds(server, operation):
    listed = [who for who in PRINCIPALS if who in operation.callers or "anyone" in operation.callers]
    succeeded = []
    for who in listed:
        answer = World(server).call(operation, who)
        refused = answer.status == 401 or answer.status == 403 and who != "peer"
        assert not refused, f"{operation} as {who}: {answer}"
        succeeded += [who] if answer.status < 300 else []
    assert succeeded, f"no caller could {operation}"
    assert "admin" in succeeded or "admin" not in listed, f"the admin could not {operation}"


@every_guarded
def test_a_caller_that_is_not_listed_gets_the_same_refusal_whether_the_workspace_exists_or_not(server, operation):
    world = World(server)
    for who in PRINCIPALS:
        if who in operation.callers:
            continue
        answer = world.call(operation, who)
        if "peer" in operation.callers and answer.status == 403:
            continue  # any token is allowed here: the answer is whether its workspace may send to the other
        check_error(answer, 401, code=refusal_code(operation, who))
        assert answer.header("WWW-Authenticate") == "Bearer", answer
        if "{id}" in operation.path:
            absent = world.call(operation, who, subject_id=str(uuid.uuid4()))
            assert (absent.status, absent.body) == (answer.status, answer.body), f"{operation} reveals to {who} what exists"


@every_guarded
def test_a_token_is_read_only_from_one_authorization_header(server, operation):
    world = World(server)
    admin = server.admin_token
    for header in ["Basic YWRtaW46YWRtaW4=", "Bearer", "Bearer ", admin, f"Bearer {admin}, Bearer {admin}", f"Bearer {admin} x"]:
        check_error(world.call(operation, "none", headers={"Authorization": header}), 401)
    for cookie in [f"token={admin}", f"Authorization=Bearer {admin}", f"__Host-restante={admin}"]:
        check_error(world.call(operation, "none", headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}), 401)
    for query in [f"?token={admin}", f"?access_token={admin}", f"?Authorization=Bearer%20{admin}"]:
        check_error(world.call(operation, "none", query=query), 401)
    if operation.json_body is not None:
        body = {**json.loads(world.body(operation)[1]), "token": admin, "auth_token": admin}
        check_error(world.call(operation, "none", body=json.dumps(body).encode()), 401)


@every_guarded
def test_two_authorization_headers_are_one_too_many(server, operation):
    world = World(server)
    kind, body = world.body(operation)
    pairs = [*world.headers(operation, "admin").items(), *kind.items(), *2 * [("Authorization", f"Bearer {server.admin_token}")]]
    answer = exchange(server, operation, request(operation.method, world.target(operation), pairs, body))
    check_error(answer, 400)


# -- wrong types (the document has the right ones)

VALUES = ["null", "true", "0", "-1", "1.5", "1e400", "123456789012345678901234567890", '""', '"x"', '"' + "x" * 70000 + '"', "[]",
          "{}", "[1]", '[{"a":null}]', '{"a":1}', '"\\u0000"', '"\\ud800"', '"12345678-1234-1234-1234-123456789abc"']


def places(schema, value, path=()):
    """Every member that the schema names, as a path into the value; through objects and the first item of arrays."""
    schema = SPEC.flatten(schema)
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name), inner
        if isinstance(value, dict) and name in value:
            yield from places(inner, value[name], (*path, name))
    if "items" in schema and isinstance(value, list) and value:
        yield from places(schema["items"], value[0], (*path, 0))


def replaced(value, path, raw):
    """The value as JSON text, with the part at the path replaced by raw text."""
    value = copy.deepcopy(value)
    at = value
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = "\x01"
    return json.dumps(value).replace(json.dumps("\x01"), raw)


def fits(schema, text):
    if "\\u0000" in text or "\\ud800" in text:
        return False
    return not SPEC.faults(json.loads(text), schema)


@every_json
def test_a_member_of_the_wrong_type_is_400_and_never_5xx(server, operation):
    world = World(server)
    usual = json.loads(world.body(operation)[1])
    who = "admin"
    with server.connect() as wire:
        for path, _ in places(operation.json_body, usual):
            for raw in VALUES:
                body = replaced(usual, path, raw)
                answer = world.call(operation, who, body=body.encode(), wire=wire)
                assert answer.status < 500, f"{path} = {raw[:60]}: {answer}"
                if not fits(operation.json_body, body):
                    assert answer.status in (400, 413, 422), f"{path} = {raw[:60]} should not pass: {answer}"


@every_json
def test_a_missing_member_is_400_and_an_unknown_one_is_ignored(server, operation):
    world = World(server)
    usual = json.loads(world.body(operation)[1])
    for name in SPEC.flatten(operation.json_body).get("required", []):
        body = {key: value for key, value in usual.items() if key != name}
        check_error(world.call(operation, "admin", body=json.dumps(body).encode()), 400)
    body = {**usual, "zzz": {"a": [1]}, "__proto__": {"constructor": 1}}
    assert world.call(operation, "admin", body=json.dumps(body).encode()).status < 300


@every_json
def test_a_body_that_is_no_json_object_is_400_and_another_content_type_415(server, operation):
    world = World(server)
    for body in [b"null", b"[]", b'""', b"5", b"{", b"{'a':1}", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b"{} x", b"[" * 1000]:
        check_error(world.call(operation, "admin", body=body), 400)
    usual = world.body(operation)[1]
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"]:
        check_error(world.call(operation, "admin", body=usual, headers={"Content-Type": kind}), 415, code="json_expected")
