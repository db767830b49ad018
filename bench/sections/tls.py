"""What TLS costs: pairs on a connection with it beside the same without, by one caller and by 64."""

from __future__ import annotations

import tempfile
from pathlib import Path

from driver.bench import Bench, Runs, run
from driver.goals import Goal, at_least, at_most
from driver.programs import BLOCKING, RUST, C, Program
from driver.server import Server, TlsServer
from driver.tables import print_table

PROGRAMS = (BLOCKING, C, RUST)


def measured(bench: Bench, callers: int, plain: Server, encrypted: Server) -> Runs:
    """Each program without and with TLS, one after the other."""
    runs = Runs()
    for number in range(bench.rounds(3)):
        bench.say(f"tls, {callers} callers, round {number + 1}")
        for program in PROGRAMS:
            for name, server in ((program.name, plain), (over_tls(program), encrypted)):
                runs.add(name, run(program, "pairs", server, callers, bench.seconds(1.2)))
    return runs


def over_tls(program: Program) -> str:
    return f"{program.name}, TLS"


def table(runs: Runs, callers: int) -> None:
    rows = []
    for program in PROGRAMS:
        for name in (program.name, over_tls(program)):
            rows.append(
                [
                    name,
                    f"{runs.median(name, lambda found: found.per_second):.0f}",
                    f"{runs.faster(name, program):.2f}",
                    f"{runs.median(name, lambda found: found.server_us):.1f} us",
                    f"{runs.median(name, lambda found: found.client_us):.1f} us",
                ]
            )
    header = ["", "pairs/s", "of without TLS", "server CPU", "client CPU"]
    print_table(f"Pairs over TLS, {callers} caller{'s' if callers > 1 else ''}, a lock each", header, rows)


def measure(bench: Bench) -> list[Goal]:
    """Both servers are there all the time; one of them has nothing to do."""
    with (
        tempfile.TemporaryDirectory(prefix="libdlock-tls-") as folder,
        Server() as plain,
        TlsServer(Path(folder)) as encrypted,
    ):
        one, many = (measured(bench, callers, plain, encrypted) for callers in (1, 64))
    table(one, 1)
    table(many, 64)
    slower = [(program, 1 / one.faster(over_tls(program), program)) for program in (BLOCKING, C)]
    return [
        *(
            at_most(f"pair over TLS, one caller, {program.name}: time of one without", 1.6, ratio, "x")
            for program, ratio in slower
        ),
        at_least("pairs over TLS, 64 callers, Rust: as often as without", 0.6, many.faster(over_tls(RUST), RUST), "x"),
    ]
