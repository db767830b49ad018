"""Processes that speak the worker protocol of bench/README.md."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from .server import cpu_seconds

#: Nothing that is measured takes so long: a process that hangs is ended, and the benchmark with it.
LIMIT = 180.0


class Worker:
    """One process. It ends on leaving, by its own will or by ours."""

    def __init__(self, command: Sequence[str], limit: float = LIMIT) -> None:
        self._command = list(command)
        self._seconds = limit

    def __enter__(self) -> Worker:
        # What it has to complain about is of interest when it fails.
        self._complaints = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, text=True
        )
        self._limit = threading.Timer(self._seconds, self._process.kill)
        self._limit.daemon = True
        self._limit.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        if kind is not None:
            self._process.kill()
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._limit.cancel()
        if kind is not None:
            self._complaints.seek(0)
            sys.stderr.write(self._complaints.read()[-5000:])
        self._complaints.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self._command)} ended early")
        return line

    def ready(self) -> None:
        """Waits until it is warm."""
        if self._line() != "ready\n":
            raise RuntimeError(f"{' '.join(self._command)} did not get ready")

    def go(self) -> None:
        """Starts the work."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Waits for its result."""
        answer = json.loads(self._line())
        assert isinstance(answer, dict)
        return answer

    def cpu(self) -> float:
        """User and system seconds so far."""
        return cpu_seconds(self.pid)

    def status(self, field: str) -> int:
        """A number of /proc/PID/status: VmRSS (in kB), Threads."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == field:
                return int(value.split()[0])
        raise KeyError(field)


class Team:
    """Some processes that start together."""

    def __init__(self, commands: Sequence[Sequence[str]]) -> None:
        self.workers = [Worker(command) for command in commands]
        self._stack = ExitStack()

    def __enter__(self) -> Team:
        with ExitStack() as stack:
            for worker in self.workers:
                stack.enter_context(worker)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def ready(self) -> None:
        """Waits for the last one."""
        for worker in self.workers:
            worker.ready()

    def go(self) -> None:
        """Starts them all."""
        for worker in self.workers:
            worker.go()

    def answers(self) -> list[dict[str, Any]]:
        """Waits for every result."""
        return [worker.answer() for worker in self.workers]

    def cpu(self) -> float:
        """Seconds of all together."""
        return sum(worker.cpu() for worker in self.workers)
