"""What the demo's shared file must look like when the lock, the rate limiter and the id generators have kept their promises.

Its first line is the counter. Every change adds a line `<fencing token> <grant> <id> <who>`: the token of the lock it was made
under, when the rate limiter let it through (microseconds, by the server's clock), and an id of the worker's own.

In a file of rounds, a line `<entered> <left> <how> <who>` says when a worker was inside (microseconds, by the machine's monotonic
clock): it entered after it had what lets it in, and left before it gave that back. `how` is the number of permits in the file of
the semaphore, and `read` or `write` in that of the read-write lock.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from at_once import most_at_once

#: The turns of the worker that got most, to those of the one that got least, while all of them contend with as many
#: callers each. A process that the machine does not run asks for nothing meanwhile, so the bound leaves room for one that
#: stands still for a third of the time; a process that is passed over, or has one caller where the others have two, gets
#: half as many and fewer.
EVEN = 1.5
#: With fewer turns each, the pauses of a busy machine and what a runtime compiles at its start are a large part of them
#: (Node got 221 of 399 on two cores with a load of 17): nothing is said then.
ENOUGH = 1000
#: With so many rounds of callers that wait for one another, all permits are in use at some time.
ENOUGH_ROUNDS = 200


@dataclass(frozen=True)
class Limit:
    """What the rate limiter was told: so many a second, so many at once."""

    rate: int
    burst: int


@dataclass(frozen=True)
class Expected:
    """What a worker was to do: how many changes, under which worker number its ids are made, how many rounds."""

    times: int
    worker: int
    #: With permits of the semaphore.
    rounds: int = 0
    #: Within the read-write lock, on either side.
    visits: int = 0


@dataclass(frozen=True)
class Change:
    """A line of the file."""

    token: int
    granted_us: int
    id: int
    who: str


@dataclass(frozen=True)
class Round:
    """A line of a file of rounds."""

    entered: int
    left: int
    how: str
    who: str


@dataclass
class Rounds:
    """What was found in a file of rounds."""

    count: int
    #: Permits that were used, or readers that were inside, at the same time, at most.
    most: int
    problems: list[str]


@dataclass
class Verdict:
    """What was found in the file."""

    counter: int
    lines: int
    problems: list[str] = field(default_factory=list)
    #: Turns of each while all contended; empty when there were too few.
    turns: dict[str, int] = field(default_factory=dict)


def judge(text: str, expected: dict[str, Expected], limit: Limit) -> Verdict:
    """Checks the whole file."""
    first, *rest = text.splitlines()
    verdict = Verdict(int(first), len(rest))
    total = sum(each.times for each in expected.values())
    if verdict.counter != total:
        verdict.problems.append(f"the counter says {verdict.counter}, the workers made {total} changes")
    changes = []
    for number, line in enumerate(rest, start=1):
        try:
            token, granted_us, id_, who = line.split(" ")
            changes.append(Change(int(token), int(granted_us), int(id_), who))
        except ValueError:
            verdict.problems.append(f"change {number} is damaged: {line!r}")
            return verdict
    verdict.problems += [
        *who_wrote(changes, expected),
        *order_of_tokens(changes),
        *bound_of_the_limiter(changes, limit),
        *identity_of_ids(changes, expected),
    ]
    verdict.turns = turns_while_all_contend(changes, expected)
    verdict.problems += evenness(verdict.turns)
    return verdict


def judge_rounds(text: str, expected: dict[str, Expected], permits: int) -> Rounds:
    """Checks the file of the semaphore: never more than so many permits were in use."""
    rounds, problems = read_rounds(text, str.isdecimal, {who: each.rounds for who, each in expected.items()})
    most = most_at_once((each.entered, each.left, int(each.how)) for each in rounds)
    if most > permits:
        problems.append(f"{most} permits were in use at once, and there are {permits}")
    if most < permits and len(rounds) >= ENOUGH_ROUNDS:
        problems.append(f"of {permits} permits no more than {most} were ever in use at once")
    return Rounds(len(rounds), most, problems)


def judge_visits(text: str, expected: dict[str, Expected]) -> Rounds:
    """Checks the file of the read-write lock: a writer was inside alone, and readers were inside together."""
    visits, problems = read_rounds(
        text, ("read", "write").__contains__, {who: each.visits for who, each in expected.items()}
    )
    # As if a writer had as many permits as there are.
    total = len(visits) + 1
    inside = most_at_once((each.entered, each.left, total if each.how == "write" else 1) for each in visits)
    readers = most_at_once((each.entered, each.left, 1) for each in visits if each.how == "read")
    if inside > total:
        problems.append("a writer was inside together with somebody else")
    if readers < 2 and len(visits) >= ENOUGH_ROUNDS:
        problems.append("no two readers were ever inside together")
    return Rounds(len(visits), readers, problems)


def read_rounds(text: str, is_how: Callable[[str], bool], wanted: dict[str, int]) -> tuple[list[Round], list[str]]:
    """The lines of a file of rounds up to the first that is damaged, and what is wrong with them: each worker was to make so
    many."""
    rounds = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entered, left, how, who = line.split(" ")
            rounds.append(Round(int(entered), int(left), how, who))
        except ValueError:
            return rounds, [f"round {number} is damaged: {line!r}"]
        if not is_how(how):
            return rounds[:-1], [f"round {number} is damaged: {line!r}"]
    made = Counter(each.who for each in rounds)
    return rounds, [
        f"{who} made {wanted.get(who, 0)} rounds, the file has {made[who]} lines of it"
        for who in sorted(wanted.keys() | made.keys())
        if made[who] != wanted.get(who, 0)
    ]


def turns_while_all_contend(changes: list[Change], expected: dict[str, Expected]) -> dict[str, int]:
    """How often each had the lock between when the last of them had made a tenth of its changes, so that none of them is still
    warming up, and the first one's last change. Whoever has not come so far by then has been kept out: then all turns count."""
    made: Counter[str] = Counter()
    begun: set[str] = set()
    turns: Counter[str] = Counter()
    for who in (change.who for change in changes):
        if begun == expected.keys():
            turns[who] += 1
        made[who] += 1
        if who in expected and made[who] * 10 >= expected[who].times:
            begun.add(who)
        if who in expected and made[who] == expected[who].times:
            break
    if begun != expected.keys():
        turns = made
    enough = max(turns.values(), default=0) >= ENOUGH
    return {who: turns[who] for who in expected} if enough else {}


