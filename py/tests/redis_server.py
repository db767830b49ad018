"""A real redis-server of the tests' own: free port of the loopback, temporary folder, ended by its process id."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from typing_extensions import Self

Reply = bytes | int | list["Reply"] | None


#: The server that is started: scripts/servers.sh names another.
PROGRAM = os.environ.get("DLOCK_TEST_SERVER", "redis-server")

#: The user of the tests' own commands, who may do everything.
ADMIN = "test-admin"

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "vectors"


def users() -> list[str]:
    """The default user, as which libdlock connects, gets the documented minimal rights; the tests' own commands have all."""
    table: dict[str, list[str]] = json.loads((VECTORS / "access.json").read_text())
    commands = [f"+{command}" for command in table["connection"] + table["scripts"]]
    default = ["--user", "default", "reset", "on", "nopass", "~*", "&*", "-@all", *commands]
    return [*default, "--user", ADMIN, "on", "nopass", "~*", "&*", "+@all"]


class ReplyError(Exception):
    """The server answered with an error."""


class RedisServer:
    """Runs until `stop`. `port` stays the same over `kill` and `start`."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self._folder = tempfile.mkdtemp(prefix="dlock-py-redis-")
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        if self.port:
            if not self._starts():
                raise RuntimeError(f"{PROGRAM} does not start again on port {self.port}")
            return self
        # Between finding a port free and taking it somebody else may: hence several tries.
        for _ in range(10):
            self.port = free_port()
            if self._starts():
                return self
        raise RuntimeError(f"{PROGRAM} does not start")

    def _starts(self) -> bool:
        command = [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--appendonly", "no", "--dir", self._folder, *self._arguments]
        if "--requirepass" not in self._arguments:  # that is the default user's password
            command += users()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "Ready to accept connections" in line:
                return True
        self.kill()
        return False

    def kill(self) -> None:
        """Ends the server at once, with all its data; `start` brings up an empty one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def loses_its_listeners(self) -> bool:
        """Whether nobody listens any more, soon: it reads the ends of connections when it comes to them."""
        deadline = time.monotonic() + 5
        while self.command("PUBSUB", "CHANNELS") != []:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def waits(self, name: str) -> bool:
        """Whether a client stands in the queue for a lock, and listens."""
        with Connection(self.port) as connection:
            queue = connection.command("ZRANGE", f"dlock_queue:{{{name}}}", "0", "0")
            if not isinstance(queue, list) or not queue:
                return False
            (first,) = queue
            assert isinstance(first, bytes)
            inbox = b"dlock_inbox:" + first
            return connection.command("PUBSUB", "NUMSUB", inbox) == [inbox, 1]

    def command(self, *words: str | bytes) -> Reply:
        """One command on a connection of its own."""
        with Connection(self.port) as connection:
            return connection.command(*words)


class Connection:
    """Just enough of RESP to look at the server from outside libdlock."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._input = self._socket.makefile("rb")
        self.command("AUTH", ADMIN, "any password")

    def command(self, *words: str | bytes) -> Reply:
        self.send(*words)
        return self.reply()

    def send(self, *words: str | bytes) -> None:
        parts = [word.encode() if isinstance(word, str) else word for word in words]
        body = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        self._socket.sendall(b"*%d\r\n%s" % (len(parts), body))

    def reply(self) -> Reply:
        line = self._input.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ReplyError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest
        if kind == b"$":
            return None if rest == b"-1" else self._input.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        raise ReplyError(f"no RESP: {line!r}")

    def close(self) -> None:
        self._input.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def free_port() -> int:
    """A port on which nobody listens. It is below those that systems give to connections, and that other languages' tests
    reserve: between `kill` and `start` one of these could take it."""
    while True:
        port = 10_000 + secrets.randbelow(10_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
