"""What the scenarios of Sentinel meet: sentinels that watch a server, with and without a password."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property

import helpers  # noqa: F401  scripts/ is on the path from there on
from private_redis import PrivateSentinel

PASSWORD = "of-the-sentinels"


class SentinelServers:
    """Started when a scenario first names one of them, and kept."""

    def __init__(self, server: int) -> None:
        """`server` is the port of the server that they watch."""
        self._server = server
        self._open = ExitStack()

    @cached_property
    def values(self) -> dict[str, str]:
        """What a scenario may name, as `$sentinel.url`."""
        open_one = self._open.enter_context(PrivateSentinel(self._server))
        closed = self._open.enter_context(PrivateSentinel(self._server, PASSWORD))
        values = {
            "url": open_one.url,
            "unknown": open_one.url.replace("/orders", "/shop"),
            "closed": closed.url,
            "password": PASSWORD,
            "as_server": f"redis://127.0.0.1:{open_one.port}",
            "server_as_sentinel": f"redis+sentinel://127.0.0.1:{self._server}/orders",
        }
        return {f"sentinel.{name}": value for name, value in values.items()}

    def end(self) -> None:
        """No sentinel is left."""
        self._open.close()
