"""Rate limiters' algorithms, several rates, reservations, penalties, rewards and blocks, for threads and for tasks."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

import libdlock
from libdlock import Rate, aio

ALGORITHMS = ["gcra", "fixed_window", "aligned_window", "sliding_log", "sliding_counter", "redisson"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_algorithm_counts(client: libdlock.Client, name: str, algorithm: Any) -> None:
    # A century has no border of an aligned window while this test runs.
    limiter = client.rate_limiter(name, rate=3, per=timedelta(days=36_000), algorithm=algorithm)
    assert limiter.rates == (Rate(3, timedelta(days=36_000), None, algorithm),)
    assert [limiter.try_acquire(2).allowed, limiter.try_acquire().allowed] == [True, True]
    refused = limiter.try_acquire()
    assert not refused
    assert (refused.refused_by, refused.limit, refused.remaining) == (0, 3, 0)


def test_a_rate_of_each_client_is_redissons(client: libdlock.Client, url: str, name: str) -> None:
    with libdlock.connect(url) as other:
        limiters = [
            each.rate_limiter(name, rate=1, per=3600, algorithm="redisson", per_client=True)
            for each in (client, other)
        ]
        assert all(limiter.try_acquire() for limiter in limiters)
        assert not any(limiter.try_acquire() for limiter in limiters)
    with pytest.raises(libdlock.InvalidArgument, match="per_client with redisson alone"):
        client.rate_limiter(name, rate=1, per=1, per_client=True)


def test_several_rates_grant_what_each_of_them_does(client: libdlock.Client, name: str) -> None:
    rates = [Rate(2, 1), Rate(3, 3600, algorithm="sliding_log")]
    limiter = client.rate_limiter(name, rates=rates)
    assert limiter.rates == tuple(rates)
    assert limiter.try_acquire(2)
    assert limiter.try_acquire().refused_by == 0
    assert limiter.acquire(wait=5)
    time.sleep(1.1)
    refused = limiter.try_acquire()
    assert refused.refused_by == 1
    assert refused.retry_after is not None
    assert refused.retry_after > 3500
    # A key has the same rates.
    assert limiter.try_acquire(2, key="a")
    assert limiter.try_acquire(key="a").refused_by == 0


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        ([], "1 to 8 rates"),
        ([Rate(1, 1)] * 9, "1 to 8 rates"),
        ([Rate(2, 1), Rate(3, 1)], "contradict each other"),
        ([Rate(2, 1, burst=3, algorithm="sliding_log")], "a burst with gcra alone"),
        ([Rate(10**6, 1, algorithm="sliding_log")], "sliding_counter"),
        ([Rate(1, 1, algorithm="leaky")], "there is no algorithm .*gcra, fixed_window.*redisson"),  # type: ignore[arg-type]
        ([Rate(-1, 1)], "rate -1"),
        ([Rate(1, -1)], "period -1000000 us"),
    ],
)
def test_rates_that_cannot_be_are_refused_in_words(
    client: libdlock.Client, name: str, rates: list[Rate], says: str
) -> None:
    with pytest.raises(libdlock.InvalidArgument, match=says):
        client.rate_limiter(name, rates=rates)


def test_a_limiter_takes_one_rate_or_rates(client: libdlock.Client, name: str) -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"rate": 1},
        {"per": 1},
        {"rate": 1, "per": 1, "rates": [Rate(1, 1)]},
        {"algorithm": "gcra", "rates": [Rate(1, 1)]},
        {"rates": [(1, 1)]},
        {"rates": Rate(1, 1)},
        {"rates": "10/s"},
        {"rates": 5},
    ]
    for given in wrong:
        with pytest.raises(TypeError, match=r"rate limiter takes|rates (takes|must be)"):
            client.rate_limiter(name, **given)


def test_a_reservation_says_when_it_may_be_used(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=2, per=3600)
    assert limiter.reserve(2).usable_after == 0
    assert not limiter.reserve(1, wait=1)
    later = limiter.reserve(key=None)
    assert later
    assert 1790 < later.usable_after <= 1800
    limiter.reward(1)
    again = limiter.reserve()
    assert 1790 < again.usable_after <= 1800
    assert limiter.reserve(2, key="user:1")
    assert limiter.reserve(1, key="user:1").usable_after > 1790


def test_penalty_and_reward_move_what_is_there(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=3, per=3600)
    limiter.penalty(2)
    assert limiter.peek().remaining == 1
    limiter.reward(1)
    assert limiter.peek().remaining == 2
    limiter.reward(3)
    assert limiter.peek().remaining == 3
    limiter.penalty(3, key="user:1")
    assert (limiter.peek(key="user:1").remaining, limiter.peek().remaining) == (0, 3)
    for tell in (limiter.penalty, limiter.reward):
        for tokens in (-1, 0, 4):
            with pytest.raises(libdlock.InvalidArgument, match=str(tokens)):
                tell(tokens)
        with pytest.raises(TypeError, match="tokens"):
            tell(1.5)  # type: ignore[arg-type]


def test_a_block_refuses_everybody_until_it_is_over(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=3, per=3600)
    limiter.block(60)
    refused = limiter.try_acquire()
    assert not refused
    assert (refused.refused_by, refused.remaining, refused.reset_after) == (None, 0, refused.retry_after)
    assert refused.retry_after is not None
    assert 59 < refused.retry_after <= 60
    assert limiter.try_acquire(key="user:1")
    limiter.block(0)
    assert limiter.try_acquire()
    began = time.monotonic()
    limiter.block(timedelta(milliseconds=200))
    assert limiter.acquire(wait=5)
    assert time.monotonic() - began > 0.19
    limiter.block(60, key="user:1")
    assert not limiter.try_acquire(key="user:1")
    limiter.reset(key="user:1")
    assert limiter.try_acquire(key="user:1")
    for length in (-1, timedelta(days=36_526)):
        with pytest.raises(libdlock.InvalidArgument, match="zero to 100 years"):
            limiter.block(length)


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_log"])
def test_a_key_of_another_algorithm_is_told_as_that(
    client: libdlock.Client, name: str, algorithm: Any
) -> None:
    assert client.rate_limiter(name, rate=3, per=3600).try_acquire()
    other = client.rate_limiter(name, rate=3, per=3600, algorithm=algorithm)
    with pytest.raises(
        libdlock.WrongType, match=f"no rate limit by {algorithm}.*same algorithm everywhere.*reset"
    ):
        other.try_acquire()
    other.reset()
    assert other.try_acquire()


def test_redissons_keys_have_no_place_for_these(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=3, per=3600, algorithm="redisson")
    for tell in (limiter.reserve, limiter.penalty, limiter.reward, limiter.block):
        with pytest.raises(libdlock.InvalidArgument, match="any other algorithm"):
            tell(1)


def test_more_than_can_ever_be_had_is_an_answer(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=3, per=3600)
    for decision in (limiter.try_acquire(4), limiter.acquire(4), limiter.reserve(4)):
        assert (decision.allowed, decision.granted, decision.retry_after) == (False, 0, None)


async def test_tasks_have_the_same_calls(aio_client: aio.Client, name: str) -> None:
    limiter = aio_client.rate_limiter(name, rates=[Rate(2, 3600), Rate(3, 36_000, algorithm="fixed_window")])
    assert limiter.rates[1].algorithm == "fixed_window"
    await limiter.penalty(1)
    await limiter.reward(1)
    assert (await limiter.reserve(2)).usable_after == 0
    assert (await limiter.reserve(1)).usable_after > 1790
    refused = await limiter.reserve(1)
    assert refused.usable_after > 3600
    await limiter.reset()
    await limiter.block(60)
    assert not await limiter.try_acquire()
    await limiter.block(0)
    assert await limiter.try_acquire()
    await limiter.penalty(1, key="user:1")
    assert (await limiter.peek(key="user:1")).remaining == 1
