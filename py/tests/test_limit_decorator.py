"""`@limiter.limit`, for functions and for coroutine functions."""

from __future__ import annotations

import copy
import functools
import pickle
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import libdlock
from libdlock import aio
from redis_server import RedisServer


@pytest.fixture
def limiter(client: libdlock.Client, name: str) -> libdlock.RateLimiter:
    return client.rate_limiter(name, rate=2, per=3600)


@pytest.fixture
def tasks(aio_client: aio.Client, name: str) -> aio.RateLimiter:
    return aio_client.rate_limiter(name, rate=2, per=3600)


def test_each_call_takes_a_token_first(limiter: libdlock.RateLimiter) -> None:
    @limiter.limit(wait=0)
    def add(left: int, *, right: int = 1) -> int:
        """Adds."""
        return left + right

    assert (add(1, right=2), add(3)) == (3, 4)
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    with pytest.raises(libdlock.RateLimited) as refused:
        add(1)
    assert limiter.peek().remaining == 0
    error = refused.value
    assert not error.decision
    assert error.retry_after == error.decision.retry_after
    assert error.retry_after is not None
    assert 1700 < error.retry_after <= 1800
    assert (error.code, error.kind, error.op, error.name) == (2, "LIMITED", "rate limit", limiter.name)
    assert error.retryable
    assert (
        str(error)
        == f"rate limiter {limiter.name!r}: the call was refused; again in {error.retry_after:.0f} s"
    )


def test_a_refused_function_is_not_called(limiter: libdlock.RateLimiter) -> None:
    ran = []
    run = limiter.limit(cost=3)(lambda: ran.append(1))
    with pytest.raises(libdlock.RateLimited, match="never") as refused:
        run()
    assert not ran
    assert (refused.value.retry_after, refused.value.retryable) == (None, False)
    assert limiter.peek().remaining == 2


def test_the_error_can_be_copied_and_pickled(limiter: libdlock.RateLimiter) -> None:
    with pytest.raises(libdlock.RateLimited) as refused:
        limiter.limit(cost=3)(lambda: None)()
    for same in (copy.copy(refused.value), pickle.loads(pickle.dumps(refused.value))):
        assert (str(same), same.decision) == (str(refused.value), refused.value.decision)


def test_a_call_waits_for_its_tokens_as_acquire_does(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=20, per=1, burst=1)
    run = limiter.limit()(lambda: time.monotonic())
    began = time.monotonic()
    run()
    assert 0.04 < run() - began < 1  # a token comes each 50 ms
    with pytest.raises(libdlock.RateLimited):
        limiter.limit(wait=0.001)(lambda: None)()


def test_the_key_is_a_text_with_parameters(limiter: libdlock.RateLimiter) -> None:
    @limiter.limit(key="user:{user_id}", wait=0)
    def greet(user_id: int, greeting: str = "hello") -> str:
        return f"{greeting} {user_id}"

    assert (greet(1), greet(user_id=1)) == ("hello 1", "hello 1")
    with pytest.raises(libdlock.RateLimited):
        greet(1)
    assert greet(2) == "hello 2"
    assert limiter.peek(key="user:1").remaining == 0
    assert limiter.peek(key="user:2").remaining == 1

    by_default = limiter.limit(key="{greeting}", wait=0)(lambda greeting="hi": greeting)
    by_default()
    assert limiter.peek(key="hi").remaining == 1
    assert limiter.limit(key="{text}", wait=0)(lambda text: text)("") == ""
    assert limiter.peek().remaining == 1


def test_an_object_without_a_text_of_its_own_is_no_key(limiter: libdlock.RateLimiter) -> None:
    class Mailer:
        host = "mx1"

        @limiter.limit(key="{self}", wait=0)
        def send(self) -> int:
            return 1

    class Named(Mailer):
        def __str__(self) -> str:
            return self.host

    mailers = [Mailer(), Mailer()]
    for mailer in mailers:
        with pytest.raises(TypeError, match=r"the key names 'self', a .*Mailer, whose text is its address"):
            mailer.send()
    by_parts = limiter.limit(key="{mailer.host}-{mailer!s:.{digits}}", wait=0)(lambda mailer, digits: 1)
    with pytest.raises(TypeError, match="the key names 'mailer', "):
        by_parts(mailers[0], 2)
    assert (Named().send(), by_parts(Named(), 2)) == (1, 1)
    assert [limiter.peek(key=key).remaining for key in ("mx1", "mx1-mx")] == [1, 1]
    with pytest.raises(TypeError, match="the key names a parameter 'width' that the function does not have"):
        limiter.limit(key="{text:{width}}")(lambda text: 1)


def test_a_collection_without_one_text_is_no_key(limiter: libdlock.RateLimiter) -> None:
    run = limiter.limit(key="{what}", wait=0)(lambda what: 1)
    for what in ([object()], ("a", [object()]), {"a": object()}, {object()}):
        with pytest.raises(
            TypeError, match=r"the key names 'what', a builtins\.object, whose text is its address"
        ):
            run(what)
    for unordered in ({"a", "b"}, [frozenset("ab")]):
        with pytest.raises(TypeError, match="whose order, and with it its text, is another in each process"):
            run(unordered)
    itself: list[object] = [1]
    itself.append(itself)
    for key in ("a", ["a", 1], {"a": (1, None)}, {"a"}, itself):
        assert run(key) == 1


