"""The validator of support/schema.py finds every kind of fault."""
import pytest

from support.schema import Spec

SPEC = Spec("""
components:
  schemas:
    Base: {type: object, required: [id], properties: {id: {type: string, format: uuid}}}
    More: {allOf: [{$ref: "#/components/schemas/Base"}, {type: object, required: [n], properties: {n: {type: integer, minimum: 1}}}]}
""")
MORE = {"$ref": "#/components/schemas/More"}
ID = "01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42"


@pytest.mark.parametrize("value, schema", [
    ("1", {"type": "integer"}),
    (True, {"type": "integer"}),
    (1, {"type": "boolean"}),
    (1.5, {"type": ["integer", "null"]}),
    (float("inf"), {"type": "number"}),
    (None, {"type": "string"}),
    ("c", {"enum": ["a", "b"]}),
    (1, {"enum": [True]}),
    ("b", {"const": "a"}),
    ("", {"type": "string", "minLength": 1}),
    ("abc", {"type": "string", "maxLength": 2}),
    ("x1", {"type": "string", "pattern": "^[a-z]+$"}),
    ("not-a-uuid", {"type": "string", "format": "uuid"}),
    ("2026-11-15T12:00:00Z", {"type": "string", "format": "date-time"}),
    (0, {"type": "integer", "minimum": 1}),
    (3, {"type": "integer", "maximum": 2}),
    ([], {"type": "array", "minItems": 1}),
    ([1, "2"], {"type": "array", "items": {"type": "integer"}}),
    ({}, MORE),
    ({"id": ID}, MORE),
    ({"id": ID, "n": 0}, MORE),
    ({"id": ID, "n": 1, "unheard": 1}, MORE),
    ({"a": {"b": 1}}, {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}),
    ({"a": 1}, {"type": "object", "additionalProperties": {"type": "string"}}),
    (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (1, {"oneOf": [{"type": "integer"}, {"type": "number"}]}),
])
def test_a_value_that_does_not_fit_its_schema_is_found(value, schema):
    assert SPEC.faults(value, schema, closed=True)


@pytest.mark.parametrize("value, schema", [
    (1, {"type": "number"}),
    (None, {"type": ["string", "null"], "format": "uuid"}),
    ("2026-11-15T12:00:00.000001Z", {"type": "string", "format": "date-time"}),
    ({"id": ID, "n": 1}, MORE),
    ({"anything": [1]}, {"type": "object"}),
    ({"anything": [1]}, {"type": "object", "properties": {}, "additionalProperties": True}),
    ({"anything": [1]}, {}),
])
def test_a_value_that_fits_its_schema_has_no_faults(value, schema):
    assert SPEC.faults(value, schema, closed=True) == []


def test_unknown_members_pass_where_the_document_is_open():
    assert SPEC.faults({"id": ID, "n": 1, "unheard": 1}, MORE) == []


def test_a_keyword_it_does_not_know_is_not_skipped():
    with pytest.raises(AssertionError):
        SPEC.faults({}, {"type": "object", "minProperties": 1})


def test_a_key_that_is_there_twice_is_an_error():
    with pytest.raises(AssertionError):
        Spec("a: 1\nb: 2\na: 3\n")
