"""The clients that integrations open by themselves: at the first request, in each process that serves requests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import Client


def opened_lazily(url: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of `connect` for a client that a request opens: a server that is away is then a matter of the limiter's
    `absent`, unless the program says otherwise."""
    given = {} if options is None else dict(options)
    return given if "lazy_connect" in url else {"lazy_connect": True, **given}


class OfProcess:
    """A client of each process."""

    def __init__(self) -> None:
        self._clients: dict[int, Client] = {}

    def current(self) -> Client | None:
        """The one of this process, if it is open. After a fork there is none."""
        client = self._clients.get(os.getpid())
        return None if client is None or client.closed else client

    def keep(self, opened: Client) -> Client:
        """The one that all use from now on: of two that were opened at once, the first.

        Without a lock, which would have to be one of whatever runs the requests: threads or greenlets.
        """
        process = os.getpid()
        kept = self._clients.setdefault(process, opened)
        if kept is not opened and kept.closed:
            self._clients[process] = kept = opened
        if kept is not opened:
            opened.close()
        return kept

    def close(self) -> None:
        """Closes the one of this process, if there is one."""
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()
