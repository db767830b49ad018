"""The client: the only way in."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .. import _log, _native
from .._bloom_filters import OpensBloomFilters
from .._convert import Seconds, utf8
from .._counting import OpensCountingSemaphores
from .._decision import OpensLimiters
from .._id_generators import OpensIdGenerators
from .._latches import OpensLatches
from .._lock_set import OpensLockAlls
from .._named import OpensLocks
from .._options import lists_options, texts_of
from .._permits import OpensSemaphores
from .._queues import OpensQueues
from .._sides import OpensRwLocks
from .._template import Template
from .._workers import leasing
from ._bloom_filter import BloomFilter
from ._counting_semaphore import CountingSemaphore
from ._id_generator import IdGenerator
from ._latch import Latch
from ._limiter import RateLimiter
from ._lock import Lock
from ._lock_all import LockAll
from ._port import running_port
from ._queue import Queue
from ._rw_lock import RwLock
from ._semaphore import Semaphore
from ._worker import Worker

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import Options

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Self = TypeVar("_Self", bound="Client")


@lists_options
def connect(url: str, **options: Unpack[Options]) -> Connecting:
    """Connects to `redis://`, `rediss://` (TLS), `valkey://`, `unix://` or `memory://`.

    `await` it, or enter it by `async with`.

    Options may stand in the URL's query or be given here, where durations are seconds or a `timedelta`. They are named and
    checked by the core: an unknown one raises `InvalidArgument` with the names that are allowed. `ConnectionFailed` within
    `connect_timeout` when the server does not answer, refuses, or does not take the password.
    With `connect_wait` it keeps trying for that long while the server is not up yet.
    """
    return Connecting(utf8(url, "url", op="connect"), texts_of(options))


class Connecting:
    """A client to be: `client = await connect(url)`, or `async with connect(url) as client`, which closes it at the end."""

    def __init__(self, url: str, options: list[tuple[str, str]]) -> None:
        self._url = url
        self._options = options
        self._entered = False

    async def _open(self) -> Client:
        submit = _native.submit_client_open
        with _log.opening() as port:
            return Client(await running_port().call(submit, self._url, self._options, port))

    def __await__(self) -> Generator[Any, None, Client]:
        return self._open().__await__()

    async def __aenter__(self) -> Client:
        if self._entered:
            raise RuntimeError("this connection was entered already; call connect again")
        self._entered = True
        self._client = await self._open()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.close()


class Client(
    OpensLocks[Lock],
    OpensLockAlls[LockAll],
    OpensSemaphores[Semaphore],
    OpensCountingSemaphores[CountingSemaphore],
    OpensRwLocks[RwLock],
    OpensLatches[Latch],
    OpensIdGenerators[IdGenerator],
    OpensBloomFilters[BloomFilter],
    OpensQueues[Queue],
    OpensLimiters[RateLimiter],
):
    """A connected client, made by `connect`. May be shared between tasks, also of several loops; not across a fork.

    As an asynchronous context manager it is closed at the end. One that is collected while open warns with a
    `ResourceWarning`.
    """

    _label = "libdlock.aio.Client"
    _lock_class = Lock
    _lock_all_class = LockAll
    _semaphore_class = Semaphore
    _counting_semaphore_class = CountingSemaphore
    _rw_lock_class = RwLock
    _latch_class = Latch
    _id_generator_class = IdGenerator
    _bloom_filter_class = BloomFilter
    _queue_class = Queue
    _limiter_class = RateLimiter

    def synchronized(
        self, name: str, *, lease: Seconds | None = None, wait: Seconds | None = None
    ) -> Callable[[Callable[_P, Coroutine[Any, Any, _R]]], Callable[_P, Coroutine[Any, Any, _R]]]:
        """A decorator: the coroutine runs while its task holds the lock `name`, or raises `AcquireTimeout`.

        The name may have the function's parameters, such as `"order:{order_id}"`; a hash tag is written `"{{tag}}"`.
        """
        template = Template(name, "name")
        open_lock = functools.partial(self.lock, lease=lease, wait=wait)
        open_lock(template.outline)  # refuses here what is wrong

        def decorate(
            function: Callable[_P, Coroutine[Any, Any, _R]],
        ) -> Callable[_P, Coroutine[Any, Any, _R]]:
            if not inspect.iscoroutinefunction(function):
                raise TypeError(
                    f"{function!r} is no coroutine function: it would not run while the lock is held"
                )

            lock_of = template.opened(open_lock, function)

            @functools.wraps(function)
            async def locked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
                async with lock_of(*args, **kwargs):
                    return await function(*args, **kwargs)

            return locked

        return decorate

    async def worker(self, pool: str, bits: int = 10, *, lease: Seconds | None = None) -> Worker:
        """Leases the lowest free worker number of this pool, for ids that differ among all who use the pool.

        A pool has 1 to 22 bits, 10 by default: 0 to 1,023. `AcquireTimeout` when all are taken, which says how many are, and
        when the next may be free (`retry_after`). The lease, the client's unless given, is 0.1 s to 24 h, renewed at a third
        of it: so long a number stays taken when its process dies. When the task is cancelled while it waits, nothing stays
        leased.
        """
        arguments = leasing(self, pool, bits, lease)
        return Worker(self, pool, await running_port().call(_native.submit_worker_lease, *arguments))

    async def close(self, release: bool = False) -> None:
        """Closes the client: every waiter gets `Closed`, renewals stop, and held locks run out with their leases.

        With `release=True` they are released first, and the first failure of that is raised when all is closed. Closing
        again does nothing. Once begun it is carried out, also when the task is cancelled while it waits.
        """
        if not self._closed:
            try:
                await running_port().finish(_native.submit_client_close, self._number, bool(release))
            finally:  # it is closed also when a release failed, or nobody waits for it any more
                self._over()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
