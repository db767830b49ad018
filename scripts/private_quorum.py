"""Several redis-servers of one's own that know nothing of each other: see private_redis. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType

from private_redis import PrivateRedis


class PrivateQuorum:
    """Starts on entering, stops on leaving. The servers have just started: a client counts them only with `data_survives`."""

    def __init__(self, number: int = 3, make: Callable[[], PrivateRedis] = PrivateRedis) -> None:
        self.servers = [make() for _ in range(number)]
        self._killed: list[PrivateRedis] = []
        self._open = ExitStack()

    @property
    def running(self) -> list[PrivateRedis]:
        """Those that were not killed."""
        return [server for server in self.servers if server not in self._killed]

    @property
    def url(self) -> str:
        """Of all servers, without options."""
        return "redis+quorum://" + ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    def __enter__(self) -> PrivateQuorum:
        try:
            for server in self.servers:
                self._open.enter_context(server)
        except BaseException:
            self.stop()
            raise
        return self

    def listeners(self, lock: str) -> list[int]:
        """How many connections listen for the release of a lock, at each server that runs."""
        return [server.listeners(f"redisson_lock__channel:{{{lock}}}") for server in self.running]

    def kill(self, number: int) -> None:
        """Ends one of them, from 0 on, without a word. What it had is lost."""
        self.servers[number].kill()
        self._killed.append(self.servers[number])

    def start_again(self) -> None:
        """Starts those that were killed."""
        while self._killed:
            self._killed[-1].start_again()
            self._killed.pop()

    def stop(self) -> None:
        """Ends all servers. Stopping again does nothing."""
        self._open.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
