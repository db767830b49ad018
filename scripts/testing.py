"""How a script of tests ends: with the line that totals.py reads."""

from __future__ import annotations

import sys
import time
import unittest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Result = unittest.TextTestResult[Any]  # generic for type checkers only
else:
    Result = unittest.TextTestResult


class Timed(Result):
    """Says how long each test took, where that is worth a line."""

    _begun = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        self._begun = time.monotonic()
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        seconds = time.monotonic() - self._begun
        if seconds > 1:
            print(f"# {test.id().removeprefix('__main__.')}: {seconds:.1f} s", flush=True)
        super().stopTest(test)


def main() -> None:
    """Runs the tests of the script."""
    done = unittest.main(exit=False, testRunner=unittest.TextTestRunner(resultclass=Timed)).result
    # A test may fail in several of its subtests, and a class in its set-up.
    bad = len({getattr(test, "test_case", test).id() for test, _ in done.failures + done.errors})
    skipped = len(done.skipped)
    print(f"{max(done.testsRun - bad - skipped, 0)} passed, {bad} failed, {skipped} skipped", flush=True)
    sys.exit(bad > 0)
