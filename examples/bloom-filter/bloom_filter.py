"""Names that are taken: only for those that the filter may contain, a data base would be asked."""

import os

import libdlock

url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

with libdlock.connect(url) as client:
    taken = client.bloom_filter("example-names", expected=1_000, false_positive_rate=0.01)
    taken.clear()
    print(f"{taken.size} bits, {taken.hashes} of them for each name")
    print("new:", *(str(new).lower() for new in taken.add(["ada", "grace", "ada"])))
    print("taken:", *(str(found).lower() for found in taken.contains(["grace", "linus"])))
    print(f"about {taken.count()} names")

    other = client.bloom_filter("example-names", expected=2_000, false_positive_rate=0.01)
    try:
        other.contains(["ada"])
    except libdlock.WrongType:
        print("another size is refused")
