"""How a script of tests ends: with the line that totals.py reads."""

from __future__ import annotations

import sys
import unittest


def main() -> None:
    """Runs the tests of the script."""
    done = unittest.main(exit=False).result
    # A test may fail in several of its subtests, and a class in its set-up.
    bad = len({getattr(test, "test_case", test).id() for test, _ in done.failures + done.errors})
    print(f"{max(done.testsRun - bad, 0)} passed, {bad} failed", flush=True)
    sys.exit(bad > 0)
