"""Where a blocking call comes from: a plain thread, or a greenlet of gevent, which is then the holder and lets others run.

A thread with a gevent hub has one completion port. An operation of a greenlet is submitted there, and the hub runs other
greenlets until the answer comes. Plain threads of the same process block as usual.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _native
from ._answers import let_go
from ._errors import Unsupported
from ._holder import Holder

if TYPE_CHECKING:
    from ._named import NamedObject

#: Without `greenlet` among them, no thread runs any: gevent and eventlet are made of it.
MODULES = sys.modules
_holders: weakref.WeakKeyDictionary[Any, Holder] = weakref.WeakKeyDictionary()
_READABLE = 1


def ask(blocking: Callable[..., Any], submit: Callable[..., int], *arguments: Any) -> Any:
    """Runs an operation: blocking on a plain thread, submitted among greenlets."""
    caller = running()
    return blocking(*arguments) if caller is None else caller.port.call(submit, *arguments)


def running_id() -> int:
    """The holder that a call acts for."""
    caller = running()
    return _native.thread_holder() if caller is None else caller.id


def running() -> Caller | None:
    """The calling greenlet; `None` on a thread that runs no greenlets of gevent."""
    if "gevent" not in MODULES and "eventlet" not in MODULES:
        return None
    if "eventlet" in MODULES:
        _refuse_eventlet()
    local = MODULES.get("gevent._hub_local")
    hub = None if local is None else local.get_hub_if_exists()
    return None if hub is None else Caller(_port_of(hub))


class Caller:
    """A greenlet that calls: the port of its thread, and its holder. A thread's main greenlet holds as the thread."""

    __slots__ = ("_holder", "id", "port")

    def __init__(self, port: Port) -> None:
        self.port = port
        greenlet = MODULES["greenlet"].getcurrent()
        self._holder = None if greenlet.parent is None else _holder_of(greenlet)
        self.id = _native.thread_holder() if self._holder is None else self._holder.id

    def entered(self, lock: NamedObject) -> None:
        """Counts one acquire of the greenlet."""
        if self._holder is not None:
            self._holder.entered(lock)

    def left(self, lock: NamedObject) -> None:
        """Counts one release of the greenlet, or one try of it."""
        if self._holder is not None:
            self._holder.left(lock)


def _holder_of(greenlet: Any) -> Holder:
    holder = _holders.get(greenlet)
    if holder is None:
        holder = _holders[greenlet] = Holder(f"greenlet {getattr(greenlet, 'name', greenlet)!r}")
        if hasattr(greenlet, "rawlink"):  # gevent's own, which tells of its end
            greenlet.rawlink(holder.ended)
    return holder


def _port_of(hub: Any) -> Port:
    port: Port | None = getattr(hub, "_libdlock_port", None)
    if port is None or port.process != os.getpid():
        _native.greenlets_seen()
        port = hub._libdlock_port = Port(hub)
    return port


class Port:
    """Sends operations of one thread's greenlets to the core, and wakes those that wait for the answers."""

    def __init__(self, hub: Any) -> None:
        self.process = os.getpid()
        self._hub = hub
        self._new_result: Any = importlib.import_module("gevent.event").AsyncResult
        self._native = _native.Port()
        self._answers = self._native.answers
        self._waiting: dict[int, Any] = {}
        self._keys = itertools.count(1)
        # Only while somebody waits: a watcher that is always active would keep `gevent.wait()` from ever ending.
        self._watcher: Any = None

    def call(self, submit: Callable[..., int], *arguments: Any) -> Any:
        """Submits an operation and waits for its answer. A greenlet that is killed, or timed out, leaves nothing behind."""
        return self._run(submit, arguments, True)

    def finish(self, submit: Callable[..., int], *arguments: Any) -> Any:
        """As `call`, for what has to happen once it was asked for: a greenlet that is killed only stops waiting."""
        return self._run(submit, arguments, False)

    def _run(self, submit: Callable[..., int], arguments: tuple[Any, ...], cancels: bool) -> Any:
        key = next(self._keys)
        result = self._waiting[key] = self._new_result()
        op = None
        try:
            op = submit(self._native, key, *arguments)
            if self._answers:
                self._hand_out()
            if not result.ready():
                self._listen()
            return result.get()
        except BaseException as raised:
            if self._waiting.pop(key, None) is None:
                if result.exception is not raised:  # answered, but its caller was ended before it could run
                    let_go(result.exception or result.value)
            elif cancels and op is not None and not self._native.cancel(op):
                # Its answer waits to be drained. Now, so that a caller that asks again at once does not meet its own grant.
                self._deliver()
            raise
        finally:
            if not self._waiting:
                self._ignore()

    def _listen(self) -> None:
        if self._watcher is None:
            self._watcher = self._hub.loop.io(self._native.descriptor, _READABLE)
            self._watcher.start(self._deliver)

    def _ignore(self) -> None:
        if self._watcher is not None:
            watcher, self._watcher = self._watcher, None
            watcher.stop()
            watcher.close()

    def _deliver(self) -> None:
        self._native.drain()
        self._hand_out()

    def _hand_out(self) -> None:
        answers, self._answers[:] = self._answers[:], []
        for key, answer in answers:
            result = self._waiting.pop(key, None)
            if result is None:
                let_go(answer)
            elif isinstance(answer, BaseException):
                result.set_exception(answer)
            else:
                result.set(answer)


def _refuse_eventlet() -> None:
    patcher, hubs = MODULES.get("eventlet.patcher"), MODULES.get("eventlet.hubs")
    patched = patcher is not None and patcher.is_monkey_patched("thread")
    if patched or hasattr(getattr(hubs, "_threadlocal", None), "hub"):
        raise Unsupported(
            "libdlock does not work with eventlet: its green threads would share one holder, and a wait would stop all "
            "of them. Use threads, gevent or libdlock.aio"
        )
