"""What an application answers while its server is away: docs/http.md, in every framework."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from apps import Answer, App, Running
from conftest import BOUNDS, FEW
from private_redis import PrivateRedis
from test_answers import assert_granted, assert_problem

#: Within this a client that has seen its server again asks it again.
COMES_BACK = 10.0
POLICY = '"demo";q=6;w=3600'


@pytest.fixture
def own_server() -> Iterator[PrivateRedis]:
    """A server that the test may stop."""
    with PrivateRedis() as server:
        yield server


@contextmanager
def hung(server: PrivateRedis) -> Iterator[None]:
    """The server takes requests and answers none."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def assert_unavailable(answer: Answer) -> None:
    assert_problem(answer, 503, "Service Unavailable")
    assert answer.fields["ratelimit-policy"] == POLICY
    assert answer.fields["retry-after"] == "1"
    assert "ratelimit" not in answer.fields


def first_granted(running: Running) -> Answer:
    """The first answer that is none of 503."""
    deadline = time.monotonic() + COMES_BACK
    while (answer := running.get("/limited")).status == 503:
        assert time.monotonic() < deadline, f"still 503 after {COMES_BACK} s"
        time.sleep(0.02)
    return answer


def test_without_a_policy_nothing_passes(app: App, own_server: PrivateRedis) -> None:
    with Running(app, own_server.url + BOUNDS, **FEW) as running:
        assert_granted(running.get("/limited"), "demo", 5)
        with hung(own_server):
            assert_unavailable(running.get("/limited"))
            assert running.get("/").status == 200
        assert first_granted(running).status == 200

        own_server.kill()
        assert_unavailable(running.get("/limited"))
        assert running.get("/").status == 200
        own_server.start_again()
        assert_granted(first_granted(running), "demo", 5)


def test_an_application_starts_before_its_server(app: App, own_server: PrivateRedis) -> None:
    own_server.kill()
    with Running(app, own_server.url + BOUNDS, **FEW) as running:
        assert running.get("/").status == 200
        assert_unavailable(running.get("/limited"))
        own_server.start_again()
        assert_granted(first_granted(running), "demo", 5)


def test_the_policy_allow_lets_requests_pass(app: App, own_server: PrivateRedis) -> None:
    with Running(app, own_server.url + BOUNDS, LIMIT_ABSENT="allow", **FEW) as running:
        assert_granted(running.get("/limited"), "demo", 5)
        own_server.kill()
        for _ in range(8):
            answer = running.get("/limited")
            assert (answer.status, answer.body) == (200, b"ok")
            assert answer.fields["ratelimit-policy"] == POLICY
            assert not {"ratelimit", "retry-after"} & set(answer.fields)


def test_the_policy_deny_refuses_requests(app: App, own_server: PrivateRedis) -> None:
    with Running(app, own_server.url + BOUNDS, LIMIT_ABSENT="deny", **FEW) as running:
        assert_granted(running.get("/limited"), "demo", 5)
        own_server.kill()
        for _ in range(3):
            answer = running.get("/limited")
            assert_problem(answer, 429, "Too Many Requests")
            assert answer.fields["ratelimit-policy"] == POLICY
            assert int(answer.fields["retry-after"]) >= 1
            assert "ratelimit" not in answer.fields


def test_the_policy_local_share_grants_half_of_the_rate(app: App, own_server: PrivateRedis) -> None:
    with Running(app, own_server.url + BOUNDS, LIMIT_ABSENT="local_share", **FEW) as running:
        own_server.kill()
        answers = [running.get("/limited") for _ in range(12)]
        passed = [answer for answer in answers if answer.status == 200]
        # Of six tokens a half for each process. Not each of several processes need get three of the requests.
        assert 3 <= len(passed) <= 3 * app.processes, [answer.status for answer in answers]
        for answer in answers:
            assert answer.fields["ratelimit-policy"] == POLICY
            assert "ratelimit" not in answer.fields
            if answer.status != 200:
                assert_problem(answer, 429, "Too Many Requests")
                assert int(answer.fields["retry-after"]) >= 1


def test_clients_that_go_away_meanwhile_do_no_harm(app: App, own_server: PrivateRedis) -> None:
    with Running(app, own_server.url + BOUNDS, **FEW) as running:
        assert running.get("/limited").status == 200
        with hung(own_server):
            for _ in range(24):
                with socket.create_connection(("127.0.0.1", running.port)) as connection:
                    connection.sendall(b"GET /limited HTTP/1.1\r\nHost: a\r\n\r\n")
                    # A reset, not a polite end.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # What they asked for may still be granted, now that the server goes on: then nothing is left for this address.
        assert first_granted(running).status in (200, 429)
        assert running.get("/").status == 200
        assert_granted(running.get("/limited", source="127.0.0.2"), "demo", 5)


def test_an_application_ends_by_sigterm(app: App, own_server: PrivateRedis) -> None:
    with Running(app, own_server.url + BOUNDS, **FEW) as running:
        assert running.get("/limited").status == 200
    # What ends with the signal itself is as good: not every framework lets an application say how it ends.
    assert running.exit_code in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
