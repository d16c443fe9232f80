"""docs/openapi.yaml is valid YAML 1.2 and a valid OpenAPI 3.1 document, as strict validators and code generators read it.

tests/e2e/openapi_test.py compares the document with the running server.
"""
import os
import re
from pathlib import Path

import pytest
import yaml

from support.schema import ANNOTATIONS, KEYWORDS, UniqueKeys

ROOT = Path(os.environ.get("RESTANTE_SOURCE", Path(__file__).parents[1]))
TEXT = (ROOT / "docs/openapi.yaml").read_text()
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
TYPES = {"null", "boolean", "object", "array", "number", "string", "integer"}
NAME = r"[a-zA-Z0-9._-]+"
MEDIA_TYPE = r"[a-z*]+/[a-z*][a-z0-9*.+-]*"
ANYTHING = object()

# The objects of the specification. `!`: required; [x]: a list of x; {pattern: x}: a map; a name: another object of this table, a name with
# `&`: that, or a reference to one. Every object may also have members that begin with x-.
SHAPES = {
    "Document": {"openapi!": str, "info!": "Info", "jsonSchemaDialect": str, "servers": ["Server"], "paths!": {"/.*": "PathItem"},
                 "webhooks": {NAME: "PathItem"}, "components": "Components", "security": [{NAME: [str]}], "tags": ["Tag"],
                 "externalDocs": "ExternalDocs"},
    "Info": {"title!": str, "version!": str, "summary": str, "description": str, "termsOfService": str, "contact": "Contact",
             "license": "License"},
    "Contact": {"name": str, "url": str, "email": str},
    "License": {"name!": str, "identifier": str, "url": str},
    "Server": {"url!": str, "description": str},
    "Tag": {"name!": str, "description": str, "externalDocs": "ExternalDocs"},
    "ExternalDocs": {"url!": str, "description": str},
    "Components": {"schemas": {NAME: "Schema"}, "responses": {NAME: "Response&"}, "parameters": {NAME: "Parameter&"},
                   "examples": {NAME: "Example&"}, "requestBodies": {NAME: "RequestBody&"}, "headers": {NAME: "Header&"},
                   "securitySchemes": {NAME: "SecurityScheme&"}},
    "PathItem": {"summary": str, "description": str, "servers": ["Server"], "parameters": ["Parameter&"],
                 **{method: "Operation" for method in METHODS}},
    "Operation": {"tags": [str], "summary": str, "description": str, "externalDocs": "ExternalDocs", "operationId": str,
                  "parameters": ["Parameter&"], "requestBody": "RequestBody&", "responses!": {r"[1-5]\d\d|default": "Response&"},
                  "deprecated": bool, "security": [{NAME: [str]}], "servers": ["Server"]},
    "Parameter": {"name!": str, "in!": str, "description": str, "required": bool, "deprecated": bool, "schema": "Schema",
                  "style": str, "explode": bool, "example": ANYTHING, "examples": {NAME: "Example&"},
                  "content": {MEDIA_TYPE: "MediaType"}},
    "Header": {"description": str, "required": bool, "deprecated": bool, "schema": "Schema", "example": ANYTHING,
               "content": {MEDIA_TYPE: "MediaType"}},
    "RequestBody": {"description": str, "content!": {MEDIA_TYPE: "MediaType"}, "required": bool},
    "MediaType": {"schema": "Schema", "example": ANYTHING, "examples": {NAME: "Example&"}, "encoding": {NAME: "Encoding"}},
    "Encoding": {"contentType": str, "headers": {NAME: "Header&"}},
    "Response": {"description!": str, "headers": {NAME: "Header&"}, "content": {MEDIA_TYPE: "MediaType"}},
    "Example": {"summary": str, "description": str, "value": ANYTHING, "externalValue": str},
    "SecurityScheme": {"type!": str, "description": str, "name": str, "in": str, "scheme": str, "bearerFormat": str},
}
PLACES = {"Schema": "schemas", "Response": "responses", "Parameter": "parameters", "Header": "headers", "RequestBody": "requestBodies",
          "Example": "examples", "SecurityScheme": "securitySchemes"}


