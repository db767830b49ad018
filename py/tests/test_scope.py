"""How a `with` block ends when the lock was lost meanwhile, and when its body fails."""

from __future__ import annotations

import logging
import signal

import pytest

import libdlock
from proxy import Proxy


def test_a_body_that_ends_well_hears_of_the_loss(client: libdlock.Client, name: str) -> None:
    with pytest.raises((libdlock.LockLost, libdlock.NotHeld)) as caught, client.lock(name, lease=0.1) as held:
        assert held.lost.wait(5)
        while held.valid:  # the last milliseconds, in which a release would still be in time
            pass
    assert caught.value.name == name


def test_a_body_that_fails_keeps_its_exception_and_the_loss_is_logged(
    client: libdlock.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyError, match="mine"), client.lock(name, lease=0.1) as held:
        assert held.lost.wait(5)
        while held.valid:
            pass
        raise KeyError("mine")
    (record,) = [each for each in caplog.records if "failed too" in each.getMessage()]
    assert record.levelno == logging.WARNING
    assert name in record.getMessage()


def test_a_body_that_fails_releases(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    with pytest.raises(KeyError, match="mine"), lock:
        raise KeyError("mine")
    assert lock.hold_count == 0
    assert not lock.locked()


def test_early_release_is_not_held_at_the_end_as_with_rlock(client: libdlock.Client, name: str) -> None:
    with pytest.raises(libdlock.NotHeld), client.lock(name) as held:
        held.release()


def test_ctrl_c_during_the_release_of_a_failed_body_comes_through(proxy: Proxy, name: str) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with (
            libdlock.connect(proxy.url, response_timeout=5) as client,
            pytest.raises(KeyboardInterrupt) as caught,
            client.lock(name),
        ):
            proxy.black_hole()  # the release will wait for its reply
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            raise KeyError("mine")
        assert isinstance(caught.value.__context__, KeyError)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
