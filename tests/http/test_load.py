"""Under 64 connections exactly as many requests pass as the limiter allows, in every framework."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from apps import App, Running
from conftest import PATIENT
from load import Load, generate
from private_redis import PrivateRedis

CONNECTIONS = 64
#: Less than every framework answers in a second, so that requests are refused.
TOKENS = 200
#: For how long an application is asked before it counts.
WARM_UP = 1.0
#: For the bucket: so many tokens in each second, and so many at once.
PER_SECOND, BURST = 50, 20


@pytest.fixture(scope="module")
def seconds(request: pytest.FixtureRequest) -> float:
    return 10.0 if request.config.getoption("--long") else 2.0


@pytest.fixture
def own_server() -> Iterator[PrivateRedis]:
    with PrivateRedis() as server:
        yield server


def loaded(app: App, server: PrivateRedis, path: str, seconds: float, **limit: object) -> Load:
    environment = {f"LIMIT_{name}": str(value) for name, value in limit.items()}
    with Running(app, server.url + PATIENT, **environment) as running:
        # Limiters of their own. A JVM loads what it needs with its first requests, which may take longer than a bucket.
        generate(running.url("/both"), WARM_UP, CONNECTIONS)
        load = generate(running.url(path), seconds, CONNECTIONS)
        assert not load.errors, (load.errors[:5], running.log())
    passed, refused = load.statuses[200], load.statuses[429]
    print(f"{app.name} {path}: {passed} passed, {refused} refused, {load.seconds:.3f} s, {load.connected} connections")
    assert load.answers == passed + refused, load.statuses
    assert refused > 0
    for status in (200, 429):
        for sample in load.samples[status]:
            assert {"ratelimit", "ratelimit-policy"} <= set(sample)
            assert ("retry-after" in sample) == (status == 429)
    return load


@pytest.mark.load
def test_of_a_window_exactly_its_tokens_pass(app: App, own_server: PrivateRedis, seconds: float) -> None:
    load = loaded(app, own_server, "/together", seconds, TOKENS=TOKENS, PERIOD_MS=3600_000, ALGORITHM="fixed_window")
    assert load.statuses[200] == TOKENS


@pytest.mark.load
def test_of_a_bucket_as_many_pass_as_it_fills(app: App, own_server: PrivateRedis, seconds: float) -> None:
    load = loaded(app, own_server, "/limited", seconds, TOKENS=PER_SECOND, PERIOD_MS=1000, BURST=BURST)
    # All decisions fell between the first request and the last answer. What comes in while nobody asks is lost only when the
    # bucket is full, which takes it 400 ms, and at the end.
    filled = PER_SECOND * load.seconds
    assert filled - PER_SECOND * load.stalled <= load.statuses[200] <= filled + BURST + 1
    assert load.stalled < load.seconds / 2