def test_the_key_is_a_function_of_the_arguments(limiter: libdlock.RateLimiter) -> None:
    def key(user: str | None, *rest: object, **more: object) -> str | None:
        return user

    run = limiter.limit(key=key, wait=0)(lambda user, *rest, **more: (user, rest, more))
    assert run("ada", 1, more=2) == ("ada", (1,), {"more": 2})
    assert limiter.peek(key="ada").remaining == 1
    run(None)
    run("")
    assert limiter.peek().remaining == 0


def test_methods_are_functions_too(limiter: libdlock.RateLimiter) -> None:
    class Mailer:
        def __init__(self, host: str) -> None:
            self.host = host

        @limiter.limit(key="{self.host}", wait=0)
        def send(self) -> str:
            return self.host

        @staticmethod
        @limiter.limit(key="all", wait=0)
        def count() -> int:
            return 1

    mailer = Mailer("mx1")
    assert mailer.send() == "mx1"
    assert (mailer.count(), Mailer.count()) == (1, 1)
    assert limiter.peek(key="mx1").remaining == 1
    assert limiter.peek(key="all").remaining == 0


def test_what_is_no_function_is_refused(limiter: libdlock.RateLimiter, client: libdlock.Client) -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def both() -> AsyncIterator[int]:
        yield 1

    class Job:
        async def __call__(self) -> None: ...

    decorate: Callable[[Any], Any] = limiter.limit()
    for function, message in (
        (coroutine, "use a limiter of libdlock.aio.connect"),
        (Job(), "use a limiter of libdlock.aio.connect"),
        (functools.partial(Job()), "use a limiter of libdlock.aio.connect"),
        (functools.partial(coroutine), "use a limiter of libdlock.aio.connect"),
        (generator, "ask the limiter in its body"),
        (both, "ask the limiter in its body"),
        (staticmethod(lambda: None), "put @staticmethod above the decorator"),
        (classmethod(lambda cls: None), "put @classmethod above the decorator"),
        (RedisServer, "decorates a function"),
        (7, "decorates a function"),
    ):
        with pytest.raises(TypeError, match=message):
            decorate(function)


def test_arguments_are_checked_where_they_stand(limiter: libdlock.RateLimiter) -> None:
    with pytest.raises(TypeError, match="cost must be int"):
        limiter.limit(cost="1")  # type: ignore[arg-type]
    with pytest.raises(libdlock.InvalidArgument, match="wait"):
        limiter.limit(wait=float("nan"))
    with pytest.raises(TypeError, match="key must be str or a function, not int"):
        limiter.limit(key=7)(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"parameter 'user' .* it has: name"):
        limiter.limit(key="{user}")(lambda name: None)
    for odd in ("{}", "{0}"):
        with pytest.raises(TypeError, match="it has: none"):
            limiter.limit(key=odd)(lambda: None)


def test_a_key_function_may_fail(limiter: libdlock.RateLimiter) -> None:
    ran = []

    def fails() -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        limiter.limit(key=fails)(lambda: ran.append(1))()
    returns_int: Any = lambda: 7  # noqa: E731
    with pytest.raises(TypeError, match=r"the key function .*<lambda> must return str or None, not int"):
        limiter.limit(key=returns_int)(lambda: ran.append(1))()
    with pytest.raises(libdlock.InvalidName):
        limiter.limit(key=lambda: "k" * 10_000)(lambda: ran.append(1))()
    assert not ran
    assert limiter.peek().remaining == 2


def test_threads_get_as_many_calls_as_there_are_tokens(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=25, per=3600)
    ran, refused = [], []
    run = limiter.limit(wait=0)(lambda: ran.append(1))

    def calls() -> None:
        for _ in range(10):
            try:
                run()
            except libdlock.RateLimited:
                refused.append(1)

    threads = [threading.Thread(target=calls) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(ran), len(refused)) == (25, 55)


async def test_coroutine_functions_take_tokens_of_tasks(tasks: aio.RateLimiter) -> None:
    class Greeter:
        @tasks.limit(key="user:{user_id}", wait=0)
        async def greet(self, user_id: int) -> str:
            """Greets."""
            return f"hello {user_id}"

    greeter = Greeter()
    assert (await greeter.greet(1), await greeter.greet(user_id=1)) == ("hello 1", "hello 1")
    assert Greeter.greet.__doc__ == "Greets."
    with pytest.raises(aio.RateLimited) as refused:
        await greeter.greet(1)
    assert refused.value.decision.remaining == 0
    assert aio.RateLimited is libdlock.RateLimited


async def test_objects_are_called_as_coroutine_functions(tasks: aio.RateLimiter) -> None:
    class Job:
        async def __call__(self, number: int) -> int:
            return number

    for number, run in enumerate((tasks.limit(wait=0)(Job()), tasks.limit()(functools.partial(Job())))):
        assert await run(number) == number
    assert (await tasks.peek()).remaining == 0


async def test_only_coroutine_functions_suit_tasks(tasks: aio.RateLimiter) -> None:
    async def both() -> AsyncIterator[int]:
        yield 1

    decorate: Callable[[Any], Any] = tasks.limit()
    with pytest.raises(TypeError, match=r"use a limiter of libdlock\.connect"):
        decorate(lambda: None)
    with pytest.raises(TypeError, match="ask the limiter in its body"):
        decorate(both)
