"""Fixtures for pytest: clients on `memory://`, and the clock that moves their time.

    pytest_plugins = ["libdlock.integrations.pytest"]

in the `conftest.py` of the root. There is no entry point: pytest would then import libdlock in every project in which it is
installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from .. import Client
from ..aio._client import Connecting
from ..testing import ManualClock

if TYPE_CHECKING:
    from .._options import Options

__all__ = ["dlock_aio_connect", "dlock_client", "dlock_clock", "dlock_options"]


@pytest.fixture
def dlock_options() -> Options:
    """The options of the clients. Override it, in a module or a `conftest.py`, to give others."""
    return {}


@pytest.fixture
def dlock_clock() -> ManualClock:
    """The clock of the clients of a test: `advance(seconds)`."""
    return ManualClock()


@pytest.fixture
def dlock_client(dlock_clock: ManualClock, dlock_options: Options) -> Iterator[Client]:
    """A client on `memory://` with `dlock_clock`, closed at the end of the test."""
    with dlock_clock.connect(**dlock_options) as client:
        yield client


@pytest.fixture
def dlock_aio_connect(dlock_clock: ManualClock, dlock_options: Options) -> Connecting:
    """The same for asyncio: `async with dlock_aio_connect as client`, in the loop of the test."""
    return dlock_clock.aio_connect(**dlock_options)
