"""Real Celery workers, and what their tasks have written down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis


class Workers:
    """Starts workers of `celery_app`, and ends each with all its processes."""

    def __init__(self, broker: str, locks: str) -> None:
        self._environment = {**os.environ, "TEST_BROKER": broker, "TEST_BACKEND": broker, "TEST_LOCKS": locks}
        self._notes = redis.Redis.from_url(broker)
        self._notes.flushdb()  # what another test has left in the queue
        self._folder = tempfile.mkdtemp(prefix="dlock-celery-")
        self._running: list[subprocess.Popen[bytes]] = []

    def start(
        self, pool: str = "prefork", processes: int = 2, visibility: int = 3600
    ) -> subprocess.Popen[bytes]:
        """A worker that is ready. After `visibility` seconds without an acknowledgement the broker delivers a message again;
        workers look for such messages each second."""
        environment = {**self._environment, "TEST_VISIBILITY": str(visibility)}
        return self.start_of("celery_app", Path(__file__).parent, environment, pool, processes)

    def start_of(
        self, app: str, folder: Path, environment: dict[str, str], pool: str = "prefork", processes: int = 2
    ) -> subprocess.Popen[bytes]:
        """A worker of another application."""
        number = len(os.listdir(self._folder))
        log = Path(self._folder, f"{number}.log")
        command = [sys.executable, "-m", "celery", "-A", app, "worker", "-P", pool, "-c", str(processes)]
        command += ["-n", f"worker{number}@%h", "--loglevel=INFO", "--without-gossip", "--without-mingle"]
        with log.open("wb") as output:
            worker = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running.append(worker)
        until(lambda: b" ready." in log.read_bytes() or worker.poll() is not None)
        assert worker.poll() is None, log.read_text()
        return worker

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """Ends a worker and all its processes at once."""
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        self._running.remove(worker)

    def stop(self, worker: subprocess.Popen[bytes]) -> None:
        """Asks a worker to end, as its users do."""
        worker.terminate()
        assert worker.wait(20) == 0, self.logs()
        self._running.remove(worker)

    def notes(self, name: str) -> list[list[str]]:
        """What tasks have noted under a name, each in words; the last two are the process and the time."""
        found: Any = self._notes.lrange(name, 0, -1)
        return [line.decode().split() for line in found]

    def noted(self, name: str, word: str, times: int = 1) -> list[str]:
        """Waits until a word was noted so often: its last line."""

        def lines() -> list[list[str]]:
            return [line for line in self.notes(name) if line[0] == word]

        until(lambda: len(lines()) >= times, lambda: f"{self.notes(name)}\n{self.logs()}")
        return lines()[-1]

    def end(self, name: str) -> None:
        """Lets the tasks of that name end."""
        self._notes.set(f"{name}:end", 1)

    def logs(self) -> str:
        """What all workers have written."""
        return "".join(path.read_text() for path in sorted(Path(self._folder).iterdir()))

    def close(self) -> None:
        for worker in [*self._running]:
            self.kill(worker)
        self._notes.close()


def until(true: Callable[[], object], otherwise: Callable[[], str] = str, longest: float = 40) -> None:
    """Waits for what no event tells of."""
    end = time.monotonic() + longest
    while not true():
        assert time.monotonic() < end, otherwise()
        time.sleep(0.02)
