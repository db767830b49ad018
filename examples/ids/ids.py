"""Ids that grow with time, without a server. The pair of numbers has to belong to this process alone."""

from itertools import pairwise

import libdlock

ids = libdlock.Snowflake(datacenter=1, worker=7)
many = ids.next_ids(1000)
if all(id < following for id, following in pairwise(many)):
    print(len(many), "ids, each larger than the one before")

parts = ids.decode(many[0])
print(f"made by worker {parts.worker} of datacenter {parts.datacenter}")

if ids.parse(ids.encode(many[0], 62), 62) == many[0]:
    print("the text in base 62 stands for the same id")
