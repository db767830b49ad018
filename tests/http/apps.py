"""The example applications of examples/frameworks, as processes: each language lists its own in `apps_LANGUAGE.py`."""

from __future__ import annotations

import importlib
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from types import TracebackType

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from load import combined
from private_redis import free_port

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: How long an application may take until it listens: a JVM on a busy machine.
STARTS_WITHIN = 60.0
#: How long it may take to end after SIGTERM.
ENDS_WITHIN = 10.0
#: How long one answer is awaited: longer than the longest bound of a decision.
ANSWERS_WITHIN = 20.0


@dataclass(frozen=True)
class App:
    """How an application is prepared, once, and started; commands run in the root of the project."""

    #: The name of its folder in examples/frameworks.
    name: str
    start: tuple[str, ...] | list[str]
    prepare: tuple[str, ...] | list[str] = ()
    #: Environment variables that it needs beside those that the tests set.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: How many processes serve its requests.
    processes: int = 1


def apps() -> list[App]:
    """Those of all languages."""
    modules = sorted(path.stem for path in HERE.glob("apps_*.py"))
    return [app for module in modules for app in importlib.import_module(module).APPS]


@dataclass(frozen=True)
class Answer:
    """An answer, read to its end."""

    status: int
    #: Names in lower case; several lines of one name are one list.
    fields: Mapping[str, str]
    body: bytes


def prepared(app: App) -> None:
    """Builds what the application needs."""
    if app.prepare:
        command, environment = [*app.prepare], {**os.environ, **app.environment}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=600, check=False)
        said = (done.stdout + done.stderr).decode(errors="replace")[-3000:]
        assert done.returncode == 0, f"{app.name} cannot be prepared: {said}"


class Running:
    """An application that runs, on a free port of the loopback; it ends with its scope."""

    def __init__(self, app: App, redis_url: str, **environment: str) -> None:
        """`environment` has what the contract lets tests set, such as LIMIT_TOKENS."""
        self._app = app
        self._environment = {**os.environ, **app.environment, "REDIS_URL": redis_url, **environment}
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.port = 0
        self.exit_code: int | None = None

    def __enter__(self) -> Running:
        self.port = free_port()
        self._log = tempfile.TemporaryFile()
        # A group of its own: an application that does not end by SIGTERM is killed with its workers.
        self._process = subprocess.Popen(
            [*self._app.start],
            cwd=ROOT,
            env={**self._environment, "PORT": str(self.port)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self._await_line(f"listening on {self.port}")
        except BaseException:
            self.stop()
            raise
        return self

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout:
            for line in self._process.stdout:
                self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _await_line(self, wanted: str) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        said: list[str | None] = []
        while not said or said[-1] != wanted:
            try:
                said.append(self._lines.get(timeout=max(deadline - time.monotonic(), 0)))
            except queue.Empty:
                raise self._silent(wanted, f"did not within {STARTS_WITHIN} s", said) from None
            if said[-1] is None:
                raise self._silent(wanted, f"ended with {self._process.wait(ENDS_WITHIN)}", said[:-1])

    def _silent(self, wanted: str, why: str, said: list[str | None]) -> AssertionError:
        return AssertionError(f"{self._app.name} should say {wanted!r} and {why}; it said: {said}\n{self.log()}")

    def log(self) -> str:
        """The end of what it wrote to stderr."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-3000:]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def get(
        self, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", source: str = "127.0.0.1"
    ) -> Answer:
        """Asks once, on a connection of its own that comes from the address `source`."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=ANSWERS_WITHIN, source_address=(source, 0))
        try:
            connection.request(method, path, headers=dict(headers or {}))
            response = connection.getresponse()
            return Answer(response.status, combined(response.getheaders()), response.read())
        finally:
            connection.close()

    def exchange(self, *requests: bytes) -> list[int]:
        """Sends one request after another on one connection: the statuses of the answers, up to where the server ends it."""
        statuses = []
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWERS_WITHIN) as connection:
            for request in requests:
                try:
                    connection.sendall(request)
                    response = HTTPResponse(connection)
                    response.begin()
                    response.read()
                except (HTTPException, OSError):
                    break
                statuses.append(response.status)
                if response.will_close:
                    break
        return statuses

    def stop(self) -> None:
        """SIGTERM, and if that does not end it in time, SIGKILL to it and its workers."""
        if self.exit_code is not None:
            return
        self._process.terminate()
        try:
            self.exit_code = self._process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            raise AssertionError(f"{self._app.name} does not end by SIGTERM within {ENDS_WITHIN} s\n{self.log()}") from None
        finally:
            self._log.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
