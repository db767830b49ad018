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


_pump: _Pump | None = None
_starting = threading.Lock()


def port() -> int:
    """The handle of this process's log port; the first call starts its thread."""
    global _pump
    with _starting:
        if _pump is None:
            _pump = _Pump()
        return _pump.port.handle


def _stop() -> None:
    if _pump is not None:
        _pump.stop()


def _after_fork_in_child() -> None:
    global _pump, _starting
    _starting = threading.Lock()  # another thread may have held it at the fork
    if _pump is not None:
        _pump.forget()
        _pump = None


atexit.register(_stop)
os.register_at_fork(after_in_child=_after_fork_in_child)