def evenness(turns: dict[str, int]) -> list[str]:
    """The queue serves the processes in turn. In one turn a process makes as many holds as fit into `cohort_age`, so the holds of
    all workers have to be about equally long."""
    if not turns or max(turns.values()) <= EVEN * min(turns.values()):
        return []
    counts = ", ".join(f"{who} {count}" for who, count in turns.items())
    return [f"turns while all contended: {counts}; none may have more than {EVEN} times another's"]


def who_wrote(changes: list[Change], expected: dict[str, Expected]) -> list[str]:
    """A lost update shows in the counter or as a missing line."""
    wrote = Counter(change.who for change in changes)
    wanted = {who: each.times for who, each in expected.items()}
    return [
        f"{who} made {wanted.get(who, 0)} changes, the file has {wrote[who]} lines of it"
        for who in sorted(wanted.keys() | wrote.keys())
        if wrote[who] != wanted.get(who, 0)
    ]


def order_of_tokens(changes: list[Change]) -> list[str]:
    """Two holders at once mostly show as tokens out of order, too."""
    for number, (before, after) in enumerate(pairwise(changes), start=2):
        if after.token <= before.token:
            return [f"change {number} has token {after.token}, the one before it {before.token}"]
    return []


def bound_of_the_limiter(changes: list[Change], limit: Limit) -> list[str]:
    """Between any two grants, both counted, no more were let through than the burst and what came back in between:
    `j - i + 1 <= burst + rate * (t_j - t_i)`. One pass suffices: of all earlier grants, the one with the least `i - rate * t_i`
    bounds the most. In millionths of a grant, so that all numbers are whole."""
    times = sorted(change.granted_us for change in changes)
    million = 1_000_000
    least, since = None, 0
    for number, time in enumerate(times):
        level = number * million - limit.rate * (time - times[0])
        if least is None or level < least:
            least, since = level, number
        if level - least + million > limit.burst * million:
            count, span = number - since + 1, (time - times[since]) / million
            return [
                f"the limiter let {count} through in {span:.6f} s: {limit.rate}/s and a burst of {limit.burst} were allowed"
            ]
    return []


def identity_of_ids(changes: list[Change], expected: dict[str, Expected]) -> list[str]:
    """Every id is another; each worker's grow, and carry its number (bits 12 to 16)."""
    problems = []
    if len({change.id for change in changes}) < len(changes):
        problems.append(f"{len(changes) - len({change.id for change in changes})} ids are there twice")
    of: defaultdict[str, list[int]] = defaultdict(list)
    for change in changes:
        of[change.who].append(change.id)
    for who, ids in of.items():
        if any(after <= before for before, after in pairwise(ids)):
            problems.append(f"the ids of {who} do not grow")
        if who in expected and any(id_ >> 12 & 31 != expected[who].worker for id_ in ids):
            problems.append(f"an id of {who} is another worker's")
    return problems
