"""A redis-server of the tests' own, and worker processes that speak lines."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from private_redis import PROGRAM as PROGRAM
from private_redis import PrivateRedis

#: Long enough for whatever is bound to happen on a busy machine, and too short for who was not woken and polls after 30 s.
SOON = 20.0
#: The same of a process that starts.
STARTED = 300.0


def eventually(what: str, holds: Callable[[], bool], bound: float = SOON) -> None:
    """Looks until `holds` is true; fails with `what` when it is not within `bound` seconds."""
    deadline = time.monotonic() + bound
    while not holds():
        assert time.monotonic() < deadline, f"not within {bound} s: {what}"
        time.sleep(0.002)


class Server(PrivateRedis):
    """The project's private server, with what these tests ask it."""

    def url_with(self, options: str) -> str:
        return f"{self.url}?{options}"

    def subscribers(self, lock: str) -> int:
        """How many connections listen for the release of a lock."""
        return self.listeners(f"redisson_lock__channel:{{{lock}}}")

    def standing(self, name: str, queue: str = "dlock_queue") -> int:
        """How many processes stand in the queue for a name and listen at their inboxes."""
        script = """local listening = 0
            for _, client in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
                listening = listening + redis.call('PUBSUB', 'NUMSUB', 'dlock_inbox:' .. client)[2]
            end
            return listening"""
        return int(self.command("EVAL", script, "1", f"{queue}:{{{name}}}"))

    def exists(self, key: str) -> bool:
        return self.command("EXISTS", key) == "1"


class Worker:
    """A worker process; its answers are read in the background."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        #: How many requests have no answer yet, where each has one.
        self.unanswered = 1
        threading.Thread(target=self._read, daemon=True).start()
        assert self.answer(STARTED) == ["ready"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("failed: it has ended")

    def tell(self, request: str) -> None:
        assert self._process.stdin is not None
        self.unanswered += 1
        self._process.stdin.write(request + "\n")

    def answer(self, bound: float = SOON) -> list[str]:
        """The words of the next line that the worker says."""
        try:
            words = self._lines.get(timeout=bound).split()
        except queue.Empty:
            raise AssertionError(f"the worker said nothing within {bound} s") from None
        self.unanswered -= 1
        assert not words[0].startswith("failed"), " ".join(words)
        return words

    def ask(self, request: str) -> list[str]:
        self.tell(request)
        return self.answer()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


#: Starts a worker of a language, connected to a URL.
Start = Callable[[str, str], Worker]


class Workers:
    """Workers on one URL, each started when it is first asked for and kept: a JVM takes its time to start."""

    #: Half a minute between polls: whoever is woken sooner was told.
    OPTIONS = "poll_interval=30s&lease=60s"
    #: All that there are. After a test that failed they are ended: an answer that came too late would be taken for the next one.
    there: ClassVar[list[Workers]] = []

    def __init__(self, url: str, command: Callable[[str], list[str]]) -> None:
        self._url = url
        self._command = command
        self._workers: dict[tuple[str, str], Worker] = {}
        self.there.append(self)

    def worker(self, language: str, role: str) -> Worker:
        """The process of a language that has this role; another role is another process."""
        key = (language, role)
        if key not in self._workers:
            self._workers[key] = Worker([*self._command(language), self._url])
        return self._workers[key]

    def end(self) -> None:
        """Ends the processes. Those that are asked for later are new ones."""
        for worker in self._workers.values():
            worker.kill()
        self._workers.clear()


class Fleet(Workers):
    """A server and its workers."""

    def __init__(self, server: Server, command: Callable[[str], list[str]]) -> None:
        super().__init__(server.url_with(self.OPTIONS), command)
        self.server = server
