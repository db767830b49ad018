"""Log events of the core, forwarded to `logging.getLogger("libdlock")`.

The core's threads never enter Python: events queue up in a completion port of the bridge, and one daemon thread a process
waits on that port's descriptor and forwards what is there. It is started by the first `connect`, stopped at exit after a
last look at the port, and not there in a forked child until that connects.
"""

from __future__ import annotations

import atexit
import logging
import os
import select
import threading

from . import _native

logger = logging.getLogger("libdlock")
logger.addHandler(logging.NullHandler())

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
_BATCH = 256
# The thread's last batch at exit is short work; a handler that hangs must not keep the process.
_STOP_WITHIN = 2.0


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

    def stop(self) -> None:
        if self._thread is None:
            self._empty()
            return
        os.write(self._wake, b"\0")
        self._thread.join(_STOP_WITHIN)

    def forget(self) -> None:
        """In a forked child: the thread and the port are the parent's, the two descriptors are copies of our own."""
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
    """The pump of one process, once that has connected."""

    def __init__(self) -> None:
        self.pump: _Pump | None = None
        self._starting = threading.Lock()

    def port(self) -> int:
        with self._starting:
            if self.pump is None:
                self.pump = _Pump()
            return self.pump.port.handle


# By the process's id and not by Python's hook alone: a fork in C, such as uWSGI's, calls no hook. A child has a lock of its
# own: another thread may have held its parent's at the fork.
_pumps: dict[int, _Here] = {}


def port() -> int:
    """The handle of this process's log port; the first call starts its thread."""
    here = _pumps.get(os.getpid())
    if here is None:
        _forget_others()
        here = _pumps.setdefault(os.getpid(), _Here())
    return here.port()


def _forget_others() -> None:
    for process in list(_pumps):
        if process != os.getpid() and (parent := _pumps.pop(process, None)) and parent.pump:
            parent.pump.forget()


def _stop() -> None:
    here = _pumps.get(os.getpid())
    if here is not None and here.pump is not None:
        here.pump.stop()


atexit.register(_stop)
os.register_at_fork(after_in_child=_forget_others)
