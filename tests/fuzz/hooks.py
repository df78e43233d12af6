"""Counts responses, and knows the two rules that no schema can state. It changes no request.

Schemathesis loads this file as SCHEMATHESIS_HOOKS. At its end it writes the number of responses, by operation and status, to
IDEM_FUZZ_RESPONSES. reached.py reads them.
"""

import atexit
import json
import os
import re
from collections import Counter
from pathlib import Path

import schemathesis


def repeats_a_sku(case):
    skus = [line["sku"] for line in case.body["lines"]]
    return len(set(skus)) < len(skus)


# The pointer and the detail of the error, and whether the case breaks the rule.
OUTSIDE_THE_SCHEMAS = [
    # `uniqueItems` compares whole lines. These lines differ in their quantity.
    (r"/lines/\d+/sku", r"each SKU has one line", repeats_a_sku),
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
