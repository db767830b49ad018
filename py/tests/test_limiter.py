"""Rate limiters for threads: what Python adds to the core's own tests and tests/scenarios; lost replies, foreign keys."""

from __future__ import annotations

import dataclasses
import threading
import time
from datetime import timedelta
from typing import Any

import pytest

import libdlock
from conftest import TRIES
from proxy import Proxy
from redis_server import RedisServer


def test_what_cannot_be_carried_is_refused(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=5, per=timedelta(hours=1))
    for cost in (2**63, -(2**63) - 1, 10**30):
        with pytest.raises(libdlock.InvalidArgument, match="cost"):
            limiter.try_acquire(cost)
    for wrong in (1.0, "1", None, True):
        with pytest.raises(TypeError, match="cost"):
            limiter.try_acquire(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="rate"):
            client.rate_limiter(name, rate=wrong, per=1)  # type: ignore[arg-type]
    for period in (float("nan"), float("inf"), -1.0, 1e300):
        with pytest.raises(libdlock.InvalidArgument, match="per"):
            client.rate_limiter(name, rate=1, per=period)
    with pytest.raises(libdlock.InvalidArgument, match="wait"):
        limiter.acquire(1, wait=-1)
    for bad_name in ("", "a{", "a\0b", "\ud800"):
        with pytest.raises(libdlock.InvalidName):
            client.rate_limiter(bad_name, rate=1, per=1)


def test_a_period_is_the_nearest_microsecond(client: libdlock.Client, name: str) -> None:
    for too_short in (1e-9, 0.0000004, timedelta(0)):
        with pytest.raises(libdlock.InvalidArgument, match="1 us"):
            client.rate_limiter(name, rate=1, per=too_short)
    decision = client.rate_limiter(name, rate=1, per=1 / 3).try_acquire()
    assert decision.reset_after == 0.333333


def test_a_decision_is_as_true_as_its_permission(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=1, per=3600)
    assert limiter.try_acquire()
    refused = limiter.try_acquire()
    assert not refused
    assert refused.retry_after is not None
    assert 3590 < refused.retry_after <= 3600
    assert refused.server_time is not None
    assert abs(refused.server_time / 1e6 - time.time()) < 60
    with pytest.raises(dataclasses.FrozenInstanceError):
        refused.allowed = True  # type: ignore[misc]
    assert limiter.name == name


def test_a_wait_is_as_long_as_it_has_to_be(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=10, per=1, burst=1)
    for _ in TRIES:
        limiter.reset()
        began = time.monotonic()
        assert limiter.acquire()
        assert limiter.acquire(wait=5)
        waited = time.monotonic() - began
        assert waited >= 0.09
        # One that cannot be long enough is refused at once.
        began = time.monotonic()
        refused = not limiter.acquire(wait=0.01)
        took = time.monotonic() - began
        if refused and waited < 0.5 and took < 0.09:
            break
    else:
        pytest.fail(f"waited {waited} s; {refused=} after {took} s")


