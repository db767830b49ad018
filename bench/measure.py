"""One run of one program, and what it cost the two sides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from private_redis import PrivateRedis  # noqa: E402

__all__ = ["ROOT", "PrivateRedis", "Result", "measure", "redis_benchmark"]

TICK = os.sysconf("SC_CLK_TCK")
# What the library may cost the server: whatever else it calls would not be counted as scripts.
SCRIPT_COMMANDS = ("evalsha", "eval", "subscribe")


@dataclass
class Result:
    """One run of one program: how often it did its work in a second, and the cost of each time."""

    per_second: float
    scripts: float
    script_us: float  # inside the scripts, by the server's own account
    server_cpu_us: float
    client_cpu_us: float


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Account:
    """What a server has spent since this was made."""

    def __init__(self, server: PrivateRedis) -> None:
        self.server = server
        self.before = self._now()

    def _now(self) -> tuple[float, float, float]:
        calls = usec = 0
        for line in self.server.command("INFO", "commandstats").splitlines():
            name, _, values = line.partition(":")
            if name.removeprefix("cmdstat_") in SCRIPT_COMMANDS:
                numbers = dict(pair.split("=") for pair in values.strip().split(","))
                calls += int(numbers["calls"])
                usec += int(numbers["usec"])
        return calls, usec, 1e6 * cpu_seconds(self.server.pid)

    def each(self, done: float, per_second: float, client_seconds: float) -> Result:
        """The result of a run that did its work that often, at this cost to the client."""
        scripts, script_us, cpu_us = ((now - then) / done for now, then in zip(self._now(), self.before, strict=True))
        return Result(per_second, scripts, script_us, cpu_us, 1e6 * client_seconds / done)


def measure(server: PrivateRedis, command: list[str]) -> Result:
    """Runs a worker: it says `ready`, works after our line, answers with JSON, and ends when we close its input."""
    server.command("FLUSHALL")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        try:
            if worker.stdout.readline() != "ready\n":
                raise RuntimeError(f"{' '.join(command)} did not get ready")
            account, client_cpu = Account(server), cpu_seconds(worker.pid)
            worker.stdin.write("go\n")
            worker.stdin.flush()
            answer = json.loads(worker.stdout.readline())
            client_cpu = cpu_seconds(worker.pid) - client_cpu
            result = account.each(answer["done"], answer["done"] / answer["seconds"], client_cpu)
        except BaseException:
            worker.kill()
            raise
        worker.stdin.close()
    return result


def redis_benchmark(server: PrivateRedis, callers: int, seconds: float, what: str) -> Result:
    """redis-benchmark sends one fixed command: a decision is one, and of a pair it can send half: the acquire, which from the
    second on finds its own owner. Two of those are counted as a pair."""
    server.command("FLUSHALL")
    script, words, halves = {
        "pairs": ("lock_acquire", "2 bench-0 redisson_lock_token:{bench-0} floor:1 30000 9e15 3600000", 2),
        "decisions": ("limit_gcra", "1 dlock_limit:{bench} 1000000 1 0 1000000 0", 1),
    }[what]
    digest = server.command("SCRIPT", "LOAD", (ROOT / f"core/src/lua/{script}.lua").read_text())
    requests = int(seconds * (12_000 if callers == 1 else 40_000))
    command = ["redis-benchmark", "-p", str(server.port), "-c", str(callers), "-n", str(requests), "--csv"]
    account, before = Account(server), os.times()
    output = subprocess.run([*command, "EVALSHA", digest, *words.split()], check=True, capture_output=True, text=True).stdout
    after = os.times()
    client_cpu = after.children_user + after.children_system - before.children_user - before.children_system
    rate = float(output.splitlines()[-1].split('","')[1].strip('"'))
    return account.each(requests / halves, rate / halves, client_cpu)
