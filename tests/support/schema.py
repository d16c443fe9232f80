"""Reads docs/openapi.yaml for tests: its operations, and a validator for the part of JSON Schema that it uses.

With closed=True a member that the document does not name is a fault, unless the schema has additionalProperties. A keyword that
this file does not know raises: a rule that is not checked is worse than no rule.
"""
import math
import re

import yaml

METHODS = ("get", "put", "post", "delete", "patch")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")
ANNOTATIONS = {"description", "default", "example", "examples", "title"}
KEYWORDS = {"$ref", "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
            "minLength", "maxLength", "minimum", "maximum", "pattern", "format", "allOf", "anyOf", "oneOf"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v),
    "null": lambda v: v is None,
}


class UniqueKeys(yaml.SafeLoader):
    """A loader that refuses what PyYAML would silently overwrite."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key is there twice, near line {node.start_mark.line + 1}: {keys}"
        return super().construct_mapping(node, deep)


class Operation:
    """One method of one path, with its part of the document."""

    def __init__(self, spec, path, method, item):
        self.spec, self.path, self.method, self.item = spec, path, method.upper(), item[method]
        self.parameters = [spec.resolve(p) for p in [*item.get("parameters", []), *self.item.get("parameters", [])]]
        self.id = self.item.get("operationId")

    @property
    def callers(self):
        return self.item.get("x-restante-callers")

    @property
    def body(self):
        """{media type: schema} of the request's body; empty when it takes none."""
        content = self.spec.resolve(self.item.get("requestBody", {})).get("content", {})
        return {media: entry["schema"] for media, entry in content.items()}

    @property
    def json_body(self):
        return self.body.get("application/json")

    def response(self, status):
        """The documented response of that status, or None."""
        found = self.item["responses"].get(str(status))
        return self.spec.resolve(found) if found else None

    def __repr__(self):
        return f"{self.method} {self.path}"


class Spec:
    def __init__(self, text):
        self.document = yaml.load(text, Loader=UniqueKeys)

    def operations(self):
        return [Operation(self, path, method, item)
                for path, item in self.document["paths"].items() for method in METHODS if method in item]

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            at = self.document
            for step in node["$ref"].removeprefix("#/").split("/"):
                at = at[step]
            node = at
        return node

    def faults(self, value, schema, *, closed=False, where="$"):
        """The faults of the value, as sentences; empty when there is none."""
        return list(self._faults(value, schema, closed, where))

    def _faults(self, value, schema, closed, where):
        schema = self.flatten(schema)
        for name in ("anyOf", "oneOf"):
            if name in schema:
                fits = [not self.faults(value, option, closed=closed) for option in schema[name]]
                if not any(fits) or (name == "oneOf" and sum(fits) != 1):
                    yield f"{where} fits {sum(fits)} of {name}"
        types = schema.get("type")
        if types is not None:
            types = types if isinstance(types, list) else [types]
            if not any(TYPES[kind](value) for kind in types):
                yield f"{where} is {type(value).__name__}, not {types}"
                return
        if "enum" in schema and not any(same(value, choice) for choice in schema["enum"]):
            yield f"{where} is {value!r}, not one of {schema['enum']}"
        if "const" in schema and not same(value, schema["const"]):
            yield f"{where} is {value!r}, not {schema['const']!r}"
        if isinstance(value, str):
            yield from self._text_faults(value, schema, where)
        elif isinstance(value, dict):
            yield from self._object_faults(value, schema, closed, where)
        elif isinstance(value, list):
            yield from self._array_faults(value, schema, closed, where)
        elif TYPES["number"](value):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                yield f"{where} is {value}, out of bounds"

    def _text_faults(self, value, schema, where):
        if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", len(value)):
            yield f"{where} has {len(value)} characters"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where} is {value!r}, which is not {schema['pattern']}"
        form = {"uuid": UUID, "date-time": TIME}.get(schema.get("format"))
        if form and not form.match(value):
            yield f"{where} is {value!r}, no {schema['format']}"

    def _object_faults(self, value, schema, closed, where):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", not closed or "properties" not in schema)
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where} lacks {name}"
        for name, member in value.items():
            if name in known:
                yield from self._faults(member, known[name], closed, f"{where}.{name}")
            elif isinstance(more, dict):
                yield from self._faults(member, more, closed, f"{where}.{name}")
            elif not more:
                yield f"{where}.{name} is not documented"

    def _array_faults(self, value, schema, closed, where):
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", len(value)):
            yield f"{where} has {len(value)} items"
        for index, item in enumerate(value):
            yield from self._faults(item, schema.get("items", {}), closed, f"{where}[{index}]")

    def flatten(self, schema):
        """Without $ref and allOf: the members of all, together."""
        schema = self.resolve(schema)
        unknown = set(schema) - KEYWORDS - ANNOTATIONS
        assert not unknown, f"the validator does not know {unknown}"
        if "allOf" not in schema:
            return schema
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        merged["properties"], merged["required"] = dict(merged.get("properties", {})), list(merged.get("required", []))
        for part in map(self.flatten, schema["allOf"]):
            merged["properties"].update(part.get("properties", {}))
            merged["required"] += part.get("required", [])
            merged.setdefault("type", part.get("type"))
        return merged


def same(a, b):
    """Equal as JSON: true is not 1."""
    return type(a) is type(b) and a == b or (TYPES["number"](a) and TYPES["number"](b) and a == b)
