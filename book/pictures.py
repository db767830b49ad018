#!/usr/bin/env python3
"""Writes the pictures of docs/pictures that are drawn from what is here: the maps of keys, and the life of a lock.

    pictures.py            writes them
    pictures.py --check    names those that are not up to date; 1 if there are any

The charts of the benchmarks are drawn by bench/charts.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import keys
import sequence

PICTURES = Path(__file__).resolve().parent.parent / "docs/pictures"


def pictures() -> dict[str, str]:
    """Each file with its text."""
    maps = {f"keys-{name}.svg": keys.draw(name) for name in keys.names()}
    return {"contended-lock.svg": sequence.draw(), **maps}


def main() -> int:
    """Writes or checks."""
    check = "--check" in sys.argv[1:]
    old = [name for name, text in pictures().items() if not same(PICTURES / name, text)]
    for name in old:
        if check:
            print(f"docs/pictures/{name} is not what its data says: run `python3 book/pictures.py` and commit the result")
        else:
            (PICTURES / name).write_text(pictures()[name])
            print(f"wrote docs/pictures/{name}")
    return int(check and len(old) > 0)


def same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
