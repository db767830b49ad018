"""For mypy and pyright alone: what the blocks of `with` and `async with` give, as pyright and Pylance see it."""

from __future__ import annotations

from typing_extensions import assert_type

import libdlock
from libdlock import aio


def threads(client: libdlock.Client) -> None:
    """Each kind that has a `with`."""
    with client.lock("x") as held:
        assert_type(held, libdlock.Held)
    with client.lock("x").take() as owned:
        assert_type(owned, libdlock.OwnedHold)
    with client.semaphore("x", 1) as permit:
        assert_type(permit, libdlock.Held)
    with client.semaphore("x", 1).take() as permits:
        assert_type(permits, libdlock.OwnedHold)
    with client.lock_all(["x"]) as held_all:
        assert_type(held_all, libdlock.HeldAll)
    with client.lock_all(["x"]).take() as owned_all:
        assert_type(owned_all, libdlock.OwnedHoldAll)
    with client.rw_lock("x").write as writes:
        assert_type(writes, libdlock.RwHeld)
    with client.rw_lock("x").read.take() as reads:
        assert_type(reads, libdlock.OwnedRwHold)
    with client.worker("x") as worker:
        assert_type(worker, libdlock.Worker)
    with client.queue("x").take() as delivery:
        assert_type(delivery, libdlock.Delivery)
    with client.queue("x").consume(print) as consumer:
        assert_type(consumer, libdlock.Consumer)
    with client as same:
        assert_type(same, libdlock.Client)


async def ack(delivery: aio.Delivery) -> None:
    """A handler."""
    await delivery.ack()


async def tasks(client: aio.Client) -> None:
    """Each kind that has an `async with`."""
    async with client.lock("x") as held:
        assert_type(held, aio.Held)
    async with await client.lock("x").take() as owned:
        assert_type(owned, aio.OwnedHold)
    async with client.semaphore("x", 1) as permit:
        assert_type(permit, aio.Held)
    async with await client.semaphore("x", 1).take() as permits:
        assert_type(permits, aio.OwnedHold)
    async with client.lock_all(["x"]) as held_all:
        assert_type(held_all, aio.HeldAll)
    async with await client.lock_all(["x"]).take() as owned_all:
        assert_type(owned_all, aio.OwnedHoldAll)
    async with client.rw_lock("x").write as writes:
        assert_type(writes, aio.RwHeld)
    async with await client.rw_lock("x").read.take() as reads:
        assert_type(reads, aio.OwnedRwHold)
    async with await client.worker("x") as worker:
        assert_type(worker, aio.Worker)
    async with await client.queue("x").take() as delivery:
        assert_type(delivery, aio.Delivery)
    async with client.queue("x").consume(ack) as consumer:
        assert_type(consumer, aio.Consumer)
    async with client as same:
        assert_type(same, aio.Client)
    async with aio.connect("memory://") as connected:
        assert_type(connected, aio.Client)
