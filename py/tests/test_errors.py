"""The exceptions and the vectors that every language checks."""

from __future__ import annotations

import copy
import json
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import libdlock
from conftest import FACTS, VECTORS
from libdlock import _errors
from libdlock._options import DURATIONS, Options
from redis_server import RedisServer

BUILT_IN: dict[str, type[Exception]] = {
    "AcquireTimeout": TimeoutError,
    "InvalidArgument": ValueError,
    "InvalidName": ValueError,
    "NotHeld": RuntimeError,
    "LockLost": Exception,
    "Deadlock": RuntimeError,
    "ConnectionFailed": ConnectionError,
    "OutcomeUnknown": TimeoutError,
    "ServerError": Exception,
    "WrongType": TypeError,
    "OutOfMemory": MemoryError,
    "NoPermission": PermissionError,
    "Cancelled": Exception,
    "Closed": Exception,
    "Forked": RuntimeError,
    "ClockError": Exception,
    "InternalError": Exception,
    "Unsupported": NotImplementedError,
    "QueueFull": Exception,
}


def rows(file: str, key: str) -> list[dict[str, Any]]:
    folder = FACTS if (FACTS / file).exists() else VECTORS
    found = json.loads((folder / file).read_text())[key]
    assert isinstance(found, list)
    return found


def test_every_error_of_the_vectors_has_its_class() -> None:
    named = {
        row["code"]: row for row in rows("errors.json", "errors") if row["name"] not in ("OK", "LIMITED")
    }
    assert named.keys() == _errors._BY_CODE.keys()
    for code, row in named.items():
        cls = getattr(libdlock, row["python"])
        assert cls is _errors._BY_CODE[code]
        assert (cls.code, cls.kind) == (code, row["name"])
        assert issubclass(cls, libdlock.DlockError)
        assert issubclass(cls, BUILT_IN[row["python"]])


@pytest.mark.parametrize("cls", _errors._BY_CODE.values(), ids=lambda cls: cls.__name__)
def test_an_error_carries_what_and_where_and_survives_pickling(cls: type[libdlock.DlockError]) -> None:
    facts = {"holder": "a:1", "remaining": 2.5, "retry_after": 0.25, "allowed": "1 to 5", "retryable": True}
    error = _errors.from_native(cls.code, "acquire", "k", "what happened", **facts)  # type: ignore[arg-type]
    for each in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert {name: getattr(each, name) for name in facts} == facts
        assert type(each) is cls
        assert (each.code, each.kind, each.op, each.name) == (cls.code, cls.kind, "acquire", "k")
        assert str(each) == "what happened"


def test_kinds_are_below_their_families() -> None:
    families = {row["name"]: getattr(libdlock, row["python"]) for row in rows("errors.json", "families")}
    assert set(families) == {"USAGE", "UNAVAILABLE", "HOLD_ENDED"}
    for row in rows("errors.json", "errors"):
        if not row["python"]:
            continue
        cls = getattr(libdlock, row["python"])
        above = {name for name, family in families.items() if issubclass(cls, family)}
        assert above == {row["family"]} if "family" in row else not above


def test_busy_carries_the_holder_and_the_rest_of_its_lease(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as ours, libdlock.connect(server.url) as theirs:
        with theirs.lock(name) as held, pytest.raises(libdlock.AcquireTimeout) as busy:
            ours.lock(name).take(wait=0)
        error = busy.value
        assert (error.holder, error.name, error.retryable) == (held.owner, name, True)
        assert error.remaining is not None
        assert 20 < error.remaining <= 30
        assert (error.retry_after, error.allowed) == (None, None)


def test_a_refused_value_carries_what_is_allowed(client: libdlock.Client) -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: client.lock("k", lease=0.005), "100 ms to 24 h"),
        (lambda: client.lock("k", lease=float("nan")), "seconds, finite"),
        (lambda: client.lock("k").acquire(False, 1), "-1 and None"),
        (lambda: client.lock("\udc80"), "1 to 512 bytes of UTF-8"),
        (lambda: libdlock.connect("memory://", cohort_max=10**9), "whole numbers from "),
    ]
    for call, allowed in calls:
        with pytest.raises(libdlock.UsageError) as refused:
            call()
        error = refused.value
        assert error.allowed is not None
        assert error.allowed.startswith(allowed)
        assert str(error).endswith(f"; allowed: {error.allowed}")
        assert (error.retryable, error.holder, error.remaining) == (False, None, None)


