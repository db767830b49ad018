"""How a worker talks with the driver: `ready`, a line that starts it, a line of JSON, the end of its input."""

from __future__ import annotations

import json
import sys


def ready() -> None:
    """Says that all is warm, and returns when the driver says go."""
    print("ready", flush=True)
    sys.stdin.readline()


def answer(result: dict[str, object]) -> None:
    """Gives the result, and returns when the driver has read what it wants to know of this process."""
    print(json.dumps(result), flush=True)
    sys.stdin.read()
