"""Drives the services by clients that openapi-python-client generated. tests/scenario.rs starts the services and reads the output."""

import os
import time
from http import HTTPStatus
from typing import Any
from uuid import UUID, uuid4

import inventory
import orders
import payments
from inventory.api.items import adjust_stock, put_item
from inventory.models import Adjustment, AdjustStock, Item, PreconditionFailedProblem, PutItem
from orders.api.orders import cancel_order, get_order, list_orders, place_order
from orders.models import (
    CancelOrder,
    ForbiddenProblem,
    IdempotencyKeyReusedProblem,
    NotFoundProblem,
    Order,
    OrderLine,
    OrderList,
    OrderStatus,
    PlaceOrder,
    PriceChangedProblem,
    UnauthenticatedProblem,
)
from payments.api.operations import get_operation
from payments.api.payments import create_payment
from payments.api.refunds import create_refund
from payments.models import AcceptedOperation, CreatePayment, CreateRefund, Operation, OperationStatus, Payment, Refund
from retries import Retries

VISA = "pm_card_visa"
SLOW = "pm_card_idem_slow"  # charged after three seconds
TIMEOUT = 60.0  # seconds


def orders_at(url: str, token: str) -> orders.AuthenticatedClient:
    return orders.AuthenticatedClient(base_url=url, token=token, httpx_args={"transport": Retries()})


ORDERS = orders_at(os.environ["IDEM_ORDERS"], os.environ["IDEM_TOKEN"])
PAYMENTS = payments.AuthenticatedClient(
    base_url=os.environ["IDEM_PAYMENTS"], token=os.environ["IDEM_TOKEN"], httpx_args={"transport": Retries()}
)
INVENTORY = inventory.AuthenticatedClient(
    base_url=os.environ["IDEM_INVENTORY"], token=os.environ["IDEM_TOKEN"], httpx_args={"transport": Retries()}
)


def key() -> str:
    return str(uuid4())


def tea(pieces: int, card: str = VISA) -> PlaceOrder:
    return PlaceOrder(lines=[OrderLine(sku="TEA", quantity=pieces)], payment_method=card)


def euros(amount: int) -> payments.models.Money:
    return payments.models.Money(amount=amount, currency=payments.models.Currency.EUR)


def item() -> None:
    price = inventory.models.Money(amount=450, currency=inventory.models.Currency.EUR)
    put = put_item.sync_detailed("TEA", client=INVENTORY, body=PutItem(name="Sencha", unit_price=price))
    assert put.status_code == HTTPStatus.CREATED and isinstance(put.parsed, Item), put
    delivery = AdjustStock(delta=100, reason="delivery")
    stock = adjust_stock.sync("TEA", client=INVENTORY, body=delivery, idempotency_key=key())
    assert isinstance(stock, Adjustment) and stock.on_hand == 100, stock
    dearer = PutItem(name="Sencha", unit_price=inventory.models.Money(amount=500, currency=price.currency))
    refused = put_item.sync("TEA", client=INVENTORY, body=dearer, if_match='"9"')
    assert isinstance(refused, PreconditionFailedProblem) and refused.code == "precondition-failed", refused


def placed(body: PlaceOrder, client: orders.AuthenticatedClient = ORDERS) -> Order:
    # Orders learns of a new item within moments, and asks for a retry before.
    order = place_order.sync(client=client, body=body, idempotency_key=key())
    assert isinstance(order, Order), order
    return order


def lost_response() -> Order:
    placed(tea(1))
    lossy = orders_at(os.environ["IDEM_ORDERS_LOSSY"], os.environ["IDEM_TOKEN"])
    sent = place_order.sync_detailed(client=lossy, body=tea(2), idempotency_key=key())
    assert sent.status_code == HTTPStatus.CREATED and isinstance(sent.parsed, Order), sent
    assert sent.headers["Idempotent-Replayed"] == "true", sent.headers
    return sent.parsed


def confirmed(order: Order) -> None:
    until = time.monotonic() + TIMEOUT
    seen: Any = order
    while isinstance(seen, Order) and seen.status in (OrderStatus.PENDING, OrderStatus.AWAITING_PAYMENT):
        assert time.monotonic() < until, seen
        time.sleep(0.1)
        seen = get_order.sync(order.id, client=ORDERS)
    assert isinstance(seen, Order) and seen.status == OrderStatus.CONFIRMED, seen


