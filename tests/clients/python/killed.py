"""Orders and charges that must not be forgotten. tests/killed kills this program at random, starts it again, and reads its
output."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from remember import Command, Commands, Store, Undecided

WORKERS = 8
ATTEMPTS = 3
NUMBER = int(os.environ["IDEM_COMMANDS"])


def commands(service: str) -> Commands:
    store = Store(os.path.join(os.environ["IDEM_STORE"], f"{service}.sqlite"))
    return Commands(store, os.environ[f"IDEM_{service.upper()}"], lambda: os.environ["IDEM_TOKEN"], ATTEMPTS)


ORDERS, PAYMENTS = commands("orders"), commands("payments")


def tell(*words: str) -> None:
    os.write(1, (" ".join(words) + "\n").encode())  # at once: this process may be killed


def decide(commands: Commands, command: Command) -> None:
    while True:
        try:
            outcome = commands.outcome(command)
            return tell(type(outcome).__name__.lower(), command.name)
        except Undecided as error:
            tell("undecided", command.name, str(error))


def place(number: int) -> None:
    order: dict[str, object] = {"lines": [{"sku": "TEA", "quantity": 1}], "payment_method": "pm_card_visa"}
    amount = {"amount": 450, "currency": "EUR"}
    charge: dict[str, object] = {"amount": amount, "payment_method": "pm_card_idem_slow"}  # takes three seconds: 202
    to, path, name, body = ORDERS, "/v1/orders", f"order-{number}", order
    if number % 10 == 3:
        body = order | {"expected_total": {"amount": 1, "currency": "EUR"}}
    elif number % 10 == 7:
        to, path, name, body = PAYMENTS, "/v1/payments", f"charge-{number}", charge
    command = to.remember(path, json.dumps(body | {"reference": name}).encode(), name)
    tell("remembers", name, command.key)
    if number == 0:
        try:
            to.remember(path, b"{}", name)
        except ValueError:
            tell("taken", name)
        try:
            # As if it were 30 days old. The service may have forgotten the key by then.
            to.outcome(replace(command, at=command.at - 30 * 86400))
        except Undecided:
            tell("late", name)
    decide(to, command)


with ThreadPoolExecutor(WORKERS) as pool:
    jobs = [pool.submit(decide, of, left) for of in (ORDERS, PAYMENTS) for left in of.open()]  # what an earlier process has left
    tell("resumes", str(len(jobs)))
    jobs += [pool.submit(place, number) for number in range(NUMBER)]
    for job in jobs:
        job.result()
