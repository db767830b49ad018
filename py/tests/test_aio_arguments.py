"""Arguments and ends for tasks: bad values are refused before any I/O, and the vectors hold here too.

The code that checks a value is that for threads (test_arguments.py); these tests show that tasks reach it.
"""

from __future__ import annotations

import json
import math
from datetime import timedelta
from typing import Any

import pytest

import libdlock
from conftest import FACTS, VECTORS
from libdlock import aio
from redis_server import RedisServer


def rows(file: str, key: str) -> list[dict[str, Any]]:
    folder = FACTS if (FACTS / file).exists() else VECTORS
    found = json.loads((folder / file).read_text())[key]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -1.5, 2.0**54, 10**400, timedelta(days=-1), timedelta.max], ids=repr
)
async def test_durations_that_are_none(aio_client: aio.Client, name: str, value: float) -> None:
    for argument in ("lease", "wait"):
        with pytest.raises(libdlock.InvalidArgument, match=argument):
            async with aio_client.lock("k", **{argument: value}):  # type: ignore[arg-type]
                pass
    lock = aio_client.lock(name)
    with pytest.raises(libdlock.InvalidArgument):
        await lock.acquire(timeout=value)
    async with lock as held:
        for call in (lock.extend, held.extend, held.lost.wait):
            with pytest.raises(libdlock.InvalidArgument):
                await call(value)
    with pytest.raises(libdlock.InvalidArgument):
        await lock.acquire(blocking=False, timeout=1)
    assert not await lock.locked()


@pytest.mark.parametrize("lease", [0, 0.05, 86_401, timedelta(days=2)], ids=repr)
async def test_leases_out_of_range(aio_client: aio.Client, name: str, lease: float) -> None:
    with pytest.raises(libdlock.InvalidArgument):
        async with aio_client.lock(name, lease=lease):
            pass
    assert not await aio_client.lock(name).locked()
    async with aio_client.lock(name) as held:
        with pytest.raises(libdlock.InvalidArgument):
            await held.extend(lease)


async def test_every_name_of_the_vectors(aio_client: aio.Client) -> None:
    for row in rows("names.json", "names"):
        name = bytes.fromhex(row["hex"]).decode("utf-8", "surrogateescape")
        if row["ok"]:
            async with aio_client.lock(name):
                assert await aio_client.lock(name).locked()
        else:
            with pytest.raises(libdlock.InvalidName):
                aio_client.lock(name)


async def test_a_name_is_the_same_bytes_on_the_server(server: RedisServer) -> None:
    async with aio.connect(server.url) as client:
        for name in ("new\nline", "🔒", "{x}y{z}"):
            async with client.lock(name):
                assert server.command("EXISTS", name.encode()) == 1


def test_every_error_is_the_same_class_in_both_packages() -> None:
    named = [row["python"] for row in rows("errors.json", "errors") if row["python"]]
    assert len(named) > 10
    for name in named:
        assert getattr(aio, name) is getattr(libdlock, name)


async def test_options_of_a_lock_are_those_of_the_vectors(aio_client: aio.Client) -> None:
    for row in rows("options.json", "lock"):
        if row["type"] != "duration":
            continue
        for bound, step in (("min", -1), ("max", 1)):
            aio_client.lock("k", **{row["name"]: row[bound] / 1000})
            with pytest.raises(libdlock.InvalidArgument, match=row["name"].replace("_", " ")):
                aio_client.lock("k", **{row["name"]: (row[bound] + step) / 1000})


async def test_limits_of_the_vectors_hold() -> None:
    for row in rows("options.json", "options"):
        if row["type"] != "duration":
            continue
        for bound, step in (("min", -1), ("max", 1)):
            async with aio.connect("memory://", **{row["name"]: row[bound] / 1000}):
                pass
            beyond = row[bound] + step
            if beyond < 0:
                continue
            with pytest.raises(libdlock.InvalidArgument, match=row["name"]):
                await aio.connect("memory://", **{row["name"]: beyond / 1000})


async def test_bad_urls_and_options() -> None:
    for url in ("", "redis", "http://127.0.0.1", "redis://:se\ud800cret@h"):
        with pytest.raises(libdlock.InvalidArgument) as caught:
            await aio.connect(url)
        assert "cret" not in str(caught.value)
    async with aio.connect("memory://", lock={"reentrant": False}) as client, client.lock("k"):
        with pytest.raises(libdlock.Deadlock):
            await client.lock("k").acquire()
    with pytest.raises(libdlock.InvalidArgument, match="leese"):
        await aio.connect("memory://", leese=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        await aio.connect(b"memory://")  # type: ignore[arg-type]
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1"):
        await aio.connect("redis://:s3cret@127.0.0.1:1", connect_timeout=1)


async def test_use_after_close(aio_client: aio.Client, name: str) -> None:
    lock = aio_client.lock(name)
    assert await lock.acquire()
    held = lock.held
    assert held is not None
    await aio_client.close()
    await aio_client.close()
    await aio_client.close(release=True)
    assert aio_client.closed
    for call in (lock.acquire, lock.release, lock.inspect, lock.force_release, lock.detach):
        with pytest.raises(libdlock.Closed):
            await call()
    with pytest.raises(libdlock.Closed):
        aio_client.lock("other")
    assert not held.valid
    assert held.lost.reason == "closed"


async def test_close_with_release_frees_what_is_held(url: str, aio_client: aio.Client, name: str) -> None:
    mine = await aio.connect(url)
    lock = mine.lock(name)
    assert await lock.acquire()
    await mine.close(release=True)
    async with aio_client.lock(name, wait=0):
        pass


async def test_a_close_whose_release_fails_has_closed(own_server: RedisServer, name: str) -> None:
    client = await aio.connect(own_server.url, operation_timeout=0.3, response_timeout=0.2)
    lock = client.lock(name)
    assert await lock.acquire()
    own_server.kill()
    with pytest.raises(libdlock.DlockError):
        await client.close(release=True)
    assert client.closed
    with pytest.raises(libdlock.Closed):
        await lock.acquire()


async def test_a_connection_is_entered_once() -> None:
    connecting = aio.connect("memory://")
    async with connecting:
        with pytest.raises(RuntimeError, match="entered already"):
            async with connecting:
                pass


async def test_release_twice_and_by_another_and_after_a_loss(aio_client: aio.Client, name: str) -> None:
    with pytest.raises(libdlock.NotHeld):
        await aio_client.lock(name).release()
    async with aio_client.lock(name, lease=20) as held:
        await held.extend(10)
    with pytest.raises(libdlock.NotHeld):
        await held.release()
    lock = aio_client.lock(name, lease=0.1)
    await lock.acquire()
    held_again = lock.held
    assert held_again is not None
    assert await held_again.lost.wait(5)
    while held_again.valid:  # the last milliseconds, in which a release would still be in time
        pass
    for _ in range(2):
        with pytest.raises((libdlock.NotHeld, libdlock.LockLost)):
            await lock.release()
