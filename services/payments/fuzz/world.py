"""Prepares payments without an order and their refunds: tests/fuzz/world.py calls this after its own preparation."""


def prepare(world, prepared):
    """Returns the ids of this service."""
    url = world.address("payments")
    payments, refunds, operations = [], [], []
    for key in world.KEYS:
        charge = {"amount": {"amount": 1_000_000, "currency": "EUR"}, "payment_method": "pm_card_visa"}
        payments.append(world.post(f"{url}/v1/payments", key, charge)["id"])
        refund = {"amount": {"amount": 1, "currency": "EUR"}, "reason": "broken"}
        refunds.append(world.post(f"{url}/v1/payments/{payments[-1]}/refunds", key, refund)["id"])
        records = world.checked(world.client.get(f"{url}/v1/idempotency-keys/{key}"))["data"]
        operations.extend(record["operation_id"] for record in records)
    return {"payments": payments, "refunds": refunds, "operations": operations}