def test_families_catch_what_a_program_handles_alike(client: libdlock.Client) -> None:
    with pytest.raises(libdlock.HoldEnded):
        client.lock("k").release()
    with pytest.raises(libdlock.Unavailable) as away:
        libdlock.connect("redis://127.0.0.1:1", connect_timeout=0.3)
    assert isinstance(away.value, ConnectionError)


def test_whether_a_retry_can_help_is_a_fact_of_the_one_error(server: RedisServer) -> None:
    with pytest.raises(libdlock.ConnectionFailed) as away:
        libdlock.connect("redis://127.0.0.1:1", connect_timeout=5)
    with pytest.raises(libdlock.ConnectionFailed) as wrong:
        libdlock.connect(server.url, user="nobody", password="wrong")
    assert (away.value.retryable, wrong.value.retryable) == (True, False)


def test_a_clock_error_says_when_a_retry_can_succeed() -> None:
    soon = replace(libdlock.Layout.named("default"), epoch_ms=time.time_ns() // 1_000_000 + 3_600_000)
    with pytest.raises(libdlock.ClockError) as early:
        libdlock.Snowflake(1, 1, layout=soon)
    assert early.value.retry_after is not None
    assert 3_500 < early.value.retry_after <= 3_600
    assert early.value.retryable


def test_every_name_of_the_vectors(client: libdlock.Client) -> None:
    for row in rows("names.json", "names"):
        # A byte that is no UTF-8 reaches Python as a lone surrogate, from file names and arguments.
        name = bytes.fromhex(row["hex"]).decode("utf-8", "surrogateescape")
        if row["ok"]:
            client.lock(name)
        else:
            with pytest.raises(libdlock.InvalidName):
                client.lock(name)


def test_bad_urls_of_the_vectors_are_refused_without_their_secrets() -> None:
    for row in rows("urls.json", "bad"):
        with pytest.raises(libdlock.DlockError) as refused:
            libdlock.connect(row["url"])
        assert refused.value.kind == row.get("kind", "INVALID_ARGUMENT"), row["url"]
        shown = str(refused.value)
        assert row["says"] in shown, (row["url"], shown)
        assert "cret" not in shown, (row["url"], shown)


def test_options_are_those_of_the_vectors() -> None:
    options = rows("options.json", "options")
    named = {row["name"]: row["type"] for row in options}
    top = {row["name"] for row in options if row.get("flat") or "group" not in row}
    others = {row["name"] for list in ("groups", "password_sources") for row in rows("options.json", list)}
    assert {*top, *others} == set(Options.__annotations__)
    grouped = {row["name"] for row in options if row.get("group") == "lock"}
    assert grouped == set(libdlock.LockDefaults.__annotations__)
    assert {name for name, kind in named.items() if kind == "duration"} == DURATIONS


def test_options_of_a_lock_are_those_of_the_vectors(client: libdlock.Client) -> None:
    for row in rows("options.json", "lock"):
        if row["type"] != "duration":
            continue
        for bound, step in (("min", -1), ("max", 1)):
            client.lock("k", **{row["name"]: row[bound] / 1000})
            with pytest.raises(libdlock.InvalidArgument, match=row["name"].replace("_", " ")):
                client.lock("k", **{row["name"]: (row[bound] + step) / 1000})
            with pytest.raises(libdlock.InvalidArgument, match="one of them"):
                client.lock("k", **dict.fromkeys((row["name"], row["not_with"]), row["min"] / 1000))
    with pytest.raises(TypeError, match="watchdog_lease"):
        client.lock("k", watchdog_lease="5s")  # type: ignore[arg-type]


def test_limits_of_the_vectors_hold() -> None:
    for row in rows("options.json", "options"):
        if row["type"] != "duration":
            continue
        for bound, step in (("min", -1), ("max", 1)):
            if row.get(bound) is None:
                continue
            libdlock.connect("memory://", **{row["name"]: row[bound] / 1000}).close()
            if group := row.get("group"):
                grouped: dict[str, Any] = {group: {row["name"]: row[bound] / 1000}}
                libdlock.connect("memory://", **grouped).close()
            beyond = row[bound] + step
            if beyond < 0:
                continue
            with pytest.raises(libdlock.InvalidArgument, match=row["name"]):
                libdlock.connect("memory://", **{row["name"]: beyond / 1000})