def test_threads_of_several_clients_share_one_bucket(url: str, name: str) -> None:
    granted: list[int] = []  # the server's times

    def work(client: libdlock.Client) -> None:
        limiter = client.rate_limiter(name, rate=200, per=1, burst=20)
        for _ in range(15):
            decision = limiter.acquire(wait=10)
            assert decision.server_time is not None
            if decision:
                granted.append(decision.server_time)

    clients = [libdlock.connect(url) for _ in range(2)]
    threads = [threading.Thread(target=work, args=(client,)) for client in clients for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for client in clients:
        client.close()
    assert len(granted) == 120
    granted.sort()
    # For every pair of grants: no more in between than the burst and what the rate brought, 1 us of slack.
    for i, first in enumerate(granted):
        for j in range(i + 1, len(granted)):
            assert j - i <= 20 + 200 * (granted[j] - first + 1) / 1e6


def test_a_decision_whose_reply_was_lost_counts_as_spent(
    proxy: Proxy, server: RedisServer, name: str
) -> None:
    # Without the blocking calls' connections: the reply that is lost is the decision's, and not that of one being opened.
    proxied = libdlock.connect(proxy.url, blocking_connections=0)
    with proxied as client, libdlock.connect(server.url) as other:
        limiter = client.rate_limiter(name, rate=5, per=3600)
        assert limiter.try_acquire()
        proxy.reset_at_reply_to(name)
        with pytest.raises(libdlock.OutcomeUnknown):
            limiter.try_acquire(2)
        assert other.rate_limiter(name, rate=5, per=3600).peek().remaining == 2


def test_what_is_no_limiter_is_left_alone(server: RedisServer, name: str) -> None:
    key = f"dlock_limit:{{{name}}}"
    with libdlock.connect(server.url) as client:
        limiter = client.rate_limiter(name, rate=5, per=1)
        server.command("HSET", key, "a", "b")
        with pytest.raises(libdlock.WrongType):
            limiter.try_acquire()
        assert server.command("HGET", key, "a") == b"b"
        server.command("DEL", key)
        server.command("SET", key, "text")
        with pytest.raises(libdlock.WrongType) as caught:
            limiter.try_acquire()
        assert "lua" not in str(caught.value).lower()
        assert server.command("GET", key) == b"text"
        # An absurd time is pulled back to one span from now, and locks nobody out for longer.
        server.command("SET", key, "9" * 15)
        refused = limiter.try_acquire()
        assert not refused
        assert refused.retry_after is not None
        assert refused.retry_after <= 1


@pytest.mark.parametrize("policy", ["fail", "deny", "allow", "local_share"])
def test_the_policy_for_an_absent_server(own_server: RedisServer, name: str, policy: Any) -> None:
    share: dict[str, Any] = {"share_of": 2} if policy == "local_share" else {}
    with libdlock.connect(own_server.url, response_timeout=0.3, operation_timeout=0.5) as client:
        limiter = client.rate_limiter(name, rate=4, per=3600, absent=policy, **share)
        assert limiter.try_acquire()
        own_server.kill()
        if policy == "fail":
            with pytest.raises(libdlock.DlockError) as caught:
                limiter.try_acquire()
            assert isinstance(caught.value, libdlock.ConnectionFailed | libdlock.OutcomeUnknown)
            return
        answers = [limiter.try_acquire() for _ in range(4)]
        allowed = {"deny": 0, "allow": 4, "local_share": 2}[policy]
        assert [bool(answer) for answer in answers] == [True] * allowed + [False] * (4 - allowed)
        assert {answer.server_time for answer in answers} == {None}


def test_policies_that_there_are_not(client: libdlock.Client) -> None:
    for wrong in (
        {"absent": "perhaps"},
        {"absent": "local_share"},
        {"absent": "local_share", "share_of": 10**9},
        {"share_of": 4},
        {"absent": "deny", "share_of": 4},
    ):
        with pytest.raises(libdlock.InvalidArgument):
            client.rate_limiter("k", rate=1, per=1, **wrong)


def test_a_limiter_keeps_its_client_and_ends_with_it(url: str, name: str) -> None:
    client = libdlock.connect(url)
    limiter = client.rate_limiter(name, rate=1, per=1, burst=1)
    client.close()
    for call in (limiter.try_acquire, limiter.acquire, limiter.peek, limiter.reset):
        with pytest.raises(libdlock.Closed):
            call()
    with pytest.raises(libdlock.Closed):
        client.rate_limiter(name, rate=1, per=1)


def test_every_key_has_a_time_to_live(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as client:
        client.rate_limiter(name, rate=5, per=60).try_acquire()
    (key,) = server.command("KEYS", f"*{name}*")  # type: ignore[misc]
    assert isinstance(key, bytes)
    ttl = server.command("PTTL", key)
    assert isinstance(ttl, int)
    assert 0 < ttl <= 60_001


def test_keys_are_told_apart(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=2, per=3600)
    assert limiter.try_acquire(2, key="user:1")
    assert not limiter.acquire(1, wait=0.01, key="user:1")
    assert limiter.peek(key="user:2").remaining == limiter.peek().remaining == 2
    limiter.reset(key="user:1")
    assert limiter.peek(key="user:1").remaining == 2
    assert client.rate_limiter(f"{name}:user:1", rate=2, per=3600).try_acquire(2)
    assert not limiter.try_acquire(key="user:1")


def test_what_is_no_key_is_refused_in_words(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=2, per=3600)
    for key, says in (
        ("", "the key is empty"),
        ("k" * 10_000, "with this key, the name is 1[0-9]{4} bytes long"),
        ("{", "hash tag"),
        ("{}", "hash tag"),
        ("a\0", "NUL"),
        ("\ud800", "UTF-8"),
    ):
        for call in (limiter.try_acquire, limiter.acquire, limiter.peek, limiter.reset):
            with pytest.raises(libdlock.InvalidName, match=says):
                call(key=key)
        (answer,) = limiter.try_acquire_many([(key, 1)])
        assert isinstance(answer, libdlock.Undecided)
        assert isinstance(answer.error, libdlock.InvalidName)
    for wrong in (1, b"user", ["user"]):
        with pytest.raises(TypeError, match="a key must be str"):
            limiter.try_acquire(key=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a key must be str"):
            limiter.try_acquire_many([(wrong, 1)])  # type: ignore[list-item]
    assert limiter.try_acquire(key="a\nb")
    assert limiter.try_acquire(key="\U0001f511")


def test_a_batch_answers_each_item_by_itself(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=3, per=3600)
    answers = limiter.try_acquire_many([("a", 2), ("b", 4), ("a", 2), ("", 1), ("c", -1), ("a", 1)])
    assert [bool(answer) for answer in answers] == [True, False, False, False, False, True]
    assert [answer.allowed for answer in answers] == [True, False, False, False, False, True]
    kinds = [answer.error.kind for answer in answers if isinstance(answer, libdlock.Undecided)]
    assert kinds == ["INVALID_NAME", "INVALID_ARGUMENT"]
    assert isinstance(answers[1], libdlock.Decision) and answers[1].retry_after is None
    assert isinstance(answers[2], libdlock.Decision)
    assert answers[2].remaining == 1
    for wrong in ([], [("a", 1)] * 10_001):
        with pytest.raises(libdlock.InvalidArgument, match="1 to 10000 items"):
            limiter.try_acquire_many(wrong)
    assert len(limiter.try_acquire_many((f"user:{number}", 1) for number in range(10_000))) == 10_000


def test_a_batch_is_pairs_and_a_cost_beyond_reason_is_an_answer(client: libdlock.Client, name: str) -> None:
    limiter = client.rate_limiter(name, rate=10, per=3600)
    wrong: list[Any] = ["ab", {"a": 1}, {"ab": 1}, None, 5, [1], ["ab"], [("a",)], [("a", 1, 2)], [None]]
    for items in wrong:
        with pytest.raises(TypeError, match=r"pair.? \(key, cost\)"):
            limiter.try_acquire_many(items)
    first, second, third, last = limiter.try_acquire_many([("a", 1), ("b", 2**63), ["c", -(2**70)], ("d", 2)])  # type: ignore[list-item]
    assert (first.allowed, last.allowed) == (True, True)
    for refused in (second, third):
        assert isinstance(refused, libdlock.Undecided)
        with pytest.raises(libdlock.InvalidArgument, match="integers of 64 bits"):
            raise refused.error


def test_a_server_that_is_away_leaves_each_item_unknown(proxy: Proxy) -> None:
    with libdlock.connect(proxy.url, response_timeout=0.3) as client:
        limiter = client.rate_limiter("away", rate=2, per=3600)
        assert limiter.try_acquire_many([("a", 1)])[0]
        proxy.hold_replies()
        answers = limiter.try_acquire_many([("a", 1), ("b", 1)])
        for answer in answers:
            assert isinstance(answer, libdlock.Undecided)
            assert isinstance(answer.error, libdlock.OutcomeUnknown)
