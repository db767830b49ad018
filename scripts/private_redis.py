"""A redis-server of one's own: on a free loopback port, keeping nothing, gone with its user. Standard library only.

Its program is the one that DLOCK_TEST_SERVER names (scripts/servers.sh sets it), else the redis-server of the PATH.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import secrets
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO

#: The server that is started.
PROGRAM = os.environ.get("DLOCK_TEST_SERVER", "redis-server")

#: The rules of a user who may do everything.
EVERY_RIGHT = ["~*", "&*", "+@all"]

#: The user of this module's own commands, who may do everything.
ADMIN = "private-admin"


def minimal_rights() -> list[str]:
    """The rights of `tests/vectors/access.json`, on any key and channel: what the documentation says libdlock needs.

    Rights that only servers from 7.2 on know are left out: an older server refuses the whole rule because of them.
    """
    table = _access()
    return ["~*", "&*", "-@all", *(f"+{command}" for command in table["connection"] + table["scripts"])]


def cluster_rights(is_old: bool) -> list[str]:
    """What a user of a cluster's nodes needs besides; `is_old` is a server before Redis 7.0."""
    table = _access()
    commands = table["cluster_commands"] + ([] if is_old else table["cluster_commands_since_7.0"])
    return [f"+{command}" for command in commands]


def sentinel_rights() -> list[str]:
    """The same for a user of sentinels, on the channels that it listens to."""
    table = _access()
    channels = [f"&{channel}" for channel in table["sentinel_channels"]]
    return ["resetchannels", *channels, "-@all", *(f"+{command}" for command in table["sentinel_commands"])]


def _access() -> dict[str, list[str]]:
    path = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "access.json"
    table: dict[str, list[str]] = json.loads(path.read_text())
    return table


#: What sentinels call the master that they watch.
MASTER = "orders"


class PrivateRedis:
    """Starts on entering, stops by its process id on leaving.

    Connections without a user get the minimal rights, unless `every_right` is set: other libraries need more.
    """

    every_right = False
    #: The program that is started.
    program = PROGRAM
    #: Options of redis-server besides.
    more: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="libdlock-redis-")
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def admin_url(self) -> str:
        """The same as a user who may do everything, for clients of other libraries."""
        return f"redis://{ADMIN}:any-password@127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Ends it without a word. What it had is lost."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def start_again(self) -> None:
        """Starts it on the port that it had."""
        if not self._start():
            raise RuntimeError(f"{self.program} does not start again on port {self.port}")

    def __enter__(self) -> PrivateRedis:
        try:
            # Between finding a port free and taking it somebody else may: hence several tries.
            for _ in range(10):
                self.port = free_port()
                if self._start():
                    return self
            raise RuntimeError(f"{self.program} does not start: {self._log().read_text(errors='replace')[-500:]}")
        except BaseException:
            self.stop()
            raise

    def _log(self) -> Path:
        return Path(self._folder.name, "log")

    def _command(self) -> list[str]:
        command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        command += ["--dir", self._folder.name, "--logfile", str(self._log()), *self.more]
        command += ["--user", "default", "reset", "on", "nopass", *self.rights()]
        return [*command, "--user", ADMIN, "on", "nopass", *EVERY_RIGHT]

    def rights(self) -> list[str]:
        """Of connections without a user."""
        return EVERY_RIGHT if self.every_right else minimal_rights()

    def _start(self) -> bool:
        # Its own session: Ctrl-C at the terminal ends its users first, and they end it.
        self._process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if self.command("PING") == "PONG":
                    return True
            except OSError:
                time.sleep(0.01)  # the only way to learn that a server listens is to try
        self._end()
        return False

    def command(self, *words: str) -> str:
        """Sends one command on a connection of its own; returns a simple or bulk reply as text."""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection,
            connection.makefile("rwb") as file,
        ):
            for request in (("AUTH", ADMIN, "any password"), words):
                file.write(b"*%d\r\n" % len(request))
                for word in request:
                    file.write(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()))
            file.flush()
            if not file.readline().startswith(b"+OK"):
                raise RuntimeError("the server does not know its administrator")
            head = file.readline().decode().rstrip("\r\n")
            if head.startswith("$"):
                return file.read(int(head[1:]) + 2)[:-2].decode()
            if head.startswith("-") or not head:
                raise RuntimeError(f"{words[0]}: {head!r}")
            return head[1:]

    def listeners(self, channel: str) -> int:
        """How many connections listen on a channel."""
        return int(self.command("EVAL", "return redis.call('PUBSUB', 'NUMSUB', ARGV[1])[2]", "0", channel))

    def _end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Ends the server and removes its folder. Stopping again does nothing."""
        self._end()
        self._folder.cleanup()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


class PrivateSentinel(PrivateRedis):
    """A sentinel by itself that watches a server of this machine."""

    def __init__(self, watched: int, password: str = "") -> None:
        """`watched` is the port of that server, which its clients are led to; `password` is that of the sentinel's clients."""
        super().__init__()
        self._watched = watched
        self._login = f">{password}" if password else "nopass"

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.port}/{MASTER}"

    def _command(self) -> list[str]:
        file = Path(self._folder.name, "sentinel.conf")
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {self._folder.name}",
            f"logfile {self._log()}",
            f"user default reset on {self._login} {' '.join(sentinel_rights())}",
            f"user {ADMIN} on nopass ~* &* +@all",
            # It would need another one to act.
            f"sentinel monitor {MASTER} 127.0.0.1 {self._watched} 2",
            f"sentinel auth-user {MASTER} {ADMIN}",
            f"sentinel auth-pass {MASTER} any-password",
        ]
        file.write_text("\n".join([*lines, ""]))
        return [self.program, str(file), "--sentinel"]


def free_port() -> int:
    """A loopback port that nobody listens on, and that no other process gets from here, or from tests/kit, in this one's life.

    It is below the ports that systems give to connections: one of these could take it while a server is started again.
    """
    for _ in range(10_000):
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            # Byte N is locked by the process that has port N.
            fcntl.lockf(_ports(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port between 20000 and 32000")


@functools.cache
def _ports() -> IO[bytes]:
    return Path(tempfile.gettempdir(), f"dlock-ports-{os.getuid()}").open("ab")
