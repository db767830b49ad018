"""What the scenarios of a quorum meet: three servers that know nothing of each other, and nobody in place of two of them."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property

import helpers
import languages  # noqa: F401  api/ is on the path from there on
from access_docs import KINDS, every_client, of_one
from private_quorum import PrivateQuorum
from private_redis import PrivateRedis, free_port

USER, PASSWORD = "locks", "of-the-locks"


def rights_of_locks() -> list[str]:
    """What docs/operations.md says a user needs for locks, where their names begin as in the scenarios."""
    lock = next(each for each in KINDS if each.rights == "lock")
    rules = " ".join(part.partition("\n")[2] for part in (every_client(), of_one(lock))).split()
    return [rule.replace("<names>", "stock-*") for rule in rules]


class WithLocks(PrivateRedis):
    """A server with a user who has those rights and no other."""

    def _command(self) -> list[str]:
        user = ["--user", USER, "on", f">{PASSWORD}", "resetkeys", "resetchannels", "-@all"]
        return [*super()._command(), *user, *rights_of_locks()]


class QuorumServers:
    """Started when a scenario first names one of them, and kept."""

    def __init__(self) -> None:
        self._servers = PrivateQuorum(make=WithLocks)
        self._open = ExitStack()

    @cached_property
    def values(self) -> dict[str, str]:
        """What a scenario may name, as `$quorum.url`."""
        url = self._open.enter_context(self._servers).url
        values = {
            "url": url,
            "user": USER,
            "password": PASSWORD,
            "valkey": url.replace("redis", "valkey"),
            "mostly_nobody": f"{url.split(',')[0]},127.0.0.1:{free_port()},127.0.0.1:{free_port()}",
        }
        return {f"quorum.{name}": value for name, value in values.items()}

    def kill(self, number: int) -> None:
        """That server, from 1 on, is no more until the scenario is over or starts it again."""
        self._servers.kill(number - 1)

    def start_again(self) -> None:
        """Those that were killed are back, without their data."""
        self._servers.start_again()

    def listened(self, lock: str) -> None:
        """Waits until somebody listens for the release of a lock at each server that runs."""
        helpers.eventually(f"somebody listens for {lock}", lambda: set(self._servers.listeners(lock)) == {1})

    def held_at(self, lock: str, number: int) -> None:
        """Waits until so many of the servers that run have granted a lock."""

        def granted() -> int:
            return sum(server.command("EXISTS", lock) == "1" for server in self._servers.running)

        helpers.eventually(f"{number} servers have granted {lock}", lambda: granted() == number)

    def end(self) -> None:
        """No server is left."""
        self._open.close()
