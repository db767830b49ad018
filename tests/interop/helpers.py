"""A redis-server of the tests' own, and worker processes that speak lines."""

from __future__ import annotations

import queue
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from types import TracebackType

#: Long enough for whatever is bound to happen on a busy machine.
SOON = 10.0


def eventually(what: str, holds: Callable[[], bool], bound: float = SOON) -> None:
    """Looks until `holds` is true; fails with `what` when it is not within `bound` seconds."""
    deadline = time.monotonic() + bound
    while not holds():
        assert time.monotonic() < deadline, f"not within {bound} s: {what}"
        time.sleep(0.002)


class Server:
    """A server on a free port of the loopback interface, with a folder of its own."""

    def __enter__(self) -> Server:
        self._folder = tempfile.TemporaryDirectory()
        for _ in range(20):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port: int = probe.getsockname()[1]
            self._process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self._folder.name],
                stdout=subprocess.DEVNULL,
            )
            eventually("the server answers or ends", lambda: self._answers() or self._process.poll() is not None)
            # another process may have taken the port in the meantime: then another one
            if self._process.poll() is None:
                return self
        raise AssertionError("redis-server does not start")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def url(self, options: str) -> str:
        return f"redis://127.0.0.1:{self.port}/?{options}"

    def subscribers(self, lock: str) -> int:
        """How many connections listen for the release of a lock."""
        channel = f"redisson_lock__channel:{{{lock}}}"
        return int(self._command(f"PUBSUB NUMSUB {channel}").rsplit(b":", 1)[1])

    def exists(self, key: str) -> bool:
        return self._command(f"EXISTS {key}") == b":1\r\n"

    def _answers(self) -> bool:
        try:
            return self._command("PING") == b"+PONG\r\n"
        except OSError:
            return False

    def _command(self, line: str) -> bytes:
        """One inline command and its reply, which is short enough to come in one piece."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SOON) as connection:
            connection.sendall(line.encode() + b"\r\n")
            return connection.recv(4096)


class Worker:
    """A worker process; its answers are read in the background."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        assert self.answer() == ["ready"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def tell(self, request: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(request + "\n")

    def answer(self, bound: float = SOON) -> list[str]:
        """The words of the next line that the worker says."""
        try:
            return self._lines.get(timeout=bound).split()
        except queue.Empty:
            raise AssertionError(f"the worker said nothing within {bound} s") from None

    def ask(self, request: str) -> list[str]:
        self.tell(request)
        return self.answer()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


#: Starts a worker of a language, connected to a URL.
Start = Callable[[str, str], Worker]
