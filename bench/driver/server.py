"""A server to measure on, and what it spends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from certificates import Authority, WithTls  # noqa: E402
from private_cluster import PRIMARIES, ClusterNode, PrivateCluster  # noqa: E402
from private_redis import PROGRAM, PrivateRedis  # noqa: E402

__all__ = [
    "OTHERS",
    "PROGRAM",
    "ROOT",
    "SCRIPTS",
    "ClusterServer",
    "Place",
    "QuorumServer",
    "Server",
    "Spent",
    "TlsServer",
    "cpu_seconds",
]

TICK = os.sysconf("SC_CLK_TCK")

#: Calls of scripts. What a script calls is in the server's statistics too, under its own name, and is not a request.
SCRIPTS = frozenset({"eval", "evalsha"})
#: Other requests that no script makes.
OTHERS = frozenset(
    {"subscribe", "unsubscribe", "ping", "hello", "client", "client|setinfo", "client|setname", "script|load"}
)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


@dataclass(frozen=True)
class Spent:
    """What a server has done between two moments."""

    requests: int
    requests_us: float  # inside them, by the server's own account
    cpu_us: float

    def __sub__(self, before: Spent) -> Spent:
        return Spent(self.requests - before.requests, self.requests_us - before.requests_us, self.cpu_us - before.cpu_us)


def together(each: Iterable[Spent]) -> Spent:
    """By several servers."""
    spent = list(each)
    return Spent(sum(one.requests for one in spent), sum(one.requests_us for one in spent), sum(one.cpu_us for one in spent))


class Server(PrivateRedis):
    """A private server that tells what it has spent."""

    every_right = True  # the peers' libraries run commands of their own

    def __enter__(self) -> Server:
        super().__enter__()
        return self

    def spent(self, counted: frozenset[str] = SCRIPTS) -> Spent:
        """Since its start, on the commands that are counted."""
        calls, usec = 0, 0.0
        for line in self.command("INFO", "commandstats").splitlines():
            name, _, values = line.partition(":")
            if name.removeprefix("cmdstat_") in counted:
                numbers = dict(pair.split("=") for pair in values.strip().split(","))
                calls += int(numbers["calls"])
                usec += float(numbers["usec"])
        return Spent(calls, usec, 1e6 * cpu_seconds(self.pid))

    def clear(self) -> None:
        """Removes every key."""
        self.command("FLUSHALL")

    def freeze(self) -> None:
        """From now on it does not answer; its connections stay."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        os.kill(self.pid, signal.SIGCONT)


class Node(ClusterNode, Server):
    """A node of a cluster that tells what it has spent."""


class ClusterServer(PrivateCluster):
    """Six nodes, of which three are replicas, in place of a server."""

    def __init__(self) -> None:
        super().__init__(replicas=1, make=Node)

    def __enter__(self) -> ClusterServer:
        super().__enter__()
        return self

    def spent(self, counted: frozenset[str] = SCRIPTS) -> Spent:
        """By all nodes."""
        return together(node.spent(counted) for node in self.nodes if isinstance(node, Node))

    def clear(self) -> None:
        """Removes every key."""
        for node in self.nodes[:PRIMARIES]:
            node.command("FLUSHALL")


class QuorumServer:
    """Five servers that know nothing of each other, in place of one: a majority of them grants each lock."""

    NUMBER = 5

    def __init__(self) -> None:
        self.servers = [Server() for _ in range(self.NUMBER)]
        self._open = ExitStack()

    @property
    def url(self) -> str:
        """Of all five. They have just started, and would not count for a minute: `data_survives` says that they lost nothing."""
        addresses = ",".join(f"127.0.0.1:{server.port}" for server in self.servers)
        return f"redis+quorum://{addresses}?data_survives=true"

    def __enter__(self) -> QuorumServer:
        with ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server)
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    def spent(self, counted: frozenset[str] = SCRIPTS) -> Spent:
        """By all five."""
        return together(server.spent(counted) for server in self.servers)

    def clear(self) -> None:
        """Removes every key."""
        for server in self.servers:
            server.clear()


class TlsServer(WithTls, Server):
    """The same, which workers reach by TLS. Its certificates are in a folder of the caller's."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder / "authority")
        super().__init__(authority, authority.issue("server"))

    def __enter__(self) -> TlsServer:
        super().__enter__()
        return self

    @property
    def url(self) -> str:
        return f"{self.tls_url}?tls_ca_file={self.authority.file}"


#: What a worker can be sent to.
Place = Server | ClusterServer | QuorumServer
