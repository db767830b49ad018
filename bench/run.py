#!/usr/bin/env python3
"""Measures lock+unlock pairs in every language beside the floor and redis-benchmark, and prints one table.

    run.py [--rounds N] [--seconds S] [--callers 1,64] [--json FILE]

Every round runs every program once, one after the other on one private redis-server, so that the programs share whatever the
machine is going through; the table has medians over the rounds, and the ratios are medians of the ratios within a round.
CPU is the process's, user and system, from /proc; script calls are the server's own count. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from private_redis import PrivateRedis  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
# What a lock may cost the server: whatever else it calls would not be counted as scripts.
SCRIPT_COMMANDS = ("evalsha", "eval", "subscribe")


@dataclass
class Result:
    """One run of one program."""

    pairs_per_second: float
    scripts_per_pair: float
    script_us_per_pair: float  # inside the scripts, by the server's own account
    server_cpu_us_per_pair: float
    client_cpu_us_per_pair: float


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def script_calls(server: PrivateRedis) -> tuple[int, int]:
    """Calls of script commands and the microseconds they took, since the server started."""
    calls = usec = 0
    for line in server.command("INFO", "commandstats").splitlines():
        name, _, values = line.partition(":")
        if name.removeprefix("cmdstat_") in SCRIPT_COMMANDS:
            numbers = dict(pair.split("=") for pair in values.strip().split(","))
            calls += int(numbers["calls"])
            usec += int(numbers["usec"])
    return calls, usec


def measure(server: PrivateRedis, command: list[str]) -> Result:
    """Runs a worker: it says `ready`, works after our line, answers with JSON, and ends when we close its input."""
    server.command("FLUSHALL")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        try:
            if worker.stdout.readline() != "ready\n":
                raise RuntimeError(f"{command[0]} did not get ready")
            calls, usec = script_calls(server)
            server_cpu, client_cpu = cpu_seconds(server.pid), cpu_seconds(worker.pid)
            worker.stdin.write("go\n")
            worker.stdin.flush()
            answer = json.loads(worker.stdout.readline())
            client_cpu = cpu_seconds(worker.pid) - client_cpu
            server_cpu = cpu_seconds(server.pid) - server_cpu
            calls_after, usec_after = script_calls(server)
        except BaseException:
            worker.kill()
            raise
        worker.stdin.close()
    pairs = answer["pairs"]
    return Result(
        pairs_per_second=pairs / answer["seconds"],
        scripts_per_pair=(calls_after - calls) / pairs,
        script_us_per_pair=(usec_after - usec) / pairs,
        server_cpu_us_per_pair=1e6 * server_cpu / pairs,
        client_cpu_us_per_pair=1e6 * client_cpu / pairs,
    )


def measure_redis_benchmark(server: PrivateRedis, callers: int, seconds: float) -> Result:
    """redis-benchmark sends one fixed command, so half a pair: the acquire, which from the second on finds its own owner. Two
    calls are counted as a pair."""
    server.command("FLUSHALL")
    script = (ROOT / "core/src/lua/lock_acquire.lua").read_text()
    digest = server.command("SCRIPT", "LOAD", script)
    evalsha = ["EVALSHA", digest, "2", "bench-0", "redisson_lock_token:{bench-0}", "floor:1", "30000", "9e15", "3600000"]
    requests = int(seconds * (12_000 if callers == 1 else 40_000))
    calls, usec = script_calls(server)
    server_cpu = cpu_seconds(server.pid)
    command = ["redis-benchmark", "-p", str(server.port), "-c", str(callers), "-n", str(requests), "--csv", *evalsha]
    before = os.times()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = os.times()
    server_cpu = cpu_seconds(server.pid) - server_cpu
    client_cpu = after.children_user + after.children_system - before.children_user - before.children_system
    calls_after, usec_after = script_calls(server)
    rate = float(output.splitlines()[-1].split('","')[1].strip('"'))
    pairs = requests / 2
    return Result(
        pairs_per_second=rate / 2,
        scripts_per_pair=(calls_after - calls) / pairs,
        script_us_per_pair=(usec_after - usec) / pairs,
        server_cpu_us_per_pair=1e6 * server_cpu / pairs,
        client_cpu_us_per_pair=1e6 * client_cpu / pairs,
    )


def programs(callers: int, seconds: float) -> dict[str, Callable[[PrivateRedis], Result]]:
    """What is measured at this number of callers; the first is what the others are compared with."""
    size = [str(callers), str(seconds)]
    release = ROOT / "target/release"

    def worker(*command: str) -> Callable[[PrivateRedis], Result]:
        return lambda server: measure(server, [*command, server.url, *size])

    def floor(mode: str) -> Callable[[PrivateRedis], Result]:
        return lambda server: measure(server, [str(release / "libdlock-floor"), f"127.0.0.1:{server.port}", *size, mode])

    found = {"floor, a socket each": floor("sockets")}
    if callers > 1:
        found["floor, one socket"] = floor("pipeline")
    found["Rust"] = worker(str(release / "libdlock-bench"))
    found["C"] = worker(str(ROOT / "build/bench/pairs"))
    python, jar = str(ROOT / "build/venv/bin/python"), ROOT / "build/java/libdlock.jar"
    found["Python"] = worker(python, str(ROOT / "bench/pairs.py"))
    found["Python, asyncio"] = worker(python, str(ROOT / "bench/pairs_aio.py"))
    found["Node"] = worker("node", str(ROOT / "build/node-app/bench-pairs.mjs"))
    found["Java"] = worker(jdk("java"), "-cp", f"{ROOT / 'build/bench'}:{jar}", "Pairs")
    found["redis-benchmark"] = lambda server: measure_redis_benchmark(server, callers, seconds)
    return found


def jdk(tool: str) -> str:
    """The JDK's tool that Maven would take."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/{tool}" if home else tool


