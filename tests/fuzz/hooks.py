"""What the documents cannot tell schemathesis: a key belongs to one command, and a few rules are outside the schemas.

Schemathesis loads this file as SCHEMATHESIS_HOOKS. At its end it writes the number of responses, by operation and status, to
IDEM_FUZZ_RESPONSES. reached.py reads them.
"""

import atexit
import json
import os
import re
import uuid
from collections import Counter
from pathlib import Path

import schemathesis

# The largest number up to which each integer has a float of its own.
MAX_SAFE_INTEGER = 2**53 - 1


def repeats_a_sku(case):
    skus = [line["sku"] for line in case.body["lines"]]
    return len(set(skus)) < len(skus)


# Rules that a schema cannot state: the pointer and the detail of the error, and whether the case breaks the rule.
OUTSIDE_THE_SCHEMAS = [
    # A cursor has a seal (HMAC). Only the service can make one.
    (r"cursor", r"not a cursor of this list", lambda case: "cursor" in case.query),
    # `uniqueItems` compares whole lines. These lines differ in their quantity.
    (r"/lines/\d+/sku", r"each SKU has one line", repeats_a_sku),
    # A minimum and a maximum cannot exclude 0.
    (r"/delta", r"a delta is .* not 0", lambda case: case.body["delta"] == 0),
    # A pattern cannot compute the check digit of a card number.
    (r".+", r".* must not contain a card number", lambda case: True),
]

valid, invalid = Counter(), Counter()  # (operation, status) of requests with valid and with invalid data


@schemathesis.hook
def after_call(context, case, response):
    """Counts the response."""
    is_valid = case.meta is not None and case.meta.generation.mode.is_positive
    (valid if is_valid else invalid)[case.operation.label, response.status_code] += 1


@atexit.register
def write_responses():
    counts = [[*key, *(counter[key] for counter in (valid, invalid))] for key in sorted(valid.keys() | invalid.keys())]
    Path(os.environ["IDEM_FUZZ_RESPONSES"]).write_text(json.dumps(counts))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives each command a new key. Otherwise a command would meet the record of an earlier one, and get 409.

    Leaves an invalid key and a missing key as the case has them.
    """
    parameter = case.operation.headers.get("Idempotency-Key")
    key = (case.headers or {}).get("Idempotency-Key")
    if parameter and isinstance(key, str) and re.search(parameter.definition["schema"]["pattern"], key):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


@schemathesis.hook
def map_body(context, body):
    """Writes 5.0 as 5. JSON Schema calls both an integer; the services accept only digits."""
    if isinstance(body, dict):
        return {name: map_body(context, value) for name, value in body.items()}
    if isinstance(body, list):
        return [map_body(context, value) for value in body]
    if isinstance(body, float) and body.is_integer() and abs(body) <= MAX_SAFE_INTEGER:
        return int(body)
    return body


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops the failure "valid data was rejected" if each error of the response is one of `OUTSIDE_THE_SCHEMAS`."""
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 400:
        return True
    errors = json.loads(response.content).get("errors", [])
    return not errors or not all(is_outside_the_schemas(error, case) for error in errors)


def is_outside_the_schemas(error, case):
    return any(
        re.fullmatch(pointer, error["pointer"]) and re.match(detail, error["detail"]) and is_broken(case)
        for pointer, detail, is_broken in OUTSIDE_THE_SCHEMAS
    )
