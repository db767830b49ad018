"""The exceptions and the vectors that every language checks."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import libdlock
from conftest import VECTORS
from libdlock import _errors
from libdlock._options import DURATIONS, Options

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
}


def rows(file: str, key: str) -> list[dict[str, Any]]:
    found = json.loads((VECTORS / file).read_text())[key]
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
    error = _errors.from_native(cls.code, "acquire", "k", "what happened")
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert type(each) is cls
        assert (each.code, each.kind, each.op, each.name) == (cls.code, cls.kind, "acquire", "k")
        assert str(each) == "what happened"


def test_every_name_of_the_vectors(client: libdlock.Client) -> None:
    for row in rows("names.json", "names"):
        # A byte that is no UTF-8 reaches Python as a lone surrogate, from file names and arguments.
        name = bytes.fromhex(row["hex"]).decode("utf-8", "surrogateescape")
        if row["ok"]:
            client.lock(name)
        else:
            with pytest.raises(libdlock.InvalidName):
                client.lock(name)


def test_options_are_those_of_the_vectors() -> None:
    named = {row["name"]: row["type"] for row in rows("options.json", "options")}
    assert {*named, "password_env", "password_file"} == set(Options.__annotations__)
    assert {name for name, kind in named.items() if kind == "duration"} == DURATIONS


def test_limits_of_the_vectors_hold() -> None:
    for row in rows("options.json", "options"):
        if row["type"] != "duration":
            continue
        for bound, step in (("min", -1), ("max", 1)):
            if row.get(bound) is None:
                continue
            libdlock.connect("memory://", **{row["name"]: row[bound] / 1000}).close()
            beyond = row[bound] + step
            if beyond < 0:
                continue
            with pytest.raises(libdlock.InvalidArgument, match=row["name"]):
                libdlock.connect("memory://", **{row["name"]: beyond / 1000})
