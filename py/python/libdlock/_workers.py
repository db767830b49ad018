"""What the worker numbers of threads and of tasks share."""

from __future__ import annotations

from typing import ClassVar, NoReturn, SupportsIndex

from . import _native
from ._convert import Seconds, name_bytes, optional_ms, whole
from ._log import logger
from ._opened import OpenedClient, not_copied
from ._shown import shown
from ._snowflake import Layout, LayoutName, Snowflake

_OP = "worker"


class WorkerView:
    """A worker number that was leased. Reading it costs no I/O."""

    _label: ClassVar[str]

    def __init__(self, client: OpenedClient, pool: str, grant: _native.Grant) -> None:
        self._client = client  # a number keeps its client open
        self._pool = pool
        self._grant = grant
        self._ended = False

    @property
    def number(self) -> int:
        """The number, from 0."""
        return _native.worker_number(self._grant.handle)

    @property
    def bits(self) -> int:
        """How many bits the numbers of its pool have."""
        return _native.worker_bits(self._grant.handle)

    @property
    def pool(self) -> str:
        """The name of its pool, without the client's key prefix."""
        return self._pool

    @property
    def valid(self) -> bool:
        """Whether it is still held for certain, on this machine's monotonic clock."""
        return _native.held_valid(self._grant.handle)

    @property
    def remaining(self) -> float:
        """Seconds for which it stays valid without another renewal; 0.0 when it is over."""
        return _native.held_remaining(self._grant.handle)

    def snowflake(self, layout: Layout | LayoutName | None = None) -> Snowflake:
        """A generator of ids under this number. Costs no I/O.

        The low bits of the number are the layout's worker, those above them its datacenter; `InvalidArgument` when it has
        more bits than these. Generators of one layout share their state. Each keeps the number until it is collected.

        Its ids are unique whatever the clocks of the machines do: its time begins at the server's, or behind the last id of
        the number's holders before, and goes on by a monotonic clock. When the lease is over it raises `LockLost`, also in
        the middle of a batch, and after `release` `NotHeld`.
        """
        return Snowflake._under(self._grant.handle, layout)

    def _release_failed(self, error: BaseException) -> None:
        """For the end of a `with` whose body raised too: the body's exception is the one to see."""
        if not isinstance(error, Exception):
            raise error
        logger.warning("the release at the end of a failed `with` failed too: %s", str(error))

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_copied(self)

    @shown
    def __repr__(self) -> str:
        return f"<{self._label} {self._pool!r} number={self.number}>"


def leasing(
    client: OpenedClient, pool: str, bits: int, lease: Seconds | None
) -> tuple[int, bytes, int, int | None]:
    """What the core takes to lease a number."""
    encoded = name_bytes(pool, op=_OP)
    number = whole(bits, "bits", op=_OP, name=pool)
    return client._number, encoded, number, optional_ms(lease, "lease", op=_OP, name=pool)
