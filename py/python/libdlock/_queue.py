"""The delayed queue for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import overload

from . import _native
from ._consumer import Consumer, Handler
from ._consumers import Reason
from ._convert import DO_NOT_WAIT, Seconds
from ._deliveries import acknowledged
from ._delivery import Delivery
from ._greenlets import ask, running
from ._jobs import Backoff, ListedJob, NewJob, Payload, Put, QueueCounts, listed, new_job
from ._queues import NamedQueue
from ._shown import shown


class Queue(NamedQueue):
    """A delayed queue of one name, made by `Client.queue`. May be shared between threads.

    A job is bytes. It waits until it is due and is delivered at least once: a job whose worker dies comes again. Jobs
    that are due come by priority, the higher first, and then by due time.

        mails = client.queue("mails")
        mails.put("to: ada")
        mails.put("to: bob", delay=60, id="bob-1")

        for delivery in mails:
            with delivery:
                send(delivery.payload)

    Iterating takes one job after another and waits for each, without end; each is ended by its own `with`.
    """

    _label = "libdlock.Queue"

    def put(
        self,
        payload: Payload,
        *,
        delay: Seconds | None = None,
        at: datetime | float | None = None,
        id: str | None = None,
        priority: int = 0,
    ) -> Put:
        """Puts a job, `str` or bytes, and returns its id and whether it is new.

        It is due after `delay` seconds, or `at` a time (a `datetime` with a time zone, or seconds since 1970), or at once;
        of jobs that are due those of a higher `priority`, -32768 to 32767, come first. A job with an
        `id`, 1 to 512 bytes, is put once: while one with that id waits, is being done or is dead, another put does nothing,
        and says so. So it may be repeated.

        `InvalidArgument` for a value out of range, `QueueFull` when the queue has `max_length` jobs, `ConnectionFailed` when
        the server was not reached, and nothing was put. `OutcomeUnknown` when it is not known what became of it: without an
        id after one lost reply, with one when no repeat was answered.
        """
        job = new_job(NewJob(payload, delay=delay, at=at, id=id, priority=priority), self._name)
        caller = running()
        if caller is None:
            return Put(*_native.queue_put(self._number, job))
        (put,) = caller.port.call(_native.submit_queue_put, self._number, job)
        return Put(*put)

    def put_many(self, jobs: Iterable[NewJob | Payload]) -> list[Put]:
        """Puts jobs, in their order: payloads, or `NewJob`s. Up to 100, and 1 MiB, go in one request.

        Errors as `put`. A request puts all of its jobs or none, and what earlier requests put stays.
        """
        given = self._jobs(jobs)
        puts = ask(_native.queue_put_many, _native.submit_queue_put_many, self._number, given)
        return [Put(*put) for put in puts]

    @overload
    def take(self, timeout: None = None) -> Delivery: ...

    @overload
    def take(self, timeout: Seconds) -> Delivery | None: ...

    def take(self, timeout: Seconds | None = None) -> Delivery | None:
        """Takes the first job that is due, waiting `timeout` seconds at most; `None` when there was none in time.

        `None` waits for ever, 0 does not wait. Takers of all processes are served in the order of arrival.

        `ConnectionFailed` and its kin when the server cannot be asked for `operation_timeout`; `OutcomeUnknown` when it was
        asked and did not answer, and what it delivered all the same goes back and does not count; `Closed` when the client
        is closed meanwhile. Ctrl-C breaks it, and takes no job.
        """
        taken = self._taken(_native.queue_take, _native.submit_queue_take, self._wait_ms(timeout), None)
        return taken[0] if taken else None

    def try_take(self) -> Delivery | None:
        """As `take(timeout=0)`: `None` when no job is due, or others wait in front."""
        return self.take(DO_NOT_WAIT)

    def take_many(self, n: int, timeout: Seconds | None = None) -> list[Delivery]:
        """Takes up to `n` jobs, 1 to 100: those that are due now, or the first that is within `timeout`.

        Errors as `take`.
        """
        most = self._most(n, "take")
        waiting = self._wait_ms(timeout)
        return self._taken(_native.queue_take_many, _native.submit_queue_take_many, most, waiting)

    def ack_many(self, deliveries: Iterable[Delivery]) -> list[bool]:
        """The jobs of these deliveries are done: removes them from the queue, by one request for each 100.

        Of each `True`, or `False` when it was ended before, or was lost: then its job comes again, or has come to another
        worker, and nothing of that was touched. `InvalidArgument` when one is of another queue or client, and then all are
        held as before. Other errors as `Delivery.ack`: the deliveries are over all the same, and their jobs may come again.
        """
        with acknowledged(deliveries, Delivery) as handles:
            acked: list[bool] = ask(
                _native.queue_ack_many, _native.submit_queue_ack_many, self._number, handles
            )
        return acked

    def __iter__(self) -> Iterator[Delivery]:
        while True:
            yield self.take()

    def consume(
        self,
        handler: Handler,
        *,
        concurrency: int = 1,
        backoff: Backoff | None = None,
        grace: Seconds = 10.0,
        reason: Reason = "type",
    ) -> Consumer:
        """A consumer that calls `handler` with each job, on `concurrency` threads; `run` or a `with` starts it.

        When the handler returns, the job is acknowledged; when it raises, it is put back after `backoff` (1 s, twice as long
        each time, 5 min at most). A handler may end the delivery itself. `grace` is how long `stop` waits for jobs in hand.
        The dead list shows the type of what a handler raised as the reason, with `reason="text"` its text, too.
        """
        again = Backoff() if backoff is None else backoff
        return Consumer(self, self._next, handler, concurrency, again, grace, reason)

    def cancel(self, id: str) -> bool:
        """Removes a job that waits; `False` when no job with this id does. `NotHeld` when it is being done."""
        done: bool = ask(
            _native.queue_cancel, _native.submit_queue_cancel, self._number, self._id(id, "cancel")
        )
        return done

    def peek(self, n: int = 100) -> list[ListedJob]:
        """The first `n` jobs that wait, 1 to 1000, in their order, due or not; fewer where they are 1 MiB together."""
        return listed(ask(_native.queue_peek, _native.submit_queue_peek, self._number, self._most(n, "list")))

    def counts(self) -> QueueCounts:
        """How many jobs there are. Costs the same however many that is."""
        return QueueCounts(*ask(_native.queue_counts, _native.submit_queue_counts, self._number))

    def purge(self) -> int:
        """Removes all jobs that wait, due or not; how many. Deliveries go on, and the dead list stays."""
        count: int = ask(_native.queue_purge, _native.submit_queue_purge, self._number)
        return count

    @property
    def dead(self) -> DeadJobs:
        """The dead list: jobs that were delivered as often as they may be."""
        return DeadJobs(self)

    def _next(self, cancel: int) -> list[Delivery]:
        """The next job, waiting for ever; `Cancelled` once that token was fired."""
        return self._taken(_native.queue_take, _native.submit_queue_take, None, cancel)

    def _taken(
        self, blocking: Callable[..., None], submit: Callable[..., int], *arguments: int | None
    ) -> list[Delivery]:
        got: list[_native.Delivered] = []
        try:
            caller = running()
            if caller is None:
                blocking(got, self._number, *arguments)
            else:
                got.extend(caller.port.call(submit, self._number, *arguments))
            return [Delivery(self._of(delivered), delivered) for delivered in got]
        except BaseException:  # Ctrl-C may come after the delivery and before the caller has it
            for delivered in got:
                delivered.undo()
            raise


class DeadJobs:
    """The dead list of a queue, made by `Queue.dead`."""

    _label = "libdlock.DeadJobs"

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def list(self, n: int = 100) -> list[ListedJob]:
        """The first `n` dead jobs, 1 to 1000, in the order in which they died; fewer where they are 1 MiB together."""
        queue = self._queue
        return listed(
            ask(_native.queue_dead, _native.submit_queue_dead, queue._number, queue._most(n, "list"))
        )

    def requeue(self, id: str) -> bool:
        """Has a dead job wait again, due now, as if it had never been delivered; `False` when none has this id."""
        blocking, submit = _native.queue_requeue_dead, _native.submit_queue_requeue_dead
        done: bool = ask(blocking, submit, self._queue._number, self._queue._id(id, "requeue"))
        return done

    def requeue_all(self) -> int:
        """Has all jobs that are dead now wait again; how many."""
        blocking, submit = _native.queue_requeue_all_dead, _native.submit_queue_requeue_all_dead
        count: int = ask(blocking, submit, self._queue._number)
        return count

    def remove(self, id: str) -> bool:
        """Removes a dead job; `False` when none has this id."""
        blocking, submit = _native.queue_remove_dead, _native.submit_queue_remove_dead
        done: bool = ask(blocking, submit, self._queue._number, self._queue._id(id, "remove dead"))
        return done

    def purge(self) -> int:
        """Removes all dead jobs; how many."""
        count: int = ask(_native.queue_purge_dead, _native.submit_queue_purge_dead, self._queue._number)
        return count

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} of {self._queue!r}>"
