"""What an application answers that limits its requests: docs/http.md, in every framework."""

from __future__ import annotations

import json
import re
import time

import libdlock
from apps import Answer, App, Running
from conftest import PATIENT
from private_redis import PrivateRedis

POLICY = '"{}";q=6;w=3600'
FIELDS = ("ratelimit", "ratelimit-policy", "retry-after")


def assert_no_fields(answer: Answer) -> None:
    assert not set(FIELDS) & set(answer.fields), answer.fields


def assert_problem(answer: Answer, status: int, title: str) -> None:
    assert answer.status == status, answer
    assert answer.fields["content-type"].split(";")[0] == "application/problem+json"
    again = answer.fields.get("retry-after")
    when = f"try again in {again} s" if again else "this request can never be granted"
    detail = {
        429: f"rate limit reached; {when}",
        503: "the rate limit cannot be decided now; try again in 1 s",
        400: "the key of the rate limit is too long, or has characters that it may not have",
    }[status]
    problem = json.loads(answer.body)
    assert problem == {"type": "about:blank", "title": title, "status": status, "detail": detail}


def assert_granted(answer: Answer, name: str, remaining: int) -> None:
    assert (answer.status, answer.body) == (200, b"ok"), answer
    assert answer.fields["ratelimit-policy"] == POLICY.format(name)
    found = re.fullmatch(rf'"{name}";r={remaining};t=(\d+)', answer.fields["ratelimit"])
    assert found, answer.fields["ratelimit"]
    assert 3500 < int(found[1]) <= 3600
    assert "retry-after" not in answer.fields


def assert_refused(answer: Answer, name: str, remaining: int = 0) -> None:
    assert_problem(answer, 429, "Too Many Requests")
    assert answer.fields["ratelimit-policy"] == POLICY.format(name)
    assert re.fullmatch(rf'"{name}";r={remaining};t=3[56]\d\d', answer.fields["ratelimit"]), answer.fields["ratelimit"]
    assert 3500 < int(answer.fields["retry-after"]) <= 3600


def spend(running: Running, path: str, headers: dict[str, str] | None = None, *, times: int = 6) -> list[int]:
    return [running.get(path, headers).status for _ in range(times)]


def test_a_route_without_a_limit_is_left_alone(running: Running) -> None:
    for _ in range(10):
        answer = running.get("/")
        assert (answer.status, answer.body) == (200, b"ok")
        assert_no_fields(answer)


def test_requests_are_granted_until_the_tokens_are_spent(running: Running) -> None:
    for remaining in range(5, -1, -1):
        assert_granted(running.get("/limited"), "demo", remaining)
    for _ in range(2):
        assert_refused(running.get("/limited"), "demo")


def test_each_address_has_tokens_of_its_own(running: Running) -> None:
    spend(running, "/limited")
    assert_refused(running.get("/limited"), "demo")
    assert_granted(running.get("/limited", source="127.0.0.2"), "demo", 5)


def test_forwarding_fields_of_a_client_are_not_believed(running: Running) -> None:
    for field in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "True-Client-IP"):
        spend(running, "/limited", {field: "for=192.0.2.1" if field == "Forwarded" else "192.0.2.1"}, times=2)
    for field in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "True-Client-IP"):
        value = "for=192.0.2.99" if field == "Forwarded" else "192.0.2.99"
        assert running.get("/limited", {field: value}).status == 429


def test_requests_without_a_key_share_their_tokens(running: Running) -> None:
    for remaining in range(5, -1, -1):
        answer = running.get("/together", source=f"127.0.0.{remaining + 1}")
        assert_granted(answer, "together", remaining)
    assert_refused(running.get("/together", source="127.0.0.9"), "together")


def test_each_user_has_tokens_of_their_own(running: Running) -> None:
    assert spend(running, "/user", {"X-User": "ada"}) == [200] * 6
    assert_refused(running.get("/user", {"X-User": "ada"}, source="127.0.0.2"), "user")
    assert_granted(running.get("/user", {"X-User": "grace"}), "user", 5)


def test_requests_without_a_user_share_their_tokens(running: Running) -> None:
    for remaining in range(5, 1, -1):
        assert_granted(running.get("/user", source=f"127.0.0.{remaining}"), "user", remaining)
    for remaining in (1, 0):
        assert_granted(running.get("/user", {"X-User": ""}), "user", remaining)
    assert_refused(running.get("/user"), "user")


def test_a_user_of_10_kb_is_a_bad_request(running: Running) -> None:
    answer = running.get("/user", {"X-User": "secret" * 1700})
    assert_problem(answer, 400, "Bad Request")
    assert_no_fields(answer)
    assert b"secret" not in answer.body
    assert_granted(running.get("/user", {"X-User": "ada"}), "user", 5)