class Checker:
    """Collects the faults of a document, each with its place."""

    def __init__(self, text):
        self.faults = []
        self.root = yaml.compose(text, Loader=yaml.SafeLoader)
        self.scalars(self.root, set())
        self.document = yaml.load(text, Loader=UniqueKeys)
        self.check(self.document, "Document", "")
        self.operations()

    def fault(self, place, what):
        self.faults.append(f"{place or 'the document'}: {what}")

    # -- YAML

    def scalars(self, node, seen):
        """What YAML 1.1 and 1.2 read in different ways, and keys that nobody meant to write."""
        if id(node) in seen:
            return
        seen.add(id(node))
        line = f"line {node.start_mark.line + 1}"
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.tag != "tag:yaml.org,2002:str":
                    self.fault(line, f"the key {key.value!r} is no string")
                if node.flow_style and value.value == "" and value.tag == "tag:yaml.org,2002:null":
                    self.fault(line, f"{key.value!r} is a key without a value: an unquoted comma?")
                self.scalars(key, seen)
                self.scalars(value, seen)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                self.scalars(item, seen)
        elif node.style is None:
            kind = node.tag.removeprefix("tag:yaml.org,2002:")
            plain = {"bool": r"true|false", "int": r"-?(0|[1-9][0-9]*)", "float": r"-?(0|[1-9][0-9]*)\.[0-9]+", "null": r"null|", "str": r".*"}
            if not re.fullmatch(plain.get(kind, r"(?!)"), node.value, re.DOTALL):
                self.fault(line, f"{node.value!r} is a {kind} in YAML 1.1 only: quote it")

    # -- the objects

    def check(self, value, shape, place):
        if shape is ANYTHING:
            return
        if isinstance(shape, type):
            if not isinstance(value, shape):
                self.fault(place, f"is {value!r}, no {shape.__name__}")
        elif isinstance(shape, list):
            if not isinstance(value, list):
                return self.fault(place, "is no list")
            for index, item in enumerate(value):
                self.check(item, shape[0], f"{place}[{index}]")
        elif isinstance(shape, dict):
            (pattern, inner), = shape.items()
            if not isinstance(value, dict):
                return self.fault(place, "is no map")
            for key, item in value.items():
                if not re.fullmatch(pattern, str(key)):
                    self.fault(place, f"{key!r} cannot be a key here")
                self.check(item, inner, f"{place}/{key}")
        elif shape == "Schema":
            self.schema(value, place)
        elif not isinstance(value, dict):
            self.fault(place, f"is no {shape}")
        elif shape.endswith("&") and "$ref" in value:
            self.reference(value, shape[:-1], place)
        else:
            self.members(value, shape.removesuffix("&"), place)

    def members(self, value, shape, place):
        known = SHAPES[shape]
        for name, inner in known.items():
            name, required = name.removesuffix("!"), name.endswith("!")
            if name in value:
                self.check(value[name], inner, f"{place}/{name}")
            elif required:
                self.fault(place, f"lacks {name}")
        for name in value:
            if not name.startswith("x-") and name not in known and f"{name}!" not in known:
                self.fault(place, f"{shape} has no member {name!r}")
        if shape == "Parameter":
            if value.get("in") not in ("query", "header", "path", "cookie"):
                self.fault(place, f"is in {value.get('in')!r}")
            if value.get("in") == "path" and value.get("required") is not True:
                self.fault(place, "is in the path, but not required")
        if shape in ("Parameter", "Header") and ("schema" in value) == ("content" in value):
            self.fault(place, "needs either a schema or a content")
        if shape == "SecurityScheme":
            needed = {"http": ("scheme",), "apiKey": ("name", "in")}.get(value.get("type"))
            if needed is None or any(name not in value for name in needed):
                self.fault(place, "is no complete security scheme")

    def reference(self, value, shape, place):
        target = value["$ref"]
        if set(value) - {"$ref", "summary", "description"}:
            self.fault(place, "a reference has members beside it, which are ignored")
        found = re.fullmatch(rf"#/components/({NAME})/({NAME})", target)
        if not found or found[1] != PLACES[shape]:
            self.fault(place, f"refers to {target}, which is no {shape}")
        elif found[2] not in self.document["components"].get(found[1], {}):
            self.fault(place, f"refers to {target}, which is not there")

    def schema(self, value, place):
        if isinstance(value, bool):
            return
        if not isinstance(value, dict):
            return self.fault(place, f"is {value!r}, no schema")
        unknown = set(value) - KEYWORDS - ANNOTATIONS
        if unknown:
            self.fault(place, f"a schema has no {sorted(unknown)}")
        if "$ref" in value:
            self.reference({"$ref": value["$ref"]}, "Schema", place)
        types = value.get("type", [])
        types = types if isinstance(types, list) else [types]
        if set(types) - TYPES or len(types) != len(set(types)):
            self.fault(place, f"the type is {value['type']!r}")
        for name in ("allOf", "anyOf", "oneOf"):
            if name in value and not (isinstance(value[name], list) and value[name]):
                self.fault(place, f"{name} is no list of schemas")
            for index, inner in enumerate(value.get(name, [])):
                self.schema(inner, f"{place}/{name}[{index}]")
        for name in ("items", "additionalProperties"):
            if name in value:
                self.schema(value[name], f"{place}/{name}")
        if "array" in types and "items" not in value:
            self.fault(place, "an array without items")
        for name, inner in value.get("properties", {}).items():
            self.schema(inner, f"{place}/properties/{name}")
        required = value.get("required", [])
        if not isinstance(required, list) or len(required) != len(set(map(str, required))):
            self.fault(place, "required is no list of different names")
        elif "properties" in value and "allOf" not in value and set(required) - set(value["properties"]):
            self.fault(place, f"requires {sorted(set(required) - set(value['properties']))}, which it does not describe")
        if "enum" in value and not (isinstance(value["enum"], list) and value["enum"]):
            self.fault(place, "enum is no list")
        if "pattern" in value:
            re.compile(value["pattern"])
        for name in ("minLength", "maxLength", "minItems", "maxItems"):
            if not isinstance(value.get(name, 0), int) or value.get(name, 0) < 0:
                self.fault(place, f"{name} is {value[name]!r}")
        for name in ("minimum", "maximum"):
            if isinstance(value.get(name, 0), bool) or not isinstance(value.get(name, 0), (int, float)):
                self.fault(place, f"{name} is {value[name]!r}")

    # -- what one object alone does not show

    def resolved(self, value):
        kind, name = re.fullmatch(rf"#/components/({NAME})/({NAME})", value["$ref"]).groups() if "$ref" in value else (None, None)
        return self.document["components"][kind].get(name, {}) if kind else value

    def operations(self):
        if self.faults:
            return
        schemes = set(self.document["components"]["securitySchemes"])
        tags = {tag["name"] for tag in self.document["tags"]}
        ids, paths = set(), set()
        for path, item in self.document["paths"].items():
            if (shape := re.sub(r"\{.*?\}", "{}", path)) in paths:
                self.fault(path, "another path differs in the names of its parameters only")
            paths.add(shape)
            for method in METHODS:
                if method not in item:
                    continue
                operation, place = item[method], f"{method.upper()} {path}"
                if operation.get("operationId") in ids:
                    self.fault(place, "its operationId is not unique")
                ids.add(operation.get("operationId"))
                own = [self.resolved(each) for each in operation.get("parameters", [])]
                for given in (own, [self.resolved(each) for each in item.get("parameters", [])]):
                    keys = [(each["name"].lower(), each["in"]) for each in given]
                    if len(keys) != len(set(keys)):
                        self.fault(place, f"a parameter is there twice: {keys}")
                named = {each["name"] for each in own + [self.resolved(each) for each in item.get("parameters", [])] if each["in"] == "path"}
                if named != set(re.findall(r"\{(.*?)\}", path)):
                    self.fault(place, f"its path has other parameters than {sorted(named)}")
                if not operation["responses"]:
                    self.fault(place, "has no responses")
                for undeclared in set(operation.get("tags", [])) - tags:
                    self.fault(place, f"the tag {undeclared} is not declared")
                for choice in operation.get("security", self.document["security"]):
                    for undeclared in set(choice) - schemes:
                        self.fault(place, f"the security scheme {undeclared} is not declared")


