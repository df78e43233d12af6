"""Prepares the parcels of a run: tests/fuzz/world.py calls this after its own preparation."""


def prepare(world, prepared):
    """Returns the ids of this service. All parcels but the first are completed."""
    parcels = f"{world.address('parcels')}/v1/parcels"
    orders = prepared["orders"]
    page = world.wait_for("a parcel for each order", parcels, lambda page: len(page["data"]) == len(orders))
    ids = [parcel["id"] for parcel in page["data"]]
    for parcel, key in zip(ids[1:], world.KEYS):
        world.post(f"{parcels}/{parcel}/complete", key, {"note": "by Ada"})
    return {"parcels": ids}
