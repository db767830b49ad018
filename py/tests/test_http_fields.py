"""The fields of limited answers and the keys of addresses: tests/vectors/http.json, which every language reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

import libdlock
from conftest import VECTORS
from libdlock.integrations._fields import Policy, address_key, joined
from libdlock.integrations._refusal import Granted, Refusal, decided, undecided
from libdlock.integrations.asgi import with_fields

FILE = json.loads((VECTORS / "http.json").read_text())


def seconds(duration_us: int | None) -> float | None:
    return None if duration_us is None else duration_us / 1_000_000


def rate_of(row: dict[str, Any]) -> libdlock.Rate:
    return libdlock.Rate(row["tokens"], row["per_us"] / 1_000_000, row["burst"], row["algorithm"])


def decision_of(row: dict[str, Any]) -> libdlock.Decision:
    return libdlock.Decision(
        allowed=row["allowed"],
        granted=int(row["allowed"]),
        remaining=row["remaining"],
        retry_after=seconds(row["retry_after_us"]),
        reset_after=row["reset_after_us"] / 1_000_000,
        limit=row["limit"],
        refused_by=row["refused_by"],
        usable_after=0.0,
        server_time=row["server_time_us"],
    )


@pytest.mark.parametrize("row", FILE["vectors"], ids=lambda row: row["case"])
def test_a_decision_has_its_status_and_fields(row: dict[str, Any]) -> None:
    policy = Policy(row["name"], [rate_of(rate) for rate in row["rates"]])
    asked = decided(decision_of(row["decision"]), policy)
    assert (asked.status if isinstance(asked, Refusal) else None) == row["status"]
    fields = {
        "RateLimit-Policy": row["policy"],
        "RateLimit": row["limit"],
        "Retry-After": row["retry_after"],
    }
    assert dict(asked.fields) == {name: value for name, value in fields.items() if value is not None}


@pytest.mark.parametrize("row", FILE["addresses"], ids=lambda row: row["address"])
def test_an_address_has_its_key(row: dict[str, Any]) -> None:
    assert address_key(row["address"]) == row["key"]
    assert address_key(None) is None


def test_an_address_that_is_none_is_its_own_key() -> None:
    for odd in ("a:b", "1:2:3:4:5:6:7:8:9", "2001:db8::g"):
        assert address_key(odd) == odd


def test_nothing_of_a_name_leaves_its_text() -> None:
    for byte in (*range(0x300), 0xD800, 0xFFFF, 0x1F600):
        (_, value), *_ = Policy(f"a{chr(byte)}", [libdlock.Rate(1, 1)]).alone
        assert value.isascii()
        assert value.isprintable()
        inside = value.removesuffix(";q=1;w=1")[1:-1]
        assert '"' not in inside.replace('\\"', "").replace("\\\\", "")


def test_a_refusal_says_when_to_come_again() -> None:
    policy = Policy("api", [libdlock.Rate(1, 1)])
    row = {
        "allowed": False,
        "remaining": 0,
        "reset_after_us": 0,
        "limit": 1,
        "refused_by": 0,
        "server_time_us": 1,
    }
    refused = decided(decision_of({**row, "retry_after_us": 2_000_001}), policy)
    assert isinstance(refused, Refusal)
    assert json.loads(refused.body) == {
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "rate limit reached; try again in 3 s",
    }
    never = decided(decision_of({**row, "retry_after_us": None}), policy)
    assert isinstance(never, Refusal)
    assert never.detail == "rate limit reached; this request can never be granted"


def test_errors_have_the_status_of_their_kind() -> None:
    policy = Policy("api", [libdlock.Rate(1, 1)])
    for away in (libdlock.ConnectionFailed, libdlock.OutcomeUnknown, libdlock.OutOfMemory):
        refused = undecided(away("secret"), policy)
        assert (refused.status, dict(refused.fields)["Retry-After"]) == (503, "1")
        assert dict(refused.fields)["RateLimit-Policy"] == '"api";q=1;w=1'
        assert b"secret" not in refused.body
    bad = undecided(libdlock.InvalidName("secret"), policy)
    assert (bad.status, bad.fields) == (400, ())
    assert b"secret" not in bad.body
    assert undecided(libdlock.Closed(), policy).status == 503
    for own in (libdlock.InvalidArgument, libdlock.WrongType):
        with pytest.raises(own):
            undecided(own(), policy)
    with pytest.raises(libdlock.InvalidName):  # the limiter's own name, before there was a limiter
        undecided(libdlock.InvalidName(), None)


def test_fields_that_are_there_are_kept() -> None:
    assert joined(None, "RateLimit", "b") == joined("", "RateLimit", "b") == "b"
    assert joined("a", "RateLimit", "b") == "a, b"
    assert joined("7", "Retry-After", "1") == "7"
    present = [(b"RateLimit", b"a"), (b"x", b"\xff"), (b"ratelimit", b"b"), (b"Retry-After", b"7")]
    assert with_fields(present, (("RateLimit", "c"), ("Retry-After", "1"), ("RateLimit-Policy", "p"))) == [
        (b"RateLimit", b"a"),
        (b"x", b"\xff"),
        (b"ratelimit", b"b, c"),
        (b"Retry-After", b"7"),
        (b"ratelimit-policy", b"p"),
    ]
    assert with_fields((), Granted().fields) == []
