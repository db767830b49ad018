"""Ids of orders and their lines, from two clients that take a block each."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as shop, libdlock.connect(url) as other:
    ids = shop.id_generator("example-orders", block=100)
    print(f"order {ids.next_id()}")
    first, second, third = ids.next_ids(3)
    print(f"lines {first}, {second} and {third}")

    others = other.id_generator("example-orders")
    print(f"another process has {others.next_id()}")
    print(f"blocks of {others.block_size}")
