"""`@client.synchronized`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

import libdlock


def test_the_function_runs_under_the_lock(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    @client.synchronized(name, lease=10, wait=1)
    def add(left: int, *, right: int = 1) -> int:
        """Adds."""
        assert client.lock(name).hold_count == 1
        assert not other.lock(name).acquire(blocking=False)
        return left + right

    assert add(2, right=3) == 5
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert not client.lock(name).locked()


def test_it_may_call_itself(client: libdlock.Client, name: str) -> None:
    @client.synchronized(name)
    def factorial(n: int) -> int:
        return 1 if n == 0 else n * factorial(n - 1)

    assert factorial(5) == 120
    assert client.lock(name).hold_count == 0


def test_busy_raises_and_the_function_does_not_run(
    client: libdlock.Client, other: libdlock.Client, name: str
) -> None:
    ran = []

    @client.synchronized(name, wait=0)
    def run() -> None:
        ran.append(1)

    with other.lock(name), pytest.raises(libdlock.AcquireTimeout):
        run()
    assert not ran


def test_an_exception_passes_and_the_lock_is_free(client: libdlock.Client, name: str) -> None:
    @client.synchronized(name)
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert not client.lock(name).locked()


def test_functions_that_suspend_are_refused(client: libdlock.Client, name: str) -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def both() -> AsyncIterator[int]:
        yield 1

    decorate = client.synchronized(name)
    for function in (coroutine, generator, both):
        with pytest.raises(TypeError):
            decorate(function)