def test_the_document_is_valid():
    checker = Checker(TEXT)
    assert checker.document["openapi"].startswith("3.1.")
    assert not checker.faults, "\n".join(checker.faults)


def test_an_operation_is_anonymous_in_its_security_exactly_when_it_can_be_called_without_a_token():
    document = Checker(TEXT).document
    anonymous, documented = set(), set()
    for item in document["paths"].values():
        for operation in (item[method] for method in METHODS if method in item):
            security = operation.get("security", document["security"])
            if security == [] or {} in security:
                anonymous.add(operation["operationId"])
            if "anyone" in operation["x-restante-callers"]:
                documented.add(operation["operationId"])
    assert "health" in documented
    assert anonymous == documented | {"register"}, "open registration is the only other anonymous call"


# -- the check itself


GOOD = """
openapi: 3.1.0
info: {title: t, version: "1"}
security: [{bearer: []}]
tags: [{name: a}]
paths:
  /a/{id}:
    parameters: [{$ref: "#/components/parameters/Id"}]
    get:
      tags: [a]
      operationId: read
      responses: {"200": {description: It is there., content: {application/json: {schema: {type: array, items: {type: string}}}}}}
components:
  securitySchemes: {bearer: {type: http, scheme: bearer}}
  parameters: {Id: {name: id, in: path, required: true, schema: {type: string, enum: [x, "no"]}}}
"""


