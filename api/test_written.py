"""Every file that repeats a fact of api/ says what api/ says."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
import unittest.mock

import records_c
import scalars
from options import Option
from parts import ROOT, Part, outdated
from records import BLOCKS, Field, Record
from words import duration
from write import complaint, parts


class Written(unittest.TestCase):
    maxDiff = None

    def test_every_file_is_what_the_generator_writes(self) -> None:
        self.assertEqual([complaint(path) for path in outdated(parts())], [])

    def test_nothing_claims_to_be_written_that_no_module_writes(self) -> None:
        written = {(part.path, part.name) for part in parts()}
        claims = re.findall(r"^(.*?):.*?<api:([a-z-]+)> written by", found(r"<api:[a-z-]*> written by"), re.MULTILINE)
        claims += [
            (path, "") for path in re.findall(r"^(.*?):1:", found(r"^//!* *Written by .python3 api/write.py"), re.MULTILINE)
        ]
        self.assertEqual([claim for claim in claims if claim not in written], [])
        self.assertGreater(len(claims), 50)


def found(pattern: str) -> str:
    """What git finds outside of api/, with the file and the line before it."""
    command = ["git", "grep", "--untracked", "-n", "-e", pattern, "--", ":!api"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


class Parts(unittest.TestCase):
    HAND = "first\n// <api:a> written\nold\n// </api:a>\nlast\n"

    def test_only_the_lines_between_the_markers_change(self) -> None:
        self.assertEqual(Part("f", "new\n", "a").apply(self.HAND), self.HAND.replace("old", "new"))

    def test_missing_or_repeated_markers_are_refused(self) -> None:
        for text in ("", self.HAND.replace("</api:a>", ""), self.HAND + self.HAND):
            with self.assertRaisesRegex(ValueError, "<api:a>"):
                Part("f", "new\n", "a").apply(text)


class Layout(unittest.TestCase):
    """What is written is as the formatter of its language leaves it, also when there is more of it than now."""

    def test_a_constructor_of_many_parameters_is_formatted(self) -> None:
        blocks = {f"kind_{at}": Record("LimiterStats", "what they count", []) for at in range(4)}
        fields = [Field("retries", "count", "requests"), *(Field(name, "LimiterStats", "counts") for name in blocks)]
        with unittest.mock.patch.dict(BLOCKS, blocks):
            written = records_c.constructor(Record("Stats", "what it counts", fields), "dlock_stats_t", "seen", "{}")
        struct = f"struct stats {{\n{written}}};\n"
        command = ["clang-format", "--assume-filename=include/dlock/stats.hpp"]
        formatted = subprocess.run(command, cwd=ROOT, input=struct, capture_output=True, text=True, check=True).stdout
        self.assertEqual(struct, formatted)
        self.assertGreater(len(written.splitlines()), 2)


class Scalars(unittest.TestCase):
    """Outcomes of one value are written into every binding."""

    def test_a_number_has_a_way_through_every_binding(self) -> None:
        number = scalars.Scalar("number", "number", "number", "a number")
        self.assertIn("Number(i64),", number.bridge())
        self.assertIn("self.number = answer;", number.ffi())
        self.assertIn("Outcome::Number(answer) => (Tag::Number, answer as f64, 0.0),", number.node_rust())
        self.assertIn("case Tag.Number:\n      return first;", number.node_script())
        self.assertIn("self.byte(NUMBER);\n                self.int64(*answer);", number.java_rust())
        self.assertIn("case NUMBER -> bytes.getLong();", number.java())

    def test_one_without_tags_is_refused(self) -> None:
        with self.assertRaisesRegex(AssertionError, "no tag"):
            scalars.Scalar("ratio", "number", "ratio", "a number without a tag")


class Facts(unittest.TestCase):
    def test_an_option_with_a_default_out_of_range_is_refused(self) -> None:
        with self.assertRaisesRegex(AssertionError, "out of range"):
            Option("x", "integer", 3, "what", min=4, max=5)

    def test_an_unknown_field_is_refused(self) -> None:
        with self.assertRaises(TypeError):
            Option("x", "boolean", True, "what", minimum=1)  # type: ignore[call-arg]

    def test_durations_have_the_largest_unit_that_is_exact(self) -> None:
        shown = [duration(millis) for millis in (0, 1, 1_500, 5_000, 3_600_000, 86_400_000, 31_622_400_000)]
        self.assertEqual(shown, ["0", "1 ms", "1500 ms", "5 s", "1 h", "24 h", "366 days"])


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    bad = len({getattr(test, "test_case", test).id() for test, _ in done.failures + done.errors})
    print(f"{done.testsRun - bad} passed, {bad} failed", flush=True)
    sys.exit(bad > 0)
