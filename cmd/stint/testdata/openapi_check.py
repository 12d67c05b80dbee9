"""Holds an OpenAPI document against the suite of the same turn: openapi_check.py DOCUMENT SUITE

The document must be valid OpenAPI 3.1. Every request of the suite must be described; every body that the suite expects
must fit the answer's schema; every body that is accepted must fit the request's schema, and one that is refused because
of a rule which JSON Schema can express must not. Prints how much was held against each other.
"""

import json
import re
import sys
from urllib.parse import parse_qsl

from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

# Rules that JSON Schema can express. Ranges of dates and references to rows are not among them.
EXPRESSIBLE = {"type", "required", "null", "range", "length", "enum", "pattern"}


def ids(value):
    """Puts a number where a captured id stands."""
    if isinstance(value, dict):
        return {k: ids(v) for k, v in value.items()}
    if isinstance(value, list):
        return [ids(v) for v in value]
    if isinstance(value, str) and re.fullmatch(r"\$\{[a-z0-9_]+\}", value):
        return 1
    return value


def main():
    doc, suite = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
    validate(doc)
    paths = [(re.compile("^" + re.sub(r"\{[a-z]+\}", "[^/]+", p) + "$"), item) for p, item in doc["paths"].items()]
    faults, counts = [], {"requests": 0, "answers": 0, "accepted": 0, "refused": 0, "queries": 0, "gone": 0}

    def fits(schema, value):
        whole = {"components": doc["components"], **schema}
        return not list(Draft202012Validator(whole).iter_errors(value))

    steps = [(w["name"], st) for w in suite["worlds"] for st in w.get("setup", [])]
    steps += [(c["id"], st) for c in suite["checks"] for st in c["steps"]]
    for name, st in steps:
        where = "%s: %s %s %s" % (name, st["m"], st["p"], json.dumps(st.get("b")))
        path, verb = st["p"], st["m"].lower()
        found = [item[verb] for form, item in paths if form.match(path) and verb in item]
        if not found:
            if st["s"] == 404:
                counts["gone"] += 1
            else:
                faults.append(where + " is not described")
            continue
        op = found[0]
        counts["requests"] += 1
        answer = op["responses"].get(str(st["s"]))
        if answer is None:
            faults.append("%s: the status %d is not described" % (where, st["s"]))
            continue
        expected = ids(st.get("e"))
        if st.get("x") == "exact" or (expected and st["s"] >= 400):
            counts["answers"] += 1
            if not fits(answer["content"]["application/json"]["schema"], expected):
                faults.append("%s: the expected body %s does not fit" % (where, json.dumps(expected)))
        if "q" in st and st["s"] < 300:
            counts["queries"] += 1
            known = {p["name"] for p in op.get("parameters", []) if p["in"] == "query"}
            for key, _ in parse_qsl(st["q"], keep_blank_values=True):
                if key not in known:
                    faults.append("%s: the parameter %s is not described" % (where, key))
        if "b" not in st or "requestBody" not in op:
            continue
        schema = op["requestBody"]["content"]["application/json"]["schema"]
        body = ids(st["b"])
        code = ((expected or {}).get("error") or {}) if st["s"] == 400 else {}
        code = code.get("code") if isinstance(code, dict) else None
        if st["s"] < 300:
            counts["accepted"] += 1
            if not fits(schema, body):
                faults.append(where + " is accepted, but does not fit")
        elif code in EXPRESSIBLE and not (isinstance(body, dict) and dated(doc, schema, body, expected["error"].get("field"))):
            counts["refused"] += 1
            if fits(schema, body):
                faults.append("%s is refused (%s), but fits" % (where, code))
    print(", ".join("%s %d" % (k, counts[k]) for k in sorted(counts)))
    for f in faults[:20]:
        print(f)
    sys.exit(1 if faults else 0)


def dated(doc, schema, body, field):
    """Says whether a field is a day: which days are allowed, and which strings are days, JSON Schema does not check."""
    name = schema.get("$ref", "").rsplit("/", 1)[-1]
    one = doc["components"]["schemas"].get(name, {}).get("properties", {}).get(field, {})
    return one.get("format") in ("date", "date-time") and isinstance(body.get(field), str)


main()
