"""A finaliser stops renewal and warns; it does not talk to the server."""

from __future__ import annotations

import gc
import threading
import time
import warnings

import pytest

import libdlock
from redis_server import RedisServer


def calls(server: RedisServer) -> int:
    """Scripts that the server has run."""
    stats = server.command("INFO", "commandstats")
    assert isinstance(stats, bytes)
    lines = [
        line for line in stats.decode().splitlines() if line.startswith(("cmdstat_evalsha", "cmdstat_eval:"))
    ]
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines)


def test_an_unclosed_client_warns_and_its_locks_run_out(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = libdlock.connect(own_server.url, lease=3)
    lock = client.lock("k")
    assert lock.acquire()
    texts: list[str] = []
    # Not `pytest.warns`: what it records keeps the object that the warning is about.
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda message, *_: texts.append(str(message)))
        del lock, client
        gc.collect()
        monkeypatch.undo()
    assert [text.partition(":")[0] for text in texts] == ["unclosed <libdlock.Client>"]
    before = calls(own_server)
    assert own_server.command("EXISTS", "k") == 1
    end = time.monotonic() + 10
    while own_server.command("EXISTS", "k"):
        assert time.monotonic() < end, "renewed"
        time.sleep(0.02)
    assert calls(own_server) - before <= 1, "one renewal may have been on its way"
    with libdlock.connect(own_server.url) as other:
        assert other.lock("k").acquire(blocking=False)


def test_a_closed_client_does_not_warn(url: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client = libdlock.connect(url)
        client.close()
        del client
        with libdlock.connect(url) as client:
            lock = client.lock("k")
            lock.acquire()
        del client, lock
        gc.collect()


def test_a_lock_keeps_its_client(url: str, name: str) -> None:
    client = libdlock.connect(url)
    lock, close = client.lock(name), client.close
    del client
    gc.collect()
    with lock as held:
        assert held.valid
    close()


def test_the_client_keeps_a_thread_s_hold(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.6) as client, libdlock.connect(url) as other:
        client.lock(name).acquire()
        client.lock(name).acquire()
        gc.collect()
        assert not other.lock(name).acquire(timeout=1.2), "renewed"
        assert client.lock(name).hold_count == 2
        client.lock(name).release()
        client.lock(name).release()
        assert other.lock(name).acquire(blocking=False)


def test_the_end_of_a_thread_ends_what_the_client_kept(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.6) as client, libdlock.connect(url) as other:
        thread = threading.Thread(target=lambda: client.lock(name).acquire())
        thread.start()
        thread.join()
        gc.collect()
        began = time.monotonic()
        assert other.lock(name).acquire(timeout=5)
        assert time.monotonic() - began < 2


def test_a_kept_hold_that_is_lost_is_kept_no_longer(client: libdlock.Client, name: str) -> None:
    for number in range(3):
        lock = client.lock(f"{name}-{number}", lease=0.1)
        lock.acquire()
        held = lock.held
        assert held is not None and held.lost.wait(5)
        del lock, held
        with pytest.raises(libdlock.NotHeld):
            client.lock(f"{name}-{number}").release()
        assert client.lock(f"{name}-{number}").acquire(timeout=1)


def test_a_lock_used_up_and_one_that_failed_do_not_warn(client: libdlock.Client, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with client.lock(name):
            with client.lock(name):
                pass
            passed = client.lock(name + "-passed")
            passed.acquire()
            client.lock(name + "-passed").attach(passed.detach()).release()
            del passed
            with pytest.raises(libdlock.NotHeld):
                client.lock(name + "-passed").release()
        lost = client.lock(name, lease=0.1)
        lost.acquire()
        assert lost.held is not None and lost.held.lost.wait(5)
        del lost
        gc.collect()


def test_a_thread_that_ends_while_holding_stops_renewing(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.6) as client, libdlock.connect(url) as other:
        lock = client.lock(name)
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        thread.join()
        assert other.lock(name).locked()
        with other.lock(name, wait=5):
            pass


def test_handles_are_given_back(client: libdlock.Client, name: str) -> None:
    """10,000 locks and holds leave no more behind than one does."""
    import resource

    def round_trip() -> None:
        for number in range(5_000):
            with client.lock(f"{name}-{number % 50}") as held:
                assert held.valid

    round_trip()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    round_trip()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4_000, f"{grown} KiB more"
