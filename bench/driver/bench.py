"""One run of the benchmark: how long, how often, and the common ways to run a program."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .programs import Program, Reachable
from .server import Place
from .worker import LIMIT, Worker

#: No run of a peer takes so many seconds that does not hang.
PEER_LIMIT = 20.0


@dataclass(frozen=True)
class Bench:
    """The size of the run."""

    quick: bool
    """A smoke test: every row once and short. Its figures say nothing."""

    def rounds(self, full: int) -> int:
        """How often everything of a section is run."""
        return 1 if self.quick else full

    def seconds(self, full: float) -> float:
        """How long one run lasts."""
        return min(full, 0.3) if self.quick else full

    def say(self, what: str) -> None:
        """Tells whoever waits how far it is."""
        print(what, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Run:
    """One run of a program whose callers do not meet, and what each time cost."""

    per_second: float
    requests: float
    requests_us: float  # inside them, by the server's own account
    server_us: float  # CPU
    client_us: float  # CPU

    @property
    def each_us(self) -> float:
        """How long one takes, if there is one caller."""
        return 1e6 / self.per_second


def run(
    program: Program,
    what: str,
    server: Place,
    callers: int,
    seconds: float,
    way: Reachable | None = None,
    clears: bool = True,
    limit: float = LIMIT,
) -> Run:
    """Runs a worker on an empty server, unless that is to stay as it is, and which it may reach by another way. It is ended
    after `limit` seconds, which is a RuntimeError."""
    if clears:
        server.clear()
    with Worker(program.start(what, way or server, callers, seconds), limit) as worker:
        worker.ready()
        before, cpu = server.spent(program.requests), worker.cpu()
        worker.go()
        answer = worker.answer()
        cpu = worker.cpu() - cpu
        spent = server.spent(program.requests) - before
        done = answer["done"]
        per_second = done / answer["seconds"]
    return Run(per_second, spent.requests / done, spent.requests_us / done, spent.cpu_us / done, 1e6 * cpu / done)


def run_peer(program: Program, what: str, server: Place, callers: int, seconds: float) -> Run | None:
    """As `run`, of a program that hangs now and then: none when it did."""
    try:
        return run(program, what, server, callers, seconds, limit=PEER_LIMIT)
    except RuntimeError:
        print(f"{program.name}, {what}, {callers} callers: hung, and was ended after {PEER_LIMIT:.0f} s", file=sys.stderr)
        return None


class Runs:
    """The runs of some programs, round by round."""

    def __init__(self) -> None:
        self.by_name: dict[str, list[Run]] = {}

    def add(self, name: str, found: Run | None) -> None:
        """Of the round that is under way. A peer that hung has nothing to add."""
        if found is not None:
            self.by_name.setdefault(name, []).append(found)

    def has(self, program: Program) -> bool:
        """Whether it did not hang in every round."""
        return program.name in self.by_name

    def rates(self, program: Program | str) -> list[float]:
        """How often a second, in each round."""
        return [found.per_second for found in self.of(program)]

    def of(self, program: Program | str) -> list[Run]:
        """All rounds of one program."""
        return self.by_name[program if isinstance(program, str) else program.name]

    def median(self, program: Program | str, value: Callable[[Run], float]) -> float:
        """Over the rounds."""
        return statistics.median(value(found) for found in self.of(program))

    def faster(self, ours: Program | str, theirs: Program | str) -> float:
        """How many times as often as the other, the median of the rounds' ratios; the ratio of the medians where one hung."""
        a, b = self.rates(ours), self.rates(theirs)
        return median_ratio(a, b) if len(a) == len(b) else statistics.median(a) / statistics.median(b)


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios, each of one round: what the machine goes through in a round, both do."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
