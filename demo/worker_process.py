"""A worker process of the demo, and the last that it said of itself."""

from __future__ import annotations

import json
import subprocess
import threading
import time


class WorkerProcess:
    """Runs a command that prints `ready`, begins on a line of input, and prints its progress as JSON lines."""

    def __init__(self, who: str, command: list[str], numbers: dict[str, float]) -> None:
        self.who = who
        self.numbers = numbers
        self.ready = threading.Event()
        self.begun = 0.0
        self.ended: float | None = None
        # A session of its own: at Ctrl-C the coordinator ends its workers, so that nobody prints a traceback.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self.numbers = json.loads(line)
            else:
                self.ready.set()
        self.ended = time.monotonic()
        self.ready.set()

    def has_started(self) -> bool:
        """Waits until it is ready; whether it is, and has not ended instead."""
        return self.ready.wait(60) and not self.ended

    def go(self) -> None:
        """Lets it begin."""
        assert self.process.stdin is not None
        self.begun = time.monotonic()
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def stop(self) -> int:
        """Ends its input, so that it finishes what is in hand; its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        self._listener.join(5)
        return code
