"""Celery tasks of which at most one runs at a time, or at most so many in a time, in all workers.

    app.conf.dlock_url = "redis://127.0.0.1:6379/0"

    @app.task(base=DlockTask, bind=True, once=Once(duplicate="skip"), limit=Limit(Rate(10, per=60)))
    def report(self, day): ...

The lock is held while the task runs, not while it waits in the queue. Each process of a worker opens a client at its first
such task, and closes it when it ends. docs/python/operations.md has more.
"""

from __future__ import annotations

import logging
import random
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import celery
from celery import signals
from celery.exceptions import Ignore, Reject, Retry

from .. import Client, OwnedHold, connect
from .._errors import AcquireTimeout, InvalidArgument, Unavailable
from .._rate import Rate
from ._clients import OfProcess, opened_lazily
from ._task_rules import Duplicate, Key, Limit, Once

if TYPE_CHECKING:
    _Task = celery.Task[Any, Any]
else:
    _Task = celery.Task

__all__ = ["DlockTask", "Duplicate", "Key", "Limit", "LimitReached", "Once", "close"]

_log = logging.getLogger("libdlock.celery")

# Headers of a message that was sent again: how often, and whether it has to run in the end.
_TIMES = "dlock_times"
_KEEP = "dlock_keep"

#: Brokers without timers of their own deliver a message again that was not acknowledged for some time, such as one that a
#: worker keeps until it is due. A run that is due later asks once more on its way.
_LONGEST_COUNTDOWN = 300


class LimitReached(Exception):
    """Why a run was sent to the queue again: its limit was reached."""


