"""The verdict over the demo's queues is seen to fail, for each thing that it looks at (no packages needed)."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from jobs.verdict import JobsVerdict, Left, Told, judge_jobs

FOLLOWING = {"A": "B", "B": "A"}
#: Of the two jobs of A one was done by a helper that was killed.
DONE = {"A-0": "B", "A-1": "B (killed)", "B-0": "A", "B-1": "A"}
TOLD = {"A": Told(2, 0, 0), "B": Told(1, 1, 1)}
LEFT = {"A": Left(0, 0), "B": Left(0, 0)}


def judged(
    done: dict[str, str] | None = None, told: dict[str, Told] | None = None, left: dict[str, Left] | None = None
) -> JobsVerdict:
    """The verdict over what is good, but for what is given."""
    return judge_jobs(done or DONE, told or TOLD, left or LEFT, FOLLOWING, 2)


class Judged(unittest.TestCase):
    def check(self, verdict: JobsVerdict, *words: str) -> None:
        """Exactly one problem is found, and named."""
        (problem,) = verdict.problems
        for word in words:
            self.assertIn(word, problem)

    def test_all_done_once(self) -> None:
        self.assertEqual(judged(), JobsVerdict(repeated=1, found_done=1, problems=[]))

    def test_a_helper_was_killed_before_it_wrote_who_it_is(self) -> None:
        self.assertEqual(judged({**DONE, "A-1": ""}).problems, [])

    def test_a_job_that_was_not_done(self) -> None:
        self.check(judged({job: by for job, by in DONE.items() if job != "A-1"}), "1 jobs of A", "A-1")

    def test_a_job_that_its_own_language_did(self) -> None:
        self.check(judged({**DONE, "A-1": "A"}), "A-1 was for B", "A did it")

    def test_more_done_than_files(self) -> None:
        self.check(judged(told={**TOLD, "A": Told(3, 0, 0)}), "A says that it has done 3", "done 2")

    def test_a_job_that_nobody_put(self) -> None:
        self.check(judged({**DONE, "C-7": "A"}), "nobody has put C-7")

    def test_a_job_that_was_not_acknowledged(self) -> None:
        self.check(judged(left={**LEFT, "B": Left(1, 0)}), "queue of B", "1 jobs")

    def test_a_dead_job(self) -> None:
        self.check(judged(left={**LEFT, "A": Left(0, 1)}), "1 jobs for A are dead")

    def test_nothing_came_again(self) -> None:
        self.check(judged(told={**TOLD, "B": Told(1, 0, 0)}), "delivered again")


if __name__ == "__main__":
    unittest.main()