def pages() -> None:
    ids: list[UUID] = []
    page = list_orders.sync(client=ORDERS, limit=1)
    while isinstance(page, OrderList):
        ids += [order.id for order in page.data]
        if page.next_cursor is None:
            break
        page = list_orders.sync(client=ORDERS, limit=1, cursor=page.next_cursor)
    assert isinstance(page, OrderList) and len(ids) == len(set(ids)) == 2, ids


def problems() -> None:
    one = key()
    assert isinstance(place_order.sync(client=ORDERS, body=tea(1), idempotency_key=one), Order)
    reused = place_order.sync(client=ORDERS, body=tea(2), idempotency_key=one)
    assert isinstance(reused, IdempotencyKeyReusedProblem) and not reused.retryable, reused
    stranger = orders_at(os.environ["IDEM_ORDERS"], "nobody")
    anonymous = place_order.sync(client=stranger, body=tea(1), idempotency_key=key())
    assert isinstance(anonymous, UnauthenticatedProblem), anonymous
    reader = orders_at(os.environ["IDEM_ORDERS"], os.environ["IDEM_READER_TOKEN"])
    forbidden = place_order.sync(client=reader, body=tea(1), idempotency_key=key())
    assert isinstance(forbidden, ForbiddenProblem), forbidden
    missing = get_order.sync(uuid4(), client=ORDERS)
    assert isinstance(missing, NotFoundProblem), missing
    none = PlaceOrder(lines=[], payment_method=VISA)
    invalid = place_order.sync(client=ORDERS, body=none, idempotency_key=key())
    assert isinstance(invalid, orders.models.RequestInvalidProblem) and invalid.errors, invalid
    assert invalid.errors[0].pointer == "/lines", invalid
    cheaper = tea(1)
    cheaper.expected_total = orders.models.Money(amount=1, currency=orders.models.Currency.EUR)
    refused = place_order.sync(client=ORDERS, body=cheaper, idempotency_key=key())
    assert isinstance(refused, PriceChangedProblem), refused
    card = CreatePayment(amount=euros(100), payment_method="pm_card_visa_chargeDeclined")
    declined = create_payment.sync(client=PAYMENTS, body=card, idempotency_key=key())
    assert isinstance(declined, payments.models.CardDeclinedProblem), declined


def cancelled() -> None:
    order = placed(tea(1, SLOW))
    cancel = CancelOrder(reason="changed my mind")
    after = cancel_order.sync(order.id, client=ORDERS, body=cancel, idempotency_key=key())
    assert isinstance(after, Order) and after.status == OrderStatus.CANCELLED, after


def charged() -> Payment:
    charge = CreatePayment(amount=euros(1250), payment_method=VISA, reference="invoice 17")
    sent = create_payment.sync_detailed(client=PAYMENTS, body=charge, idempotency_key=key())
    assert sent.status_code == HTTPStatus.CREATED and isinstance(sent.parsed, Payment), sent
    return sent.parsed


def followed() -> None:
    charge = CreatePayment(amount=euros(700), payment_method=SLOW)
    sent = create_payment.sync_detailed(client=PAYMENTS, body=charge, idempotency_key=key())
    assert sent.status_code == HTTPStatus.ACCEPTED and isinstance(sent.parsed, AcceptedOperation), sent
    until = time.monotonic() + TIMEOUT
    operation: Any = None
    while operation is None or operation.status in (OperationStatus.RUNNING, OperationStatus.UNKNOWN):
        assert time.monotonic() < until, operation
        time.sleep(0.2)
        operation = get_operation.sync(sent.parsed.operation_id, client=PAYMENTS)
        assert isinstance(operation, Operation), operation
    assert operation.reply is not None and operation.reply.status == HTTPStatus.CREATED, operation


def refunded(payment: Payment) -> None:
    part = CreateRefund(reason="broken", amount=euros(250))
    refund = create_refund.sync(payment.id, client=PAYMENTS, body=part, idempotency_key=key())
    assert isinstance(refund, Refund) and refund.amount.amount == 250, refund


def main() -> None:
    item()
    print("holds: item")
    order = lost_response()
    print("holds: lost response")
    confirmed(order)
    print("holds: confirmed")
    pages()
    print("holds: pages")
    problems()
    print("holds: problems")
    cancelled()
    print("holds: cancelled")
    payment = charged()
    print("holds: charged")
    followed()
    print("holds: followed")
    refunded(payment)
    print("holds: refunded")


main()
