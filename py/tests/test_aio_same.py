"""`libdlock.aio` is `libdlock` with coroutines where that blocks: the same names, the same signatures."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys

import pytest

import libdlock
import libdlock.aio
from libdlock import aio
from libdlock.aio._block import BlockEnd

# What asks the server or waits. Everything else answers at once in both packages.
COROUTINES = {
    "Client": {"close", "worker"},
    "Lock": {
        "acquire",
        "release",
        "extend",
        "locked",
        "inspect",
        "force_release",
        "detach",
        "attach",
        "take",
    },
    "BloomFilter": {"add", "contains", "count", "false_positive_rate", "clear"},
    "LockAll": {"acquire", "release", "extend", "take"},
    "Semaphore": {"acquire", "release", "extend", "inspect", "set_permits", "take"},
    "CountingSemaphore": {
        "try_set_permits",
        "acquire",
        "try_acquire",
        "release",
        "add_permits",
        "drain",
        "inspect",
    },
    "RwLock": {"inspect", "force_release"},
    "RwLockSide": {"acquire", "release", "extend", "take", "downgrade"},
    "Held": {"extend", "release"},
    "OwnedHold": {"extend", "release", "detach"},
    "RwHeld": {"extend", "release", "downgrade"},
    "OwnedRwHold": {"extend", "release", "detach", "downgrade"},
    "HeldAll": {"extend", "release"},
    "OwnedHoldAll": {"extend", "release", "detach"},
    "Latch": {"try_set_count", "count_down", "count", "wait", "delete"},
    "IdGenerator": {"next_id", "next_ids"},
    "Queue": {
        "put",
        "put_many",
        "take",
        "try_take",
        "take_many",
        "ack_many",
        "cancel",
        "peek",
        "counts",
        "purge",
    },
    "DeadJobs": {"list", "requeue", "requeue_all", "remove", "purge"},
    "Delivery": {"ack", "nack", "give_back", "extend"},
    "Consumer": {"start", "stop", "wait", "run"},
    "Worker": {"release"},
    "Lost": {"wait"},
    "RateLimiter": {
        "try_acquire",
        "try_acquire_many",
        "acquire",
        "peek",
        "reset",
        "reserve",
        "penalty",
        "reward",
        "block",
    },
}
# The ways into a scope, and what each is called where it may suspend.
SCOPES = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
# Native in the one package, for a reason that tasks do not share.
NATIVE_SCOPES = {
    ("Lock", "__exit__"),
    ("LockAll", "__exit__"),
    ("Semaphore", "__exit__"),
    ("RwLockSide", "__exit__"),
    ("OwnedHold", "__enter__"),
    ("OwnedHold", "__exit__"),
    ("OwnedHoldAll", "__enter__"),
    ("OwnedHoldAll", "__exit__"),
    ("OwnedRwHold", "__enter__"),
    ("OwnedRwHold", "__exit__"),
}


def public(cls: type) -> set[str]:
    found = {name for name in dir(cls) if not name.startswith("_")}
    return found | {name for name in (*SCOPES, *SCOPES.values()) if hasattr(cls, name)}


def test_both_packages_have_the_same_names() -> None:
    assert {*libdlock.__all__, "Connecting"} == {*aio.__all__}
    for name in libdlock.__all__:
        same = getattr(libdlock, name) is getattr(aio, name)
        assert same == (name not in (*COROUTINES, "connect")), name


@pytest.mark.parametrize("name", COROUTINES)
def test_a_class_has_the_same_members_with_the_same_signatures(name: str) -> None:
    sync, tasks = getattr(libdlock, name), getattr(aio, name)
    assert {SCOPES.get(member, member) for member in public(sync)} == public(tasks)
    for member in public(sync):
        ours, theirs = (
            inspect.getattr_static(sync, member),
            inspect.getattr_static(tasks, SCOPES.get(member, member)),
        )
        assert isinstance(ours, property) == isinstance(theirs, property), member
        if isinstance(ours, property) or not callable(ours):
            continue
        suspends = member in COROUTINES[name] or member in SCOPES
        if isinstance(theirs, BlockEnd):
            theirs = type(tasks.__aexit__).__call__
        assert inspect.iscoroutinefunction(theirs) == suspends, member
        assert not inspect.iscoroutinefunction(ours)
        if member in ("synchronized", "limit"):  # what it decorates is a coroutine function there
            assert inspect.signature(ours).parameters == inspect.signature(theirs).parameters
        elif (name, member) not in NATIVE_SCOPES:
            assert inspect.signature(ours) == inspect.signature(theirs), member


def test_connect_takes_the_same_and_gives_a_client() -> None:
    ours, theirs = inspect.signature(libdlock.connect), inspect.signature(aio.connect)
    assert ours.parameters == theirs.parameters

    async def main() -> None:
        client = await aio.connect("memory://")
        async with client:
            assert type(client) is aio.Client
        assert client.closed
        async with aio.connect("memory://") as client:
            assert type(client) is aio.Client
        assert client.closed

    asyncio.run(main())


def test_what_is_documented_is_documented_in_both() -> None:
    for name in COROUTINES:
        for member in public(getattr(aio, name)) - {*SCOPES.values()}:
            assert inspect.getdoc(getattr(getattr(aio, name), member)), f"{name}.{member}"


def test_importing_libdlock_does_not_import_asyncio() -> None:
    program = "import sys, libdlock; assert 'asyncio' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
