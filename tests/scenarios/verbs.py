"""What the verbs of Python's runners share: see README.md.

A verb is a coroutine, the same for threads and for tasks. For threads it never suspends: the calls of that package block.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import libdlock

Values = dict[str, Any]


async def done(call: Any) -> Any:
    """What a call brings: in the package for tasks it has to be awaited."""
    return await call if inspect.isawaitable(call) else call


def seconds(ms: str | None) -> float | None:
    return None if ms is None else int(ms) / 1000


def ms(length: float | None) -> int | None:
    return None if length is None else round(length * 1000)


def us(length: float | None) -> int | None:
    return None if length is None else round(length * 1_000_000)


class Verbs:
    """The objects of one scenario, by their names in it, and the verbs of clients. A method is a verb."""

    def __init__(self, url: str, connect: Callable[[str], Any]) -> None:
        self._url = url
        self._connect = connect
        self._clients: dict[str, Any] = {}
        self._things: dict[str, Any] = {}

    async def forget(self) -> Values:
        """The scenario is over."""
        for client in self._clients.values():
            await done(client.close())
        self._clients.clear()
        self._things.clear()
        return {}

    async def open(self, client: str, at: str | None = None, **options: str) -> Values:
        # Every language reads options from the URL alike.
        query = "&".join(f"{name}={value}" for name, value in options.items())
        url = at or self._url
        self._clients[client] = await done(self._connect(f"{url}?{query}" if query else url))
        return {}

    async def close(self, client: str, release: str = "false") -> Values:
        await done(self._clients[client].close(release=release == "true"))
        return {}


def word(value: Any) -> str:
    """A value as a word of an answer."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def told(values: Values, begin: str = "ok") -> str:
    """An answer with its values."""
    return " ".join([begin, *(f"{name}={word(value)}" for name, value in values.items())])


def failed(error: libdlock.DlockError) -> str:
    """The answer of a step that failed."""
    facts = {
        "holder": error.holder,
        "remaining_ms": ms(error.remaining),
        "retry_after_us": us(error.retry_after),
        "allowed": None if error.allowed is None else error.allowed.replace(" ", "_"),
        "retryable": error.retryable,
    }
    return f"{told(facts, f'error {error.kind}')} : {error}"


async def answer(runner: Verbs, line: str) -> str:
    """Does a step: a verb, its objects, its options."""
    verb, *words = line.split()
    options = dict(given.split("=", 1) for given in words if "=" in given)
    try:
        return told(await getattr(runner, verb)(*(given for given in words if "=" not in given), **options))
    except libdlock.DlockError as error:
        return failed(error)
