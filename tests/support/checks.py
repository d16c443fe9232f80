"""Checks that many tests share: the form of an error, and the headers of every response."""
import json
import re

# Tests put it into hostile input; no answer may contain it.
MARKER = "zq7marker"


def check_common(response):
    """Checks the headers that every response has, framing errors included."""
    assert re.fullmatch(r"[\x21-\x7e]{8,128}", response.header("X-Request-Id", "")), f"no X-Request-Id: {response}"
    assert response.header("X-Content-Type-Options") == "nosniff", response


def check_compact(response):
    """The body is JSON without a needless space."""
    assert re.match(r"application/json\b", response.header("Content-Type", "")), response
    text = response.body.decode("utf-8")
    again = json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    assert text == again, f"not compact: {text}"


def check_error(response, *statuses, code=None):
    """A JSON error with one of the statuses: a sentence, a code, and no part of the request."""
    assert response is not None, "closed without an answer"
    assert response.status in statuses, f"expected {statuses}: {response}"
    check_common(response)
    check_compact(response)
    error = response.json()
    assert isinstance(error.get("error"), str) and error["error"], error
    assert re.fullmatch(r"[a-z][a-z0-9_]*", error.get("code", "")), error
    assert MARKER.encode() not in response.raw.lower(), f"echoes its input: {response}"
    if code:
        assert error["code"] == code, error
    if response.status in (429, 503):
        assert re.fullmatch(r"[0-9]+", response.header("Retry-After", "")), response
    return error


def check_refused_and_closed(wire, *statuses, methods=()):
    """Exactly one response, an error with one of the statuses, then the end of the connection."""
    responses = wire.read_until_closed(methods)
    assert len(responses) == 1, f"expected one response: {responses}"
    assert responses[0].header("Connection", "").lower() == "close", responses[0]
    if "HEAD" not in methods:
        check_error(responses[0], *statuses)
    assert responses[0].status in statuses, responses[0]
    return responses[0]
