"""Prepares the tenant of a run: items, orders and so on. Writes their ids as dictionaries of schemathesis.

Usage: world.py FOLDER, with the token in IDEM_FUZZ_TOKEN and the address of each service in a variable such as ORDERS.
"""

import importlib.util
import os
import sys
import time
import uuid
from pathlib import Path

import requests


def address(service):
    return os.environ[service.upper()]


ORDERS, INVENTORY = address("orders"), address("inventory")
SKUS = [f"SKU-{number}" for number in range(12)]  # fewer would often meet twice in one order
ORDERED = SKUS[:3]
TIMEOUT = 30  # seconds, until an event has arrived

client = requests.Session()
client.headers["Authorization"] = f"Bearer {os.environ['IDEM_FUZZ_TOKEN']}"
# The same keys at each service and route: a key identifies a command of one caller at one route.
KEYS = [str(uuid.uuid4()) for _ in ORDERED]


def checked(response):
    if not response.ok:
        sys.exit(f"{response.request.method} {response.url}: {response.status_code} {response.text}")
    return response.json()


def post(url, key, body):
    return checked(client.post(url, json=body, headers={"Idempotency-Key": key}))


def wait_for(what, url, has_arrived):
    end = time.monotonic() + TIMEOUT
    while not ((response := client.get(url)).ok and has_arrived(response.json())):
        if time.monotonic() > end:
            sys.exit(f"{what}: not after {TIMEOUT} s; the last response is {response.status_code} {response.text}")
        time.sleep(0.1)
    return response.json()


def prepare():
    for sku in SKUS:
        price = {"amount": 450, "currency": "EUR"}
        checked(client.put(f"{INVENTORY}/v1/items/{sku}", json={"name": sku, "unit_price": price}))
    for sku, key in zip(ORDERED, KEYS):
        post(f"{INVENTORY}/v1/items/{sku}/adjustments", key, {"delta": 1_000_000, "reason": "delivery"})
    for sku in SKUS:
        wait_for(f"{sku} in the catalogue", f"{ORDERS}/v1/catalogue/{sku}", lambda entry: True)

    orders = []
    for sku, key in zip(ORDERED, KEYS):
        order = {"lines": [{"sku": sku, "quantity": 2}], "payment_method": "pm_card_visa"}
        orders.append(post(f"{ORDERS}/v1/orders", key, order)["id"])
    for order in orders:
        wait_for(f"order {order} confirmed", f"{ORDERS}/v1/orders/{order}", lambda view: view["status"] == "confirmed")

    return {"skus": SKUS, "keys": KEYS, "orders": orders}


def prepare_services(prepared):
    """Calls the world.py in the folder of each service that has one."""
    for path in sorted(Path(__file__).parent.glob("../../services/*/fuzz/world.py")):
        spec = importlib.util.spec_from_file_location(path.parts[-3], path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        prepared |= module.prepare(sys.modules[__name__], prepared)
    return prepared


for name, values in prepare_services(prepare()).items():
    Path(sys.argv[1], f"{name}.dict").write_text("".join(f'"{value}"\n' for value in values))
