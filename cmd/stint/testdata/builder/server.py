"""The service of a perfect builder: reads schema.json, serves it. Standard library only.

A second implementation of the contract, written from SPEC.md and not from the Go interpreter: the tests let a
scripted model write it into its workspace, so a disagreement between the two shows as a failed turn.
"""
import copy
import datetime
import json
import os
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import threading

with open("schema.json", encoding="utf-8") as f:
    SCHEMA = json.load(f)
ENTITIES = SCHEMA["entities"]
FIELDS = {f["uid"]: f for e in ENTITIES for f in e["fields"]}
ROWS = {e["uid"]: {} for e in ENTITIES}  # uid -> id -> {field uid: value}; dicts keep the order of creation
LAST = {e["uid"]: 0 for e in ENTITIES}
LOCK = threading.Lock()
EPOCH = datetime.date(1970, 1, 1)


class Refused(Exception):
    def __init__(self, status, code, field=None):
        self.status, self.code, self.field = status, code, field


def by_plural(plural):
    return next((e for e in ENTITIES if e["plural"] == plural), None)


def is_number(v):
    return isinstance(v, (int, Decimal)) and not isinstance(v, bool)


def parse(field, v):
    """The stored form of a JSON value that is not null; refuses what breaks a rule of the field."""
    name, kind = field["name"], field["type"]
    wrong = Refused(400, "type", name)
    if kind in ("string", "enum"):
        if not isinstance(v, str):
            raise wrong
        if kind == "enum" and v not in field["values"]:
            raise Refused(400, "enum", name)
        if len(v) < (field.get("min_len") or 0) or ("max_len" in field and len(v) > field["max_len"]):
            raise Refused(400, "length", name)
        return v
    if kind == "boolean":
        if not isinstance(v, bool):
            raise wrong
        return v
    if kind == "date":
        if not isinstance(v, str) or len(v) != 10:
            raise wrong
        try:
            measure = (datetime.date.fromisoformat(v) - EPOCH).days
        except ValueError:
            raise wrong
    elif kind == "decimal":
        if not is_number(v) or Decimal(v) * 100 != int(Decimal(v) * 100):
            raise wrong
        measure = int(Decimal(v) * 100)
        v = measure
    else:
        if not is_number(v) or v != int(v):
            raise wrong
        v = measure = int(v)
    if kind == "ref":
        if v not in ROWS[field["target"]]:
            raise Refused(400, "reference", name)
        return v
    if "min" in field and measure < field["min"] or "max" in field and measure > field["max"]:
        raise Refused(400, "range", name)
    return v


def default(field):
    d = field.get("default")
    if d is None:
        return None
    kind = field["type"]
    if kind in ("string", "enum"):
        return d.get("str", "")
    if kind == "boolean":
        return d.get("bool", False)
    n = d.get("int", 0)
    return (EPOCH + datetime.timedelta(days=n)).isoformat() if kind == "date" else n


def merge(entity, row_id, old, body, partial):
    """The new row from the old one and a request body."""
    row = dict(old)
    for field in entity["fields"]:
        uid, name = field["uid"], field["name"]
        if name in body:
            if body[name] is None:
                if not field["nullable"]:
                    raise Refused(400, "null", name)
                row[uid] = None
            else:
                row[uid] = parse(field, body[name])
        elif not partial:
            if field["required"]:
                raise Refused(400, "required", name)
            row[uid] = default(field)
        if field.get("unique") and row[uid] is not None:
            if any(r[uid] == row[uid] for i, r in ROWS[entity["uid"]].items() if i != row_id):
                raise Refused(409, "unique", name)
    return row


def shown(entity, row_id):
    out = {"id": row_id}
    for field in entity["fields"]:
        v = ROWS[entity["uid"]][row_id][field["uid"]]
        if field["type"] == "decimal" and v is not None:
            v = v // 100 if v % 100 == 0 else v / 100
        out[field["name"]] = v
    return out


def references(target):
    for e in ENTITIES:
        for f in e["fields"]:
            if f["type"] == "ref" and f["target"] == target:
                yield e, f


def remove(uid, row_id):
    """Delete a row and what hangs on it; raises Refused where a reference forbids it."""
    del ROWS[uid][row_id]
    for e, f in references(uid):
        hit = [i for i, r in ROWS[e["uid"]].items() if r[f["uid"]] == row_id]
        if hit and f["on_delete"] == "restrict":
            raise Refused(409, "restricted")
        for i in hit:
            if f["on_delete"] == "set-null":
                ROWS[e["uid"]][i][f["uid"]] = None
            elif i in ROWS[e["uid"]]:
                remove(e["uid"], i)


def forbidden(uid, row_id, gone):
    """Whether a restricting reference points into what deleting this row would delete."""
    if (uid, row_id) in gone:
        return False
    gone.add((uid, row_id))
    for e, f in references(uid):
        for i, r in ROWS[e["uid"]].items():
            if r[f["uid"]] == row_id:
                if f["on_delete"] == "restrict":
                    return True
                if f["on_delete"] == "cascade" and forbidden(e["uid"], i, gone):
                    return True
    return False


def statistic(a):
    rows = ROWS[a["entity"]].values()
    if a.get("where"):
        f, want = FIELDS[a["where"]], a["equals"]
        wanted = want.get("bool", False) if f["type"] == "boolean" else want.get("str", "")
        rows = [r for r in rows if r[a["where"]] is not None and r[a["where"]] == wanted]
    if a["kind"] == "count":
        return len(list(rows))
    total = sum(r[a["measure"]] or 0 for r in rows)
    return total / 100 if FIELDS[a["measure"]]["type"] == "decimal" else total


def answer(method, path, body):
    parts = [p for p in path.split("?")[0].split("/") if p]
    if parts == ["health"]:
        return 200, {"ok": True}
    if len(parts) == 2 and parts[0] == "analytics" and method == "GET":
        for a in SCHEMA["analytics"] or []:
            if a["name"] == parts[1]:
                return 200, {"value": statistic(a)}
    entity = by_plural(parts[0]) if parts else None
    if entity is None or len(parts) > 2:
        raise Refused(404, "not_found")
    uid = entity["uid"]
    if len(parts) == 1:
        if method == "POST":
            row = merge(entity, None, {}, body, False)
            LAST[uid] += 1
            ROWS[uid][LAST[uid]] = row
            return 201, shown(entity, LAST[uid])
        c = SCHEMA["conventions"]
        return 200, {c["items_key"]: [shown(entity, i) for i in ROWS[uid]], c["total_key"]: len(ROWS[uid])}
    row_id = int(parts[1]) if parts[1].isdigit() else 0
    if row_id not in ROWS[uid]:
        raise Refused(404, "not_found")
    if method == "DELETE":
        if forbidden(uid, row_id, set()):
            raise Refused(409, "restricted")
        remove(uid, row_id)
        return 204, None
    if method in ("PUT", "PATCH"):
        ROWS[uid][row_id] = merge(entity, row_id, ROWS[uid][row_id], body, method == "PATCH")
    return 200, shown(entity, row_id)


class Handler(BaseHTTPRequestHandler):
    def handle_one(self):
        n = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(n)
        with LOCK:
            before = copy.deepcopy(ROWS)
            try:
                status, out = answer(self.command, self.path, json.loads(raw, parse_float=Decimal) if raw else {})
            except Refused as r:
                ROWS.update(before)
                status, out = r.status, {"error": {"code": r.code, "field": r.field}}
            data = b"" if out is None else json.dumps(out).encode()
        self.send_response(status)
        if data:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