def test_the_check_accepts_a_good_document():
    assert Checker(GOOD).faults == []


@pytest.mark.parametrize("old, new, what", [
    ("description: It is there.,", "description: It is there, or not.,", "an unquoted comma"),
    ("description: It is there.,", "description: It is there, or: not.,", "no member 'or'"),
    ("description: It is there., ", "", "lacks description"),
    ('{"200":', "{200:", "is no string"),
    ('"200"', '"20x"', "cannot be a key"),
    ('version: "1"', "version: 1.0", "no str"),
    ('"no"', "no", "YAML 1.1 only"),
    ('"no"', "2026-11-15", "YAML 1.1 only"),
    ("type: array, items: {type: string}", "type: array", "without items"),
    ("type: array, items: {type: string}", "type: array, items: {type: text}", "the type is"),
    ("type: array, items: {type: string}", "type: object, nullable: true", "a schema has no"),
    ("type: array, items: {type: string}", "type: object, properties: {a: {}}, required: [b]", "does not describe"),
    ("type: array, items: {type: string}", '$ref: "#/components/schemas/None"', "not there"),
    ("schema: {type: array", 'schema: {$ref: "#/components/parameters/Id"}, x-was: {type: array', "no Schema"),
    ("parameters/Id", "parameters/Other", "not there"),
    ("required: true, ", "", "not required"),
    ("in: path", "in: query", "other parameters"),
    ("/a/{id}:", "/a/{name}:", "other parameters"),
    ("tags: [a]", "tags: [b]", "not declared"),
    ("security: [{bearer: []}]", "security: [{token: []}]", "not declared"),
    ("security: [{bearer: []}]", "security: [bearer]", "is no map"),
    ("scheme: bearer", "", "security scheme"),
    ("    get:", "    fetch:", "no member 'fetch'"),
])
def test_the_check_finds_what_a_validator_would_refuse(old, new, what):
    assert old in GOOD
    faults = Checker(GOOD.replace(old, new)).faults
    assert any(what in fault for fault in faults), faults
