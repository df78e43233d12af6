"""Calls the provider with Stripe's unchanged Python library. Prints a line for each check that holds; otherwise raises.

IDEM_PROVIDER_URL is the address of the provider.
"""

import json
import os
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from unittest import mock

import stripe

URL = os.environ["IDEM_PROVIDER_URL"]
SECRET = "whsec_official_python"
CARD = {"currency": "eur", "payment_method": "pm_card_visa", "payment_method_types": ["card"], "confirm": True}


def client(key="sk_test_official", retries=0):
    """A client that differs from the usual one in its address only."""
    made = stripe.StripeClient(key, base_addresses={"api": URL}, max_network_retries=retries)
    return made.v1


api = client()


def holds(name):
    print(f"holds: {name}", flush=True)


def refused(kind, call):
    """Returns the exception of the call, which must have this type."""
    try:
        call()
    except kind as error:
        assert type(error) is kind, f"{type(error)} and not {kind}"
        return error
    raise AssertionError(f"no {kind.__name__}")


def ask(method, path, body=None):
    """Calls a route that Stripe does not have: /_faults or /_webhooks."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, data=data, method=method)) as answer:
        return json.load(answer)


def charge():
    intent = api.payment_intents.create({**CARD, "amount": 1999, "metadata": {"reference": "python"}})
    assert (intent.status, intent.amount_received, intent.metadata["reference"]) == ("succeeded", 1999, "python")
    assert api.payment_intents.retrieve(intent.id).latest_charge == intent.latest_charge
    assert intent.last_response.headers["request-id"].startswith("req_")
    holds("charge")


def steps():
    intent = api.payment_intents.create({**CARD, "amount": 500, "capture_method": "manual"})
    assert (intent.status, intent.amount_capturable) == ("requires_capture", 500)
    intent = api.payment_intents.capture(intent.id, {"amount_to_capture": 300})
    assert (intent.status, intent.amount_received) == ("succeeded", 300)
    intent = api.payment_intents.create({**CARD, "amount": 500, "capture_method": "manual"})
    intent = api.payment_intents.cancel(intent.id, {"cancellation_reason": "abandoned"})
    assert (intent.status, intent.cancellation_reason) == ("canceled", "abandoned")
    holds("steps")


def balance():
    intent = api.payment_intents.create({**CARD, "amount": 10000, "expand": ["latest_charge.balance_transaction"]})
    movement = intent.latest_charge.balance_transaction
    assert isinstance(movement, stripe.BalanceTransaction)
    assert (movement.amount, movement.fee, movement.net) == (10000, 320, 9680)
    assert intent.latest_charge.paid
    holds("balance")


def refunds():
    intent = api.payment_intents.create({**CARD, "amount": 1000})
    first = api.refunds.create({"payment_intent": intent.id, "amount": 300, "reason": "requested_by_customer"})
    second = api.refunds.create({"payment_intent": intent.id})
    assert (first.status, first.amount, second.amount) == ("succeeded", 300, 700)
    assert api.refunds.retrieve(first.id).payment_intent == intent.id
    listed = api.refunds.list({"payment_intent": intent.id})
    assert [refund.id for refund in listed.data] == [second.id, first.id]
    again = refused(stripe.InvalidRequestError, lambda: api.refunds.create({"payment_intent": intent.id}))
    assert again.code == "charge_already_refunded"
    holds("refunds")


def paging():
    since = api.payment_intents.create({**CARD, "amount": 50}).created
    made = [api.payment_intents.create({**CARD, "amount": 100 + n}).id for n in range(7)]
    pages = api.payment_intents.list({"limit": 3, "created": {"gte": since}})
    seen = [intent.id for intent in pages.auto_paging_iter()]
    assert len(seen) == len(set(seen)), "an object came twice"
    assert [intent for intent in seen if intent in made] == made[::-1]
    holds("paging")


def declines():
    card = {**CARD, "amount": 100, "payment_method": "pm_card_chargeDeclinedInsufficientFunds"}
    error = refused(stripe.CardError, lambda: api.payment_intents.create(card))
    assert (error.http_status, error.code) == (402, "card_declined")
    assert error.error.decline_code == "insufficient_funds"
    intent = api.payment_intents.retrieve(error.error.payment_intent.id)
    assert intent.last_payment_error.decline_code == "insufficient_funds"
    card = {**card, "payment_method": "pm_card_authenticationRequired", "off_session": True}
    error = refused(stripe.CardError, lambda: api.payment_intents.create(card))
    assert error.code == "authentication_required"
    holds("declines")


def retries():
    options = {"idempotency_key": f"python-{time.time_ns()}"}
    first = api.payment_intents.create({**CARD, "amount": 100}, options)
    second = api.payment_intents.create({**CARD, "amount": 100}, options)
    assert first.id == second.id
    assert "idempotent-replayed" not in first.last_response.headers
    assert second.last_response.headers["idempotent-replayed"] == "true"
    error = refused(stripe.IdempotencyError, lambda: api.payment_intents.create({**CARD, "amount": 101}, options))
    assert error.http_status == 400
    holds("retries")


def refusals():
    error = refused(stripe.InvalidRequestError, lambda: api.payment_intents.create({**CARD, "amount": 50, "amuont": 1}))
    assert (error.code, error.param) == ("parameter_unknown", "amuont")
    error = refused(stripe.InvalidRequestError, lambda: api.payment_intents.retrieve("pi_nobody"))
    assert (error.http_status, error.code) == (404, "resource_missing")
    refused(stripe.AuthenticationError, lambda: client("sk_live_1").payment_intents.list())
    ask("POST", "/_faults", {"rules": [{"kinds": ["rate_limit"], "times": 1}]})
    refused(stripe.RateLimitError, lambda: api.payment_intents.list())
    holds("refusals")


def lost_answer():
    create = "POST /v1/payment_intents"
    ask("POST", "/_faults", {"rules": [{"kinds": ["drop_reply"], "times": 1, "route": create}]})
    reference = f"python-lost-{time.time_ns()}"
    intent = client(retries=2).payment_intents.create({**CARD, "amount": 77, "metadata": {"reference": reference}})
    assert intent.last_response.headers["idempotent-replayed"] == "true"
    assert ask("GET", "/_faults")["rules"][0]["bites"] == 1
    ask("DELETE", "/_faults")
    listed = api.payment_intents.list({"limit": 100}).data
    assert [intent.id] == [found.id for found in listed if found.metadata.to_dict().get("reference") == reference]
    holds("lost answer")


class Hook(BaseHTTPRequestHandler):
    heard = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.heard.append((body, self.headers["Stripe-Signature"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def webhook():
    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ask("POST", "/_webhooks", {"url": f"http://127.0.0.1:{server.server_port}/hook", "secret": SECRET})
    intent = api.payment_intents.create({**CARD, "amount": 4242})
    deadline = time.monotonic() + 30
    while not Hook.heard:
        assert time.monotonic() < deadline, "no webhook came"
        time.sleep(0.02)
    ask("DELETE", "/_webhooks")
    server.shutdown()
    body, signature = Hook.heard[0]
    event = stripe.Webhook.construct_event(body, signature, SECRET)
    assert (event.type, event.data.object.id) == ("payment_intent.succeeded", intent.id)
    assert api.events.retrieve(event.id).data.object.id == intent.id
    construct = stripe.Webhook.construct_event
    wrong = stripe.SignatureVerificationError
    refused(wrong, lambda: construct(body, signature, "whsec_another"))
    refused(wrong, lambda: construct(body.replace(b"4242", b"4243"), signature, SECRET))
    with mock.patch("time.time", return_value=time.time() + 301):
        refused(wrong, lambda: construct(body, signature, SECRET))
    holds("webhook")


for check in (charge, steps, balance, refunds, paging, declines, retries, refusals, lost_answer, webhook):
    check()
