import datetime
import decimal
import json
import os
import re
import signal
import socketserver
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler

MAX_BODY = 8 * 1024 * 1024


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status, code, field=None):
        super().__init__(code)
        self.status, self.code, self.field = status, code, field


class Call:
    """One request as the functions below see it."""

    def __init__(self, raw, query, row_id):
        self.raw, self.query, self.row_id = raw, query, row_id

    def body(self):
        """The body, which must be one JSON object."""
        try:
            value = json.loads(self.raw.decode("utf-8"), parse_float=decimal.Decimal, parse_constant=refuse_constant)
        except (ValueError, RecursionError, decimal.InvalidOperation):
            raise Refused(400, "json") from None
        if not isinstance(value, dict):
            raise Refused(400, "json")
        return value

    def body_if_any(self):
        """The body of a request that may come without one."""
        return self.body() if self.raw.strip() else {}


def refuse_constant(name):
    raise ValueError(name + " is not JSON")


# Values of requests. Whole numbers are kept as int, numbers with two decimal places as int hundredths,
# days and times as strings, which compare in the order of time.


def as_string(value, field):
    if not isinstance(value, str):
        raise Refused(400, "type", field)
    return value


def as_boolean(value, field):
    if not isinstance(value, bool):
        raise Refused(400, "type", field)
    return value


def as_number(value, places, field):
    """A JSON number times 10**places, which must be whole."""
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)):
        raise Refused(400, "type", field)
    if isinstance(value, int):
        return value * 10**places
    if not value.is_finite() or value.adjusted() > 30:
        raise Refused(400, "type", field)
    scaled = value.scaleb(places)
    if scaled != int(scaled):
        raise Refused(400, "type", field)
    return int(scaled)


def as_integer(value, field):
    return as_number(value, 0, field)


def as_hundredths(value, field):
    return as_number(value, 2, field)


def is_moment(text, form, pattern):
    if not re.fullmatch(pattern, text, re.ASCII):
        return False
    try:
        datetime.datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def is_date(text):
    return is_moment(text, "%Y-%m-%d", r"\d{4}-\d\d-\d\d")


def is_datetime(text):
    return is_moment(text, "%Y-%m-%dT%H:%M:%SZ", r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\dZ")


def as_date(value, field):
    if not isinstance(value, str) or not is_date(value):
        raise Refused(400, "type", field)
    return value


def as_datetime(value, field):
    if not isinstance(value, str) or not is_datetime(value):
        raise Refused(400, "type", field)
    return value


def money(hundredths):
    """Hundredths as the JSON number they stand for; null stays null."""
    if type(hundredths) is not int:
        return hundredths
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100


# Values of query parameters.


def query_text(call, name):
    """The parameter as text, None if it is missing."""
    values = call.query.get(name)
    return values[-1] if values else None


def query_string(text, name):
    return text


def query_enum(text, name, words):
    if text not in words:
        raise Refused(400, "query", name)
    return text


def query_boolean(text, name):
    if text not in ("true", "false"):
        raise Refused(400, "query", name)
    return text == "true"


def query_integer(text, name):
    if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
        raise Refused(400, "query", name)
    return int(text)


def query_hundredths(text, name):
    if not re.fullmatch(r"-?\d{1,16}(\.\d{1,2})?", text, re.ASCII):
        raise Refused(400, "query", name)
    return int(decimal.Decimal(text).scaleb(2))


def query_date(text, name):
    if not is_date(text):
        raise Refused(400, "query", name)
    return text


def query_datetime(text, name):
    if not is_datetime(text):
        raise Refused(400, "query", name)
    return text


def query_day(call, name):
    """A date that the query must have."""
    text = query_text(call, name)
    if text is None:
        raise Refused(400, "query", name)
    return query_date(text, name)


def query_between(call, name, default, low, high):
    """A whole number from low to high; high is None if there is no limit."""
    text = query_text(call, name)
    if text is None:
        return default
    value = query_integer(text, name)
    if value < low or high is not None and value > high:
        raise Refused(400, "query", name)
    return value


def ordered(rows, field, descending):
    """Rows by a field. Nulls are the smallest; equal rows stay in their order."""
    return sorted(rows, key=lambda row: (row[field] is not None, 0 if row[field] is None else row[field]), reverse=descending)


# Derived values. They are null when an input is null.


def product(a, b):
    return None if a is None or b is None else a * b


def total(a, b):
    return None if a is None or b is None else a + b


def difference(a, b):
    return None if a is None or b is None else a - b


def joined(a, b):
    return None if a is None or b is None else a + " " + b


# Tables. A table holds rows by id, in the order of their creation.


class Table:
    def __init__(self):
        self.rows = {}
        self.last_id = 0

    def add(self, row):
        self.last_id += 1
        row["id"] = self.last_id
        self.rows[row["id"]] = row
        return row

    def find(self, row_id):
        row = self.rows.get(row_id)
        if row is None:
            raise Refused(404, "not_found")
        return row

    def all(self):
        return list(self.rows.values())

    def where(self, field, value):
        return [row for row in self.rows.values() if row[field] == value]

    def value(self, row_id, field):
        """A field of the row with this id, None if there is no such row."""
        row = self.rows.get(row_id)
        return None if row is None else row[field]


def delete_row(table, row_id, references):
    """Deletes a row and what has to go with it.

    references lists (referring table, its field, table referred to, policy).
    """
    row = table.find(row_id)
    doomed = [(table, row)]
    for owner, victim in doomed:  # grows while it is walked
        for referring, field, target, policy in references:
            if policy == "cascade" and target is owner:
                for other in referring.where(field, victim["id"]):
                    if not any(other is seen for _, seen in doomed):
                        doomed.append((referring, other))
    for owner, victim in doomed:
        for referring, field, target, policy in references:
            if policy == "restrict" and target is owner and referring.where(field, victim["id"]):
                raise Refused(409, "restricted")
    for owner, victim in doomed:
        del owner.rows[victim["id"]]
    for owner, victim in doomed:
        for referring, field, target, policy in references:
            if policy == "set-null" and target is owner:
                for other in referring.where(field, victim["id"]):
                    other[field] = None
