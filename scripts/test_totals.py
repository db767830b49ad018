"""The totals are what everybody trusts, so they have tests of their own (`python3 -m unittest`, no packages needed)."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from testing import main
from totals import Counts, duration, names_failure, read

TOTALS = str(Path(__file__).with_name("totals.py"))


class ClosingLines(unittest.TestCase):
    def test_each_runners_line_is_read(self) -> None:
        for line, counts in {
            "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.01s": Counts(
                12, 0, 3
            ),
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out": Counts(1, 2, 0),
            "===== 4 passed, 1 skipped, 2 warnings in 0.12s =====": Counts(4, 0, 1),
            "\x1b[32m==== \x1b[1m9 passed\x1b[0m in 61.20s (0:01:01) ====\x1b[0m": Counts(9, 0, 0),
            "=== 1 failed, 2 passed, 3 errors in 1.00s ===": Counts(2, 4, 0),
            "=== 2 passed, 5 deselected, 1 xfailed in 1.00s ===": Counts(3, 0, 0),
            "7 passed, 0 failed": Counts(7, 0, 0),
            "c: 7 passed, 1 failed, 2 skipped": Counts(7, 1, 2),
            "Tests run: 9, Failures: 1, Errors: 2, Skipped: 3": Counts(3, 3, 3),
            "[\x1b[1;34mINFO\x1b[m] \x1b[1mTests run: 4, Failures: 0, Errors: 0, Skipped: 0\x1b[m": Counts(4, 0, 0),
            "# pass 12": Counts(12, 0, 0),
            "# cancelled 1": Counts(0, 1, 0),
            "\x1b[34m\N{INFORMATION SOURCE} fail 2\x1b[39m": Counts(0, 2, 0),
            "\N{INFORMATION SOURCE} skipped 3": Counts(0, 0, 3),
        }.items():
            with self.subTest(line):
                self.assertEqual(read(line), counts)

    def test_other_lines_are_not(self) -> None:
        for line in (
            "running 12 tests",
            "test a::b ... ok",
            "    rust   3 passed, 0 failed, 0 skipped and more",
            "1 passed",
            "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.5 s -- in org.libdlock.LockTest",
            "# tests 12",
            "# Subtest: fail 2",
        ):
            with self.subTest(line):
                self.assertIsNone(read(line))


class Durations(unittest.TestCase):
    def test_each_runners_line_is_read(self) -> None:
        for line, expected in {
            "12.34s call     tests/test_lock.py::test_it[memory]": ("tests/test_lock.py::test_it[memory]", 12.34),
            "test lock::tests::it ... ok <1.204s>": ("lock::tests::it", 1.204),
            "\x1b[32m\N{HEAVY CHECK MARK} a lock \x1b[90m(3200.5ms)\x1b[39m\x1b[39m": ("a lock", 3.2005),
            "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.5 s -- in org.libdlock.LockTest": (
                "org.libdlock.LockTest",
                0.5,
            ),
            "# queue under valgrind: 7.1 s": ("queue under valgrind", 7.1),
        }.items():
            with self.subTest(line):
                self.assertEqual(duration(line), expected)

    def test_other_lines_are_not(self) -> None:
        for line in ("test a::b ... ok", "# tests 12", "took 3 s", "\N{HEAVY CHECK MARK} a lock"):
            with self.subTest(line):
                self.assertIsNone(duration(line))


class Failures(unittest.TestCase):
    def test_each_runners_line_that_names_one_is_seen(self) -> None:
        for line in (
            "FAILED tests/test_lock.py::test_it[memory] - AssertionError: 3 != 4",
            "ERROR tests/test_lock.py::test_it - the fixture failed",
            "---- a_client_that_is_killed stdout ----",
            "\x1b[31m\N{HEAVY MULTIPLICATION X} a lock (3.2ms)\x1b[39m",
            "not ok 3 - a lock",
            "[\x1b[1;31mERROR\x1b[m] org.libdlock.LockTest.it -- Time elapsed: 0.1 s <<< FAILURE!",
            "FAILED  rustfmt: cargo fmt --all --check",
            "run 7 FAILED:",
            "| FAILED tests/interop/test_order.py::test_order - assert 3 < 2",
        ):
            with self.subTest(line):
                self.assertIsNotNone(names_failure(line))

    def test_other_lines_are_not(self) -> None:
        for line in (
            "ok 3 - a lock",
            "failures:",
            "[ERROR] Failures:",
            "run 7: 45 passed",
            "thread 'x' panicked at a.rs:1:1:",
        ):
            with self.subTest(line):
                self.assertIsNone(names_failure(line))


#: What fails here on purpose has no place in the report of the run that these tests are part of, which may be a brief one.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("TOTALS_")}


class Runs(unittest.TestCase):
    def totals(self, *groups: str) -> tuple[int, str]:
        command = [sys.executable, TOTALS, *groups]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        return done.returncode, done.stdout.splitlines()[-1]

    def test_groups_are_summed(self) -> None:
        groups = ("a=echo 2 passed, 0 failed", "b=echo '=== 3 passed, 1 skipped in 0.1s ==='")
        self.assertEqual(self.totals(*groups), (0, "5 passed, 0 failed, 1 skipped"))

    def test_a_failure_is_carried_and_the_others_still_run(self) -> None:
        groups = ("a=echo 2 passed, 1 failed; exit 1", "b=echo 4 passed, 0 failed")
        self.assertEqual(self.totals(*groups), (1, "6 passed, 1 failed, 0 skipped"))

    def test_a_runner_that_says_failed_and_exits_with_0_has_failed(self) -> None:
        self.assertEqual(self.totals("a=echo 2 passed, 1 failed"), (1, "2 passed, 1 failed, 0 skipped"))

    def test_the_lines_of_one_runner_are_added(self) -> None:
        node = "a=printf '# tests 5\\n# pass 3\\n# fail 0\\n# cancelled 0\\n# skipped 1\\n# todo 1\\n'"
        self.assertEqual(self.totals(node), (0, "3 passed, 0 failed, 2 skipped"))

    def test_a_crash_after_good_news_is_a_failure(self) -> None:
        self.assertEqual(self.totals("a=echo 2 passed, 0 failed; exit 3"), (1, "2 passed, 1 failed, 0 skipped"))

    def test_what_failed_is_named_again_at_the_end_and_in_the_report(self) -> None:
        groups = (
            "a=echo not ok 2 - it; seq 1000; echo 2 passed, 1 failed",
            "b=echo 1 passed, 0 failed; exit 4",
            "c=echo 1 passed, 0 failed",
        )
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report")
            environment = ENVIRONMENT | {"TOTALS_REPORT": str(report)}
            command = [sys.executable, TOTALS, *groups]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            named = ["a: not ok 2 - it", "b: exited with 4"]
            self.assertEqual(report.read_text().splitlines(), named)
        self.assertEqual([line.strip() for line in done.stdout.splitlines()[-3:-1]], named)

    def test_a_brief_run_shows_what_tells_of_failures(self) -> None:
        groups = (
            "good=seq 7000 7009; echo 1 passed, 0 failed",
            "bad=seq 300; echo not ok 2 - it; seq 1000 1999; echo 0 passed, 1 failed",
        )
        environment = ENVIRONMENT | {"TOTALS_BRIEF": "1"}
        command = [sys.executable, TOTALS, *groups]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        shown = done.stdout.splitlines()
        for line in ("not ok 2 - it", "1000", "1038", "[...]", "1999", "=== good: 1 passed, 0 failed, 0 skipped (0 s)"):
            self.assertIn(line, shown)
        for line in ("7003", "150", "1039"):
            self.assertNotIn(line, shown)

    def test_lanes_run_beside_one_another_and_are_summed(self) -> None:
        # Each group waits until the other one runs too.
        with tempfile.TemporaryDirectory() as folder:

            def meets(mine: str, other: str) -> str:
                waits = (
                    f"for _ in $(seq 1000); do [ -e {folder}/{other} ] && break; sleep 0.01; done; [ -e {folder}/{other} ]"
                )
                return f"{mine}=touch {folder}/{mine}; {waits} && echo 1 passed, 0 failed"

            self.assertEqual(self.totals(meets("a", "b"), "/", meets("b", "a")), (0, "2 passed, 0 failed, 0 skipped"))

    def test_the_output_of_lanes_is_not_mixed(self) -> None:
        def counts(name: str) -> str:
            return f"{name}=for i in 1 2 3; do echo {name}$i; sleep 0.05; done; echo 1 passed, 0 failed"

        command = [sys.executable, TOTALS, counts("a"), "/", counts("b")]
        shown = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT).stdout
        for name in "ab":
            self.assertIn(f"{name}1\n{name}2\n{name}3\n1 passed, 0 failed\n=== {name}", shown)

    def test_a_failure_in_one_lane_fails_the_run(self) -> None:
        self.assertEqual(self.totals("a=echo 1 passed, 0 failed", "/", "b=exit 3"), (1, "1 passed, 1 failed, 0 skipped"))

    def again(self, folder: str, few: int, later: str) -> tuple[int, list[str], list[str]]:
        """Totals of a group that fails one test first, and does `later` when it is repeated; its lines, the report's."""
        report = Path(folder, "report")
        first = f"[ -e {folder}/ran ] || {{ touch {folder}/ran; echo not ok 2 - it; echo 3 passed, 1 failed; exit 1; }}"
        command = [sys.executable, TOTALS, f"a={first}; {later}", "b=echo 1 passed, 0 failed"]
        environment = ENVIRONMENT | {"TOTALS_REPORT": str(report), "TOTALS_AGAIN": str(few)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout.splitlines(), report.read_text().splitlines()

    def test_a_group_that_passes_when_repeated_is_named_as_unsteady(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            status, shown, report = self.again(folder, 1, "echo 4 passed, 0 failed")
        self.assertEqual((status, shown[-1]), (0, "5 passed, 0 failed, 0 skipped"))
        self.assertEqual(report, ["a: unsteady, passed when repeated: not ok 2 - it"])
        self.assertIn("what was unsteady:", shown)
        self.assertIn("3 passed, 1 failed", shown)

    def test_only_what_failed_runs_again_where_it_can_be_named(self) -> None:
        for failure, test in {
            "FAILED tests/test_a.py::test_b[c d] - AssertionError: 1 - 2": "tests/test_a.py::test_b[c d]",
            "---- lock::tests::it stdout ----": "lock::tests::it",
        }.items():
            with self.subTest(failure), tempfile.TemporaryDirectory() as folder:
                script, ran = Path(folder, "runner"), Path(folder, "ran")
                script.write_text(
                    f'[ $# -gt 0 ] || {{ echo "{failure}"; echo 7 passed, 1 failed; exit 1; }}\n'
                    f'printf "%s\\n" "$@" > {ran}; echo 1 passed, 0 failed\n'
                )
                command = [sys.executable, TOTALS, f"a=bash {script} {{only}}"]
                environment = ENVIRONMENT | {"TOTALS_AGAIN": "1"}
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
                self.assertEqual((done.returncode, ran.read_text()), (0, f"{test}\n"))
                self.assertEqual(done.stdout.splitlines()[-1], "8 passed, 0 failed, 0 skipped")
                self.assertIn(f"    a: unsteady, passed when repeated: {failure}", done.stdout.splitlines())

    def test_all_of_a_group_runs_again_when_a_failure_has_no_name(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script, ran = Path(folder, "runner"), Path(folder, "ran")
            script.write_text(f'echo "run: $*" >> {ran}; echo "FAILED a.py::b - c"; echo 7 passed, 2 failed; exit 1\n')
            command = [sys.executable, TOTALS, f"a=bash {script} {{only}}"]
            done = subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT | {"TOTALS_AGAIN": "3"})
            self.assertEqual((done.returncode, ran.read_text()), (1, "run: \nrun: \n"))

    def test_a_group_that_fails_again_has_failed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            status, shown, report = self.again(folder, 1, "echo not ok 3 - that; echo 3 passed, 1 failed")
        self.assertEqual((status, shown[-1]), (1, "4 passed, 1 failed, 0 skipped"))
        self.assertEqual(report, ["a: not ok 3 - that"])

    def test_nothing_is_repeated_that_was_not_asked_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            status, shown, report = self.again(folder, 0, "echo 4 passed, 0 failed")
        self.assertEqual((status, shown[-1]), (1, "4 passed, 1 failed, 0 skipped"))
        self.assertEqual(report, ["a: not ok 2 - it"])

    def test_a_group_with_many_failures_is_not_repeated(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            ran = f"a=echo x >> {folder}/runs; echo 1 passed, 4 failed"
            command = [sys.executable, TOTALS, ran]
            done = subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT | {"TOTALS_AGAIN": "3"})
            self.assertEqual((done.returncode, Path(folder, "runs").read_text()), (1, "x\n"))

    def test_what_is_built_first_is_no_group_of_tests(self) -> None:
        self.assertEqual(self.totals("--first", "true", "a=echo 1 passed, 0 failed"), (0, "1 passed, 0 failed, 0 skipped"))

    def test_nothing_runs_when_what_is_built_first_fails(self) -> None:
        self.assertEqual(self.totals("--first", "exit 3", "a=echo 1 passed, 0 failed"), (1, "0 passed, 1 failed, 0 skipped"))

    def test_processor_time_of_building_and_of_testing_is_told_apart(self) -> None:
        burn = f"{sys.executable} -c 'import time; any(time.process_time() > 0.9 for _ in iter(int, 1))'"
        command = [sys.executable, TOTALS, f"a={burn}; echo --- built; {burn}; {burn}; echo 1 passed, 0 failed"]
        shown = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT).stdout
        (row,) = re.findall(r"^ +a +\d+ s +(\d+) s +(\d+) s +1 passed", shown, re.MULTILINE)
        self.assertEqual(row, ("1", "2"))

    def test_the_longest_tests_are_named_longest_first(self) -> None:
        lines = [f"# test {number}: {number}.5 s" for number in range(12)]
        script = "; ".join(f"echo '{line}'" for line in lines)
        command = [sys.executable, TOTALS, f"a={script}; echo 1 passed, 0 failed"]
        shown = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT).stdout
        named = re.findall(r"^ +([\d.]+) s   a: (test \d+)$", shown, re.MULTILINE)
        self.assertEqual(named, [(f"{number}.5", f"test {number}") for number in range(11, 1, -1)])

    def test_a_group_without_tests_has_failed(self) -> None:
        self.assertEqual(self.totals("a=true"), (1, "0 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    main()
