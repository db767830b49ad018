"""The demo's verdict is seen to fail, for each thing that it looks at (`python3 -m unittest`, no packages needed)."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from verdict import (
    ENOUGH_ROUNDS,
    Change,
    Expected,
    Limit,
    evenness,
    judge,
    judge_rounds,
    judge_visits,
    turns_while_all_contend,
)

LIMIT = Limit(rate=1000, burst=3)
EXPECTED = {"A": Expected(3, worker=1), "B": Expected(2, worker=2)}


def id_of(worker: int, number: int) -> int:
    return number << 22 | worker << 12


#: Token, grant in microseconds, id, who.
GOOD: list[tuple[int, int, int, str]] = [
    (10, 5_000, id_of(1, 1), "A"),
    (11, 5_000, id_of(2, 1), "B"),
    (15, 5_000, id_of(1, 2), "A"),
    (16, 6_000, id_of(1, 3), "A"),
    (17, 7_000, id_of(2, 2), "B"),
]


def problems(lines: list[tuple[int, int, int, str]], counter: int = 5) -> list[str]:
    text = "".join(f"{token} {granted} {id_} {who}\n" for token, granted, id_, who in lines)
    return judge(f"{counter:012}\n{text}", EXPECTED, LIMIT).problems


class Judged(unittest.TestCase):
    def check(self, number: int, change: tuple[int, int, int, str], *words: str) -> None:
        """With that change in the place of the good one, exactly one problem is found, and named."""
        lines = [*GOOD]
        lines[number] = change
        (problem,) = problems(lines)
        for word in words:
            self.assertIn(word, problem)

    def test_a_good_file(self) -> None:
        self.assertEqual(problems(GOOD), [])

    def test_a_lost_update(self) -> None:
        self.assertEqual(problems(GOOD, counter=4), ["the counter says 4, the workers made 5 changes"])

    def test_a_missing_line(self) -> None:
        self.assertEqual(problems(GOOD[:-1]), ["B made 2 changes, the file has 1 lines of it"])

    def test_a_damaged_line(self) -> None:
        self.assertIn("damaged", judge("5\n1 2 3\n", EXPECTED, LIMIT).problems[-1])

    def test_tokens_out_of_order(self) -> None:
        self.check(1, (10, 5_000, id_of(2, 1), "B"), "change 2 has token 10, the one before it 10")

    def test_one_grant_too_many_at_once(self) -> None:
        self.check(3, (16, 5_000, id_of(1, 3), "A"), "let 4 through in 0.000000 s")

    def test_one_grant_a_microsecond_too_early(self) -> None:
        self.check(3, (16, 5_999, id_of(1, 3), "A"), "let 4 through in 0.000999 s")

    def test_grants_are_not_in_the_order_of_the_file(self) -> None:
        lines = [*GOOD]
        lines[0], lines[4] = (10, 7_000, id_of(1, 1), "A"), (17, 5_000, id_of(2, 2), "B")
        self.assertEqual(problems(lines), [])

    def test_an_id_twice(self) -> None:
        lines = [*GOOD]
        lines[4] = (17, 7_000, id_of(2, 1), "B")
        self.assertEqual(problems(lines), ["1 ids are there twice", "the ids of B do not grow"])

    def test_ids_that_do_not_grow(self) -> None:
        self.check(3, (16, 6_000, id_of(1, 0), "A"), "the ids of A do not grow")

    def test_the_id_of_another_worker(self) -> None:
        self.check(3, (16, 6_000, id_of(3, 3), "A"), "an id of A is another worker's")


class RoundsOfPermits(unittest.TestCase):
    """Three permits; A makes three rounds, B two."""

    EXPECTED: ClassVar = {"A": Expected(0, worker=1, rounds=3), "B": Expected(0, worker=2, rounds=2)}
    #: Entered, left, permits, who.
    GOOD: ClassVar = [(10, 20, 1, "A"), (10, 30, 2, "B"), (20, 30, 1, "A"), (30, 40, 1, "A"), (31, 39, 2, "B")]

    def problems(self, lines: list[tuple[int, int, int, str]]) -> list[str]:
        text = "".join(f"{entered} {left} {permits} {who}\n" for entered, left, permits, who in lines)
        return judge_rounds(text, self.EXPECTED, permits=3).problems

    def test_good_rounds(self) -> None:
        self.assertEqual(self.problems(self.GOOD), [])

    def test_one_permit_too_many(self) -> None:
        lines = [*self.GOOD]
        lines[2] = (19, 30, 1, "A")
        self.assertEqual(self.problems(lines), ["4 permits were in use at once, and there are 3"])

    def test_a_missing_round(self) -> None:
        self.assertEqual(self.problems(self.GOOD[:-1]), ["B made 2 rounds, the file has 1 lines of it"])

    def test_a_damaged_round(self) -> None:
        self.assertIn("damaged", judge_rounds("10 20 1 A\n10 20\n", self.EXPECTED, permits=3).problems[-1])

    def test_permits_that_nobody_gets(self) -> None:
        rounds = "".join(f"{number} {number + 1} 2 A\n" for number in range(ENOUGH_ROUNDS))
        expected = {"A": Expected(0, worker=1, rounds=ENOUGH_ROUNDS)}
        (problem,) = judge_rounds(rounds, expected, permits=3).problems
        self.assertIn("no more than 2 were ever in use", problem)
        self.assertEqual(judge_rounds(rounds, expected, permits=2).problems, [])


class VisitsOfReadersAndWriters(unittest.TestCase):
    """A comes three times, B twice."""

    EXPECTED: ClassVar = {"A": Expected(0, worker=1, visits=3), "B": Expected(0, worker=2, visits=2)}
    #: Entered, left, side, who.
    GOOD: ClassVar = [
        (10, 20, "read", "A"),
        (15, 30, "read", "B"),
        (30, 40, "write", "A"),
        (40, 50, "write", "B"),
        (50, 60, "read", "A"),
    ]

    def problems(self, number: int, visit: tuple[int, int, str, str]) -> list[str]:
        """With that visit in the place of the good one."""
        lines = [*self.GOOD]
        lines[number] = visit
        text = "".join(f"{entered} {left} {side} {who}\n" for entered, left, side, who in lines)
        return judge_visits(text, self.EXPECTED).problems

    def test_good_visits(self) -> None:
        self.assertEqual(self.problems(0, self.GOOD[0]), [])

    def test_a_reader_beside_a_writer(self) -> None:
        self.assertEqual(self.problems(4, (49, 60, "read", "A")), ["a writer was inside together with somebody else"])

    def test_two_writers(self) -> None:
        self.assertEqual(self.problems(3, (39, 50, "write", "B")), ["a writer was inside together with somebody else"])

    def test_a_missing_visit(self) -> None:
        (problem,) = self.problems(4, (50, 60, "read", "B"))[:1]
        self.assertEqual(problem, "A made 3 rounds, the file has 2 lines of it")

    def test_a_damaged_visit(self) -> None:
        self.assertIn("damaged", self.problems(1, (15, 30, "both", "B"))[-1])

    def test_readers_that_are_never_together(self) -> None:
        visits = "".join(f"{number} {number + 1} read A\n" for number in range(ENOUGH_ROUNDS))
        expected = {"A": Expected(0, worker=1, visits=ENOUGH_ROUNDS)}
        self.assertEqual(judge_visits(visits, expected).problems, ["no two readers were ever inside together"])


class Evenness(unittest.TestCase):
    """Two workers of 2,000 turns each."""

    EXPECTED: ClassVar = {"A": Expected(2000, worker=1), "B": Expected(2000, worker=2)}

    def turns(self, order: str) -> dict[str, int]:
        """Those that count, when the workers have the lock in this order."""
        return turns_while_all_contend([Change(0, 0, 0, who) for who in order], self.EXPECTED)

    def test_turns_by_turns(self) -> None:
        turns = self.turns("AB" * 2000)
        self.assertEqual(turns, {"A": 1800, "B": 1799})
        self.assertEqual(evenness(turns), [])

    def test_one_gets_twice_as_much(self) -> None:
        (problem,) = evenness(self.turns("AAB" * 1000 + "B" * 1000))
        self.assertIn("A 1600, B 799; none may have more than 1.5 times", problem)

    def test_one_gets_nothing(self) -> None:
        (problem,) = evenness(self.turns("AB" * 200 + "A" * 1800))
        self.assertIn("A 1800, B 0", problem)

    def test_a_late_start_and_the_rest_of_the_last_do_not_count(self) -> None:
        self.assertEqual(evenness(self.turns("A" * 600 + "AB" * 1400 + "B" * 600)), [])

    def test_one_is_kept_out_until_the_other_has_ended(self) -> None:
        (problem,) = evenness(self.turns("A" * 2000 + "B" * 2000))
        self.assertIn("A 2000, B 0", problem)

    def test_too_few_turns_say_nothing(self) -> None:
        few = {"A": Expected(500, worker=1), "B": Expected(500, worker=2)}
        changes = [Change(0, 0, 0, who) for who in "A" * 400 + "AB" * 100 + "B" * 400]
        self.assertEqual(turns_while_all_contend(changes, few), {})


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    bad = len(done.failures) + len(done.errors)
    print(f"{done.testsRun - bad} passed, {bad} failed", flush=True)
    sys.exit(bad > 0)