def version(tool: str) -> str:
    """The version that a tool tells."""
    told = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True)
    found = re.search(r"\d+\.[\d.]+", told.stdout)
    return found[0] if found else "?"


def machine() -> str:
    """What was measured on."""
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cores} cores of {model}; Linux {platform.release()}; redis-server {version('redis-server')}; "
        f"rustc {version('rustc')}; Python {platform.python_version()}; Node {version('node')}; Java {version(jdk('java'))}"
    )


def row(cells: list[str]) -> str:
    """A line of the table, in Markdown."""
    widths = (24, 8, 8, 9, 10, 11, 11)
    padded = (
        cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "| " + " | ".join(padded) + " |"


def print_table(results: dict[int, dict[str, list[Result]]]) -> None:
    """Medians over the rounds."""
    for callers, by_program in results.items():
        print(f"\n{callers} caller{'s' if callers > 1 else ''}, a lock each\n")
        print(row(["", "pairs/s", "of floor", "scripts", "in scripts", "server CPU", "client CPU"]))
        print("|" + "|".join(["---", *["---:"] * 6]) + "|")
        floor = next(iter(by_program.values()))
        for name, runs in by_program.items():

            def median(field: str, runs: list[Result] = runs) -> float:
                return float(statistics.median(asdict(run)[field] for run in runs))

            ratio = statistics.median(a.pairs_per_second / b.pairs_per_second for a, b in zip(runs, floor, strict=True))
            cells = [name, f"{median('pairs_per_second'):.0f}", f"{ratio:.2f}", f"{median('scripts_per_pair'):.2f}"]
            for field in ("script_us_per_pair", "server_cpu_us_per_pair", "client_cpu_us_per_pair"):
                cells.append(f"{median(field):.1f} us")
            print(row(cells))
    print(
        "\nA pair is one lock and one unlock; everything but pairs/s is for each pair. redis-benchmark repeats the acquire alone;"
    )
    print("two of them are counted as a pair.")


def main() -> None:
    """Reads the command line, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each run")
    parser.add_argument("--callers", default="1,64")
    parser.add_argument("--json", default="", help="also write every single run here")
    options = parser.parse_args()
    sizes = [int(size) for size in options.callers.split(",")]
    results: dict[int, dict[str, list[Result]]] = {size: {} for size in sizes}
    print(machine())
    print(f"medians of {options.rounds} rounds, {options.seconds} s each")
    with PrivateRedis() as server:
        for number in range(1, options.rounds + 1):
            print(f"round {number}", file=sys.stderr, flush=True)
            for size in sizes:
                for name, run in programs(size, options.seconds).items():
                    results[size].setdefault(name, []).append(run(server))
    print_table(results)
    if options.json:
        every = {size: {name: [asdict(run) for run in runs] for name, runs in by.items()} for size, by in results.items()}
        Path(options.json).write_text(json.dumps(every, indent=1) + "\n")


if __name__ == "__main__":
    main()