class DlockTask(_Task):
    """The base of tasks with `once`, `limit` or both: `@app.task(base=DlockTask, once=Once())`.

    A direct call, `report("today")`, is no run of a worker and calls the function only.
    """

    abstract = True
    once: Once | None = None
    """At most one run at a time."""
    limit: Limit | None = None
    """At most so many runs in a time. Asked when the lock is held, so that a duplicate takes no tokens."""

    @property
    def dlock(self) -> Client:
        """The client of this process, opened by `dlock_url` and `dlock_options` of the application's configuration."""
        return _client(self.app)

    @property
    def hold(self) -> OwnedHold | None:
        """The hold of this run, with its fencing token; `None` in a direct call and without `once`."""
        return getattr(self.request, "dlock_hold", None)

    @property
    def lost(self) -> bool:
        """Whether this run has lost its lock, so that another one may run by now: a task that takes long should look at it
        before each step, and stop. No I/O. Such a run ends as failed, with `NotHeld`."""
        hold = self.hold
        return hold is not None and hold.lost.is_set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        request = self.request
        if request.called_directly or getattr(request, "dlock_entered", False):
            return super().__call__(*args, **kwargs)
        request.dlock_entered = True  # type: ignore[attr-defined]
        if self.once is None:
            return self._run_limited(args, kwargs)
        held = self._take(self.once, args, kwargs)
        if held is None:
            return None
        request.dlock_hold = held  # type: ignore[attr-defined]
        ran = False
        try:
            with held:
                result = self._run_limited(args, kwargs)
                ran = True
        except Unavailable as failed:
            if not ran:
                raise
            _log.warning(
                "%s[%s] ran, but its lock is free only when its lease ends: %s", self.name, request.id, failed
            )
        return result

    def _take(self, once: Once, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OwnedHold | None:
        """The lock of this run; `None` if there is to be none."""
        lock = self.dlock.lock(once.lock_name(self, args, kwargs), lease=once.lease)
        try:
            return lock.take(wait=once.wait)
        except AcquireTimeout as busy:
            self._give_way(once, busy)
            return None
        except Unavailable as away:
            self._send_again_if_of_use(away)

    def _give_way(self, once: Once, busy: AcquireTimeout) -> None:
        """Another run has the lock."""
        request = self.request
        redelivered = (request.delivery_info or {}).get("redelivered") or (request.headers or {}).get(_KEEP)
        # The other run may be this very message, in a worker that has died: to skip it would lose it.
        if once.duplicate == "retry" or (redelivered and once.duplicate != "fail"):
            self._send_again(_seconds(once.retry_after), busy, keep=bool(redelivered))
        if once.duplicate == "fail":
            raise busy
        _log.info("%s[%s] does not run: %s", self.name, request.id, busy)
        if once.duplicate == "ignore":
            raise Ignore(str(busy))

    def _run_limited(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.limit is not None:
            self._take_tokens(self.limit, args, kwargs)
        return self.run(*args, **kwargs)

    def _take_tokens(self, limit: Limit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        rates = (limit.rates,) if isinstance(limit.rates, Rate) else limit.rates
        name = limit.limiter_name(self)
        limiter = self.dlock.rate_limiter(name, rates=rates, absent=limit.absent)
        try:
            decision = limiter.acquire(limit.cost, wait=limit.wait, key=limit.bucket(self, args, kwargs))
        except Unavailable as away:
            self._send_again_if_of_use(away)
        if decision.allowed:
            return
        if decision.retry_after is None:
            message = (
                f"a run of task {self.name} costs {limit.cost}, of which at most {decision.limit} can be had"
            )
            raise InvalidArgument(message, op="rate limit", name=name, allowed=f"1 to {decision.limit}")
        # All that wait would come at the same instant, for the tokens of one: each time they are spread over twice as long.
        spread = random.uniform(1, 2 ** min(self._times(), 6))
        reached = LimitReached(f"the limit {name!r} of task {self.name} is reached")
        self._send_again(decision.retry_after * spread, reached)

    def _times(self) -> int:
        return int((self.request.headers or {}).get(_TIMES, 0))

    def _send_again_if_of_use(self, away: Unavailable) -> NoReturn:
        """The server could not be asked, and the function was not called."""
        if not away.retryable:
            raise away
        self._send_again(1 if self.once is None else _seconds(self.once.retry_after), away, keep=True)

    def _send_again(self, countdown: float, why: Exception, *, keep: bool = False) -> NoReturn:
        """Ends this run and sends its message to the queue again. Unlike `retry`, this takes none of `max_retries`, which
        are for a function that has failed."""
        request = self.request
        if request.is_eager:  # Celery would run it again at once, and for ever
            raise why
        countdown = min(countdown, _LONGEST_COUNTDOWN)
        headers = {**(request.headers or {}), _TIMES: self._times() + 1}
        if keep:
            headers[_KEEP] = True
        again = self.signature_from_request(
            request, countdown=countdown, retries=request.retries, headers=headers
        )
        try:
            again.apply_async()
        except Exception as failed:
            if not self.acks_late:  # the message is gone: the caller is told
                raise
            raise Reject(failed, requeue=True) from why
        raise Retry(str(why), exc=why, when=countdown, sig=again)  # type: ignore[arg-type]


def _seconds(given: Any) -> float:
    return float(given.total_seconds() if hasattr(given, "total_seconds") else given)


class _Clients(OfProcess):
    """The clients of an application, and how they are opened."""

    def opened(self, app: celery.Celery) -> Client:
        client = self.current()
        if client is None:
            url, options = app.conf.get("dlock_url"), app.conf.get("dlock_options") or {}
            if not isinstance(url, str):
                message = f"the Celery application {app.main!r} has no dlock_url in its configuration"
                raise InvalidArgument(
                    message, op="connect", allowed='app.conf.dlock_url = "redis://HOST:PORT/DB"'
                )
            client = self.keep(connect(url, **opened_lazily(url, options)))
        return client


_clients: weakref.WeakKeyDictionary[celery.Celery, _Clients] = weakref.WeakKeyDictionary()


def _client(app: celery.Celery) -> Client:
    return _clients.setdefault(app, _Clients()).opened(app)


def close(app: celery.Celery) -> None:
    """Closes the client of this process. For programs that run tasks eagerly; workers do it themselves."""
    if app in _clients:
        _clients[app].close()


def _close(**_: Any) -> None:
    for clients in list(_clients.values()):
        clients.close()


# In a process of a prefork pool when it ends, and in the worker itself, which runs the tasks of all other pools.
signals.worker_process_shutdown.connect(_close, weak=False)
signals.worker_shutdown.connect(_close, weak=False)
