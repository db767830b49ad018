"""Judges what the workers of the demo's queues have done."""

from __future__ import annotations

from typing import NamedTuple


class Told(NamedTuple):
    """What a worker said of itself."""

    done: int
    repeated: int
    """Deliveries that were not the first of their job."""
    found_done: int
    """Deliveries of jobs that were done before."""


class Left(NamedTuple):
    """What a queue has at the end."""

    waiting: int
    dead: int


class JobsVerdict(NamedTuple):
    """What was found."""

    repeated: int
    found_done: int
    problems: list[str]


def judge_jobs(
    done: dict[str, str], told: dict[str, Told], left: dict[str, Left], following: dict[str, str], count: int
) -> JobsVerdict:
    """Of each worker COUNT jobs, done once and by the next language's worker, or by the one beside it that was killed.

    `done` has who made the file of each job. One that was killed between making a file and writing it has left it empty.
    """
    problems = []
    for who, by in following.items():
        jobs = [f"{who}-{number}" for number in range(count)]
        if missing := [job for job in jobs if job not in done]:
            problems.append(f"{len(missing)} jobs of {who} were not done, {missing[0]} for one")
        if others := [job for job in jobs if done.get(job, by) not in (by, f"{by} (killed)", "")]:
            problems.append(f"{others[0]} was for {by}, and {done[others[0]]} did it")
        if (made := sum(done.get(job) == by for job in jobs)) != told[by].done:
            problems.append(f"{by} says that it has done {told[by].done} jobs, the files that it has done {made}")
    known = {f"{who}-{number}" for who in following for number in range(count)}
    if unknown := sorted({*done} - known):
        problems.append(f"nobody has put {unknown[0]}")
    problems += [f"the queue of {who} still has {has.waiting} jobs" for who, has in left.items() if has.waiting]
    problems += [f"{has.dead} jobs for {who} are dead" for who, has in left.items() if has.dead]
    repeated = sum(one.repeated for one in told.values())
    if not repeated:
        problems.append("no job was delivered again, though workers were killed with jobs in hand")
    return JobsVerdict(repeated, sum(one.found_done for one in told.values()), problems)
