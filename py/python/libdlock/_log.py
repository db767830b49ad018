"""Log events of the core, forwarded to `logging.getLogger("libdlock")`.

The core's threads never enter Python: events queue up in a completion port of the bridge, and one daemon thread a process
waits on that port's descriptor and forwards what is there. It is started by `connect` and ends with the last client, or at
exit, after a last look at the port: a sub-interpreter cannot end before its threads. In a forked child it is not there until
that connects.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from . import _native

logger = logging.getLogger("libdlock")
logger.addHandler(logging.NullHandler())

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
_BATCH = 256
# The thread's last batch is short work; a handler that hangs keeps neither the process nor a call of `close`.
_STOP_WITHIN = 2.0
_END_WITHIN = 0.2


class _Pump:
    """The port and the thread that empties it."""

    def __init__(self) -> None:
        self.port = _native.Port()
        self._woken, self._wake = os.pipe()
        self._thread: threading.Thread | None = threading.Thread(
            target=self._run, name="libdlock-log", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError:  # in an atexit handler, from Python 3.12 on: `stop` forwards what there is
            self._thread = None

    def stop(self, within: float) -> None:
        """Has the thread end, and waits for that."""
        if self._thread is None:
            self._empty()
            self.forget()
            return
        os.write(self._wake, b"\0")
        if within and self._thread is not threading.current_thread():
            self._thread.join(within)

    def forget(self) -> None:
        """When nobody waits on them any more, or in a forked child, where the two descriptors are copies of our own."""
        os.close(self._woken)
        os.close(self._wake)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self.port.descriptor, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        stopping = False
        while not stopping:
            stopping = any(ready == self._woken for ready, _ in poll.poll())
            self._empty()
        self.forget()

    def _empty(self) -> None:
        while events := self.port.drain_log(_BATCH):
            for level, name, message in events:
                _forward(level, name, message)


def _forward(level: str, name: str | None, message: str) -> None:
    try:
        logger.log(_LEVELS[level], message, extra={"lock_name": name})
    except Exception:
        # A filter or handler of the application raised. One event is lost, not all that follow.
        logger.exception("a logging handler failed")


class _Here:
    """The pump of one process, which is there while a client is open or being opened."""

    def __init__(self) -> None:
        self.pump: _Pump | None = None
        self._clients = 0
        self._changing = threading.RLock()  # a client may be collected while it is held

    def enter(self) -> int:
        with self._changing:
            self._clients += 1
            try:
                if self.pump is None:
                    self.pump = _Pump()
            except BaseException:
                self._clients -= 1
                raise
            return self.pump.port.handle

    def leave(self, within: float) -> None:
        with self._changing:
            self._clients -= 1
            pump = None if self._clients > 0 else self._taken()
        if pump is not None:
            pump.stop(within)

    def stop(self, within: float) -> None:
        with self._changing:
            pump = self._taken()
        if pump is not None:
            pump.stop(within)

    def _taken(self) -> _Pump | None:
        pump, self.pump = self.pump, None
        return pump


# By the process's id and not by Python's hook alone: a fork in C, such as uWSGI's, calls no hook. A child has a lock of its
# own: another thread may have held its parent's at the fork.
_pumps: dict[int, _Here] = {}


@contextmanager
def opening() -> Iterator[int]:
    """The handle of this process's log port, for a client that is opened meanwhile, and that tells its end by `closed`."""
    port = _here().enter()
    try:
        yield port
    except BaseException:
        closed()
        raise


def closed(wait: bool = True) -> None:
    """A client of this process was closed."""
    _here().leave(_END_WITHIN if wait else 0)


def _here() -> _Here:
    here = _pumps.get(os.getpid())
    if here is None:
        _forget_others()
        here = _pumps.setdefault(os.getpid(), _Here())
    return here


def _forget_others() -> None:
    for process in list(_pumps):
        if process != os.getpid() and (parent := _pumps.pop(process, None)) and parent.pump:
            parent.pump.forget()


def _stop() -> None:
    here = _pumps.get(os.getpid())
    if here is not None:
        here.stop(_STOP_WITHIN)


atexit.register(_stop)
os.register_at_fork(after_in_child=_forget_others)
