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


def test_the_name_may_have_parameters(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    held = []

    @client.synchronized(f"{name}:{{order.id}}:{{part}}", wait=0)
    def pay(order: object, part: int = 1) -> int:
        held.append([each for each in ("7:1", "8:2") if other.lock(f"{name}:{each}").locked()])
        return part

    class Order:
        def __init__(self, number: int) -> None:
            self.id = number

    assert (pay(Order(7)), pay(part=2, order=Order(8))) == (1, 2)
    assert held == [["7:1"], ["8:2"]]
    with other.lock(f"{name}:7:1"):
        with pytest.raises(libdlock.AcquireTimeout):
            pay(Order(7))
        assert pay(Order(8)) == 1
    tagged = client.synchronized(f"{{{{{name}}}}}:{{number}}")(
        lambda number: client.lock(f"{{{name}}}:{number}").hold_count
    )
    assert tagged(5) == 1
    whole = client.synchronized(f"{{{{{name}}}}}")(lambda: client.lock(f"{{{name}}}").hold_count)
    assert whole() == 1


def test_a_name_that_cannot_be_filled_in_is_refused(client: libdlock.Client, name: str) -> None:
    ran: list[object] = []
    for wrong in ("{oder_id}", "{}", "{0}", "{order_id:{width}}"):
        with pytest.raises(
            TypeError, match=r"the name names a parameter .* it has: order_id; write \{\{ and"
        ):
            client.synchronized(wrong)(lambda order_id: ran.append(order_id))
    for wrong in ("order:{order_id", "order:order_id}"):
        with pytest.raises(ValueError, match=r"the name 'order:.*; write \{\{ and \}\} for braces"):
            client.synchronized(wrong)
    with pytest.raises(TypeError, match="a name must be str, not int"):
        client.synchronized(5)  # type: ignore[arg-type]
    with pytest.raises(libdlock.InvalidName):
        client.synchronized("")
    with pytest.raises(libdlock.InvalidArgument):
        client.synchronized("{order_id}", lease=0)
    run = client.synchronized("{order_id}")(lambda order_id: ran.append(order_id))
    with pytest.raises(libdlock.InvalidName):
        run("")
    with pytest.raises(TypeError, match=r"the name names 'order_id', .* whose text is its address"):
        run(object())
    assert not ran


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