def test_a_user_whose_name_has_odd_braces_is_a_bad_request(running: Running) -> None:
    answer = running.get("/user", {"X-User": "a{"})
    assert_problem(answer, 400, "Bad Request")
    assert b"a{" not in answer.body


def test_a_user_whose_name_is_not_ascii_is_like_any_other(running: Running) -> None:
    for remaining in range(5, -1, -1):
        assert_granted(running.get("/user", {"X-User": "\xe4\xdf"}), "user", remaining)
    assert_refused(running.get("/user", {"X-User": "\xe4\xdf"}), "user")


def test_a_request_may_cost_several_tokens(running: Running) -> None:
    assert_granted(running.get("/cost?n=4"), "cost", 2)
    assert_refused(running.get("/cost?n=3"), "cost", 2)
    assert_granted(running.get("/cost?n=2"), "cost", 0)


def test_what_costs_too_much_is_refused_without_a_time(running: Running) -> None:
    answer = running.get("/cost?n=7")
    assert_problem(answer, 429, "Too Many Requests")
    assert answer.fields["ratelimit"].startswith('"cost";r=6;')
    assert "retry-after" not in answer.fields
    assert_granted(running.get("/cost?n=6"), "cost", 0)


def test_a_key_function_that_fails_is_an_error_of_the_handler(running: Running) -> None:
    for _ in range(8):
        answer = running.get("/faulty")
        assert answer.status == 500
        assert answer.body != b"ok"
    assert running.get("/").status == 200


def test_two_limiters_answer_with_the_fields_of_both(running: Running) -> None:
    answer = running.get("/both")
    assert (answer.status, answer.body) == (200, b"ok")
    both = {POLICY.format("outer"), POLICY.format("inner")}
    assert set(answer.fields["ratelimit-policy"].split(", ")) == both
    assert {entry.split(";t=")[0] for entry in answer.fields["ratelimit"].split(", ")} == {'"outer";r=5', '"inner";r=5'}
    assert "retry-after" not in answer.fields


def test_when_the_outer_limiter_refuses_the_inner_is_not_asked(running: Running, server: PrivateRedis) -> None:
    assert spend(running, "/both") == [200] * 6
    with libdlock.connect(server.url) as client:
        inner = client.rate_limiter("inner", rate=6, per=3600, algorithm="fixed_window")
        inner.reset()
        assert_refused(running.get("/both"), "outer")
        assert inner.peek().remaining == 6


def test_when_the_inner_limiter_refuses_both_say_so(running: Running, server: PrivateRedis) -> None:
    with libdlock.connect(server.url) as client:
        assert client.rate_limiter("inner", rate=6, per=3600, algorithm="fixed_window").try_acquire(6)
    answer = running.get("/both")
    assert_problem(answer, 429, "Too Many Requests")
    assert {entry.split(";t=")[0] for entry in answer.fields["ratelimit"].split(", ")} == {'"outer";r=5', '"inner";r=0'}
    assert 3500 < int(answer.fields["retry-after"]) <= 3600


def test_requests_that_are_exempt_cost_nothing(running: Running) -> None:
    for _ in range(8):
        answer = running.get("/skip", {"X-Skip": "yes"})
        assert (answer.status, answer.body) == (200, b"ok")
        assert_no_fields(answer)
    assert_granted(running.get("/skip"), "skip", 5)
    assert_granted(running.get("/skip", {"X-Skip": "no"}), "skip", 4)


def test_the_body_of_a_refused_request_is_no_request(running: Running, server: PrivateRedis) -> None:
    spend(running, "/limited")
    hidden = b"GET /user HTTP/1.1\r\nHost: a\r\nX-User: hidden\r\n\r\n" * 2000
    refused = b"GET /limited HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(hidden) + hidden
    statuses = running.exchange(refused, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    # A server may end the connection rather than read on, even before the client has the answer.
    assert statuses in ([], [429], [429, 200])
    with libdlock.connect(server.url) as client:
        user = client.rate_limiter("user", rate=6, per=3600, algorithm="fixed_window")
        assert user.peek(key="hidden").remaining == 6


def test_whoever_waits_as_long_as_told_is_granted(app: App, server: PrivateRedis) -> None:
    with Running(app, server.url + PATIENT, LIMIT_TOKENS="1", LIMIT_PERIOD_MS="1500") as running:
        server.command("FLUSHALL")
        assert running.get("/limited").status == 200
        refused = running.get("/limited")
        assert refused.status == 429
        assert refused.fields["ratelimit-policy"] == '"demo";q=1;w=2'
        wait = int(refused.fields["retry-after"])
        assert wait <= 2
        time.sleep(wait)  # what is tested is that this is enough
        assert running.get("/limited").status == 200
