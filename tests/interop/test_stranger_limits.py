"""A client made from docs/protocol alone shares the reservations of limiters with the library."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import libdlock
import pytest
from helpers import SOON, Fleet, eventually
from stranger import Bucket, Stranger
from wire import Wire

#: Seven in 3 s: a third of a microsecond is left over in each.
TOKENS, PER_US, BURST = 7, 3_000_000, 2


@pytest.fixture
def stranger(fleet: Fleet) -> Iterator[Stranger]:
    one = Stranger(fleet.server.port)
    yield one
    one.close()


@pytest.fixture
def client(fleet: Fleet) -> Iterator[libdlock.Client]:
    with libdlock.connect(f"redis://127.0.0.1:{fleet.server.port}") as client:
        yield client


def test_reservations_of_both_stand_in_one_order(stranger: Stranger, client: libdlock.Client) -> None:
    bucket = Bucket("stranger-limit", TOKENS, PER_US, BURST)
    limiter = client.rate_limiter(bucket.name, rate=TOKENS, per=PER_US / 1e6, burst=BURST)
    spent = stranger.judge(bucket, BURST)
    assert spent[0] == 1
    decisions: list[libdlock.Decision] = []

    def wait() -> None:
        decisions.append(limiter.acquire(wait=SOON))

    ours = threading.Thread(target=wait)
    ours.start()
    eventually("ours has reserved", lambda: not limiter.peek() and limiter.peek().reset_after > 0.9)
    granted, now, us, part = stranger.judge(bucket, 1, wait_us=5_000_000)
    assert granted == 1
    ours.join(SOON)
    (decision,) = decisions
    assert decision and decision.server_time is not None
    # Ours comes with the next token, theirs with the one after it; both from when the bucket was emptied.
    emptied, each = spent[1], PER_US / TOKENS
    assert abs(decision.server_time - (emptied + each)) <= 2
    horizon = BURST * PER_US / TOKENS
    assert abs(us + 1_735_689_600_000_000 - horizon - (emptied + 2 * each)) <= 2
    assert stranger.give_back(bucket, 1, [us, part]) == 1
    assert now < decision.server_time


def test_the_texts_of_the_key_are_read_by_both(stranger: Stranger, client: libdlock.Client, fleet: Fleet) -> None:
    bucket = Bucket("stranger-texts", TOKENS, 3_600_000_000, BURST)
    limiter = client.rate_limiter(bucket.name, rate=TOKENS, per=3600, burst=BURST)
    assert stranger.judge(bucket, BURST)[0] == 1
    theirs = stranger.judge(bucket, 1, wait_us=3_600_000_000)
    assert theirs[0] == 1
    with Wire(fleet.server.port) as wire:
        text = str(wire.command("GET", f"dlock_limit:{{{bucket.name}}}"))
    assert text.endswith(f"/{TOKENS}0000000000000000"), text
    seen = limiter.peek()
    assert not seen and seen.reset_after == pytest.approx(3 * 3600 / TOKENS, abs=SOON)
    refused = limiter.acquire(wait=60)
    assert not refused and refused.retry_after == pytest.approx(2 * 3600 / TOKENS, abs=SOON)
    assert stranger.give_back(bucket, 1, theirs[2:]) == 1
    after = limiter.peek()
    assert after.reset_after == pytest.approx(2 * 3600 / TOKENS, abs=SOON)


def test_what_is_fetched_and_put_back_counts_for_both(stranger: Stranger, client: libdlock.Client) -> None:
    bucket = Bucket("stranger-fetch", TOKENS, 3_600_000_000, 7)
    limiter = client.rate_limiter(bucket.name, rate=TOKENS, per=3600, burst=7)
    granted, _, *before, us, part = stranger.fetch(bucket, 5)
    assert granted == 1 and before != [us, part]
    assert limiter.peek().remaining == 2
    # Two of them were used.
    assert stranger.put_back(bucket, 3, [us, part]) == 1
    assert limiter.peek().remaining == 5
    fetched = stranger.fetch(bucket, 4)
    assert fetched[0] == 1 and limiter.acquire(1)
    assert stranger.put_back(bucket, 4, fetched[4:]) == 0, "ours is behind it"
    assert not limiter.peek() and stranger.fetch(bucket, 1)[0] == 0
