"""Checks results against docs/reference/result.schema.json, with the keywords of JSON Schema that it uses.
It refuses a schema with another keyword: nothing in it may go unchecked.
"""

import json
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "reference", "result.schema.json")
TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list, "null": type(None)}
KEYWORDS = {"$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items", "enum", "maxLength", "maxItems"}

with open(PATH, encoding="utf-8") as f:
    SCHEMA = json.load(f)


def problems(value, schema=SCHEMA, at="result"):
    """A list of texts; empty: the value fits."""
    unknown = set(schema) - KEYWORDS
    if unknown:
        return ["%s: the schema has %s" % (at, unknown)]
    types = schema.get("type")
    types = [types] if isinstance(types, str) else types
    if types is not None and type(value) not in [TYPES[t] for t in types]:
        return ["%s: %.60r is not of type %s" % (at, value, " or ".join(types))]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append("%s: %.60r is none of %s" % (at, value, schema["enum"]))
    if isinstance(value, (str, list)) and len(value) > schema.get("maxLength", schema.get("maxItems", len(value))):
        found.append("%s: longer than %s" % (at, schema.get("maxLength", schema.get("maxItems"))))
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += problems(item, schema["items"], "%s[%d]" % (at, i))
    if isinstance(value, dict) and "properties" in schema:
        found += ["%s: %s is missing" % (at, name) for name in schema["required"] if name not in value]
        for name, item in value.items():
            inner = schema["properties"].get(name, schema["additionalProperties"])
            found += problems(item, inner, at + "." + name) if inner is not False else ["%s: %s is in no row of the table" % (at, name)]
    return found


def is_result(doc):
    """A record of the audit trail has those members, too, and an event."""
    return isinstance(doc, dict) and {"id", "status", "reason"} <= set(doc) and "event" not in doc
