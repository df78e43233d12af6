"""Prepares the parcels of a run: tests/fuzz/world.py calls this after its own preparation."""


def prepare(world, prepared):
    """Returns the ids of this service. All parcels but the first are completed."""
    route = f"{world.address('parcels')}/v1/parcels"
    orders = prepared["orders"]
    page = world.wait_for("a parcel for each order", route, lambda page: len(page["data"]) == len(orders))
    ids = [row["id"] for row in page["data"]]
    for completed, key in zip(ids[1:], world.KEYS):
        world.post(f"{route}/{completed}/complete", key, {"note": "by Ada"})
    return {"parcels": ids}
