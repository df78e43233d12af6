"""Fails unless the run has reached every operation of the document: a handler has executed a valid request, and an invalid
request was sent.

Usage: reached.py DOCUMENT RESPONSES, where hooks.py has written RESPONSES.
"""

import json
import sys
from collections import Counter
from pathlib import Path

document, responses = (json.loads(Path(path).read_text()) for path in sys.argv[1:])

executed, valid, invalid = Counter(), Counter(), Counter()
for operation, status, of_valid, of_invalid in responses:
    valid[operation] += of_valid
    invalid[operation] += of_invalid
    # A conflict (409) is a decision of the handler, too.
    if status < 400 or status == 409:
        executed[operation] += of_valid

print("  executed    valid  invalid")
missed = []
for path, item in document["paths"].items():
    for method in item:
        operation = f"{method.upper()} {path}"
        print(f"  {executed[operation]:8} {valid[operation]:8} {invalid[operation]:8}  {operation}")
        if not executed[operation] or not invalid[operation]:
            missed.append(operation)

statuses = Counter()
for _, status, *counts in responses:
    statuses[status] += sum(counts)
print("  " + ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items())))
if missed:
    sys.exit("no valid request was executed, or no invalid one was sent: " + ", ".join(missed))
