"""What the queues of threads and of tasks share: how they are made, and what they ask the core."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar, cast

from . import _native
from ._convert import Seconds, name_bytes, optional_ms, whole
from ._jobs import NewJob, Payload, id_bytes, new_job
from ._opened import OpenedClient, of_client
from ._unheld import UnheldObject

_OP = "queue"


_Q = TypeVar("_Q", bound="NamedQueue")


class NamedQueue(UnheldObject):
    """A queue of one name."""

    # The queues from which it takes when it has no job that is due.
    _then: tuple[NamedQueue, ...] = ()

    # What rq, Celery, `queue.Queue`, beanstalkd and SQS call it.
    _elsewhere: ClassVar = {
        **dict.fromkeys(("enqueue", "send", "send_message", "publish", "delay"), "`queue.put(payload)`"),
        **dict.fromkeys(
            ("enqueue_in", "enqueue_at", "apply_async"), "`queue.put(payload, delay=...)`, or `at=`"
        ),
        **dict.fromkeys(("enqueue_many", "send_messages"), "`queue.put_many(jobs)`"),
        **dict.fromkeys(("get", "reserve", "receive", "receive_message", "dequeue"), "`queue.take(timeout)`"),
        "get_nowait": "`queue.try_take()`",
        "put_nowait": "`queue.put(payload)`",
        **dict.fromkeys(("task_done", "ack", "delete_message"), "`delivery.ack()`"),
        **dict.fromkeys(("nack", "release", "bury"), "`delivery.nack()`"),
        **dict.fromkeys(("qsize", "count", "size", "stats"), "`queue.counts()`"),
        **dict.fromkeys(("empty", "clear"), "`queue.purge()`, which removes all that wait"),
        **dict.fromkeys(("failed", "failed_job_registry"), "`queue.dead`"),
        **dict.fromkeys(("work", "worker"), "`queue.consume(handler).run()`"),
    }

    def __init__(
        self,
        client: OpenedClient,
        name: str,
        lease: Seconds | None,
        watchdog_lease: Seconds | None,
        max_attempts: int | None,
        max_payload: int | None,
        max_length: int | None,
    ) -> None:
        def number(value: int | None, what: str) -> int | None:
            return None if value is None else whole(value, what, op=_OP, name=name)

        handle = _native.queue_open(
            client._number,
            name_bytes(name, op=_OP),
            optional_ms(lease, "lease", op=_OP, name=name),
            optional_ms(watchdog_lease, "watchdog_lease", op=_OP, name=name),
            number(max_attempts, "max_attempts"),
            number(max_payload, "max_payload"),
            number(max_length, "max_length"),
        )
        super().__init__(client, name, handle)

    def followed_by(self: _Q, other: _Q) -> _Q:
        """The same queue, whose takes and consumers go on to `other` when no job of this queue is due. Costs no I/O.

            urgent.followed_by(usual).consume(send).run()

        So an urgent job is taken before all usual ones. A take asks one queue after the other, and waits for all when none
        has a job that is due; `delivery.queue` says which one a job is of. Puts, counts and lists
        are of this queue alone. `InvalidArgument` for a queue of another client.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"a {self._label} is followed by one, not by {type(other).__name__}")
        both = object.__new__(type(self))
        handle = _native.queue_followed_by(self._number, other._number)
        UnheldObject.__init__(both, self._client, self._name, handle)
        both._then = (*self._then, other, *other._then)
        return both

    def _of(self: _Q, delivered: _native.Delivered) -> _Q:
        """The queue that a job is of: this, or one that follows it."""
        if not self._then:
            return self
        name = _native.delivery_queue(delivered.grant.handle)
        others = [queue for queue in self._then if queue._name == name != self._name]
        return cast("_Q", others[0]) if others else self

    def _jobs(self, jobs: Iterable[NewJob | Payload]) -> list[_native._NewJob]:
        if isinstance(jobs, Payload):
            raise TypeError(f"jobs must be an iterable of jobs, not one {type(jobs).__name__}: give [job]")
        each = (job if isinstance(job, NewJob) else NewJob(job) for job in jobs)
        return [new_job(job, self._name) for job in each]

    def _wait_ms(self, timeout: Seconds | None) -> int | None:
        return optional_ms(timeout, "timeout", op="take", name=self._name)

    def _most(self, n: int, op: str) -> int:
        return whole(n, "n", op=op, name=self._name)

    def _id(self, id: str, op: str) -> bytes:
        return id_bytes(id, self._name, op)


class OpensQueues(OpenedClient, Generic[_Q]):
    """A client's way to its queues."""

    _queue_class: type[_Q]

    @of_client
    def queue(
        self,
        name: str,
        *,
        lease: Seconds | None = None,
        watchdog_lease: Seconds | None = None,
        max_attempts: int | None = None,
        max_payload: int | None = None,
        max_length: int | None = None,
    ) -> _Q:
        """The delayed queue of that name. Costs no I/O.

        A delivery is this process's as long as its lease lasts, which the client renews, `watchdog_lease` (the client's
        lease unless given) each time. With `lease`, 0.1 s to 24 h, nothing is renewed, and a job whose worker takes longer
        comes again. A job that is put through this object is delivered `max_attempts` times, 1 to 1000000, 16 unless given,
        and then it is dead. `max_payload` is the largest payload in bytes, up to 2 MiB, 1 MiB unless given. With
        `max_length` `put` raises `QueueFull` when the queue would hold more jobs than that, dead ones among them.
        """
        return self._queue_class(self, name, lease, watchdog_lease, max_attempts, max_payload, max_length)
