"""Log events of the core arrive in `logging`, on a thread of Python's."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

import libdlock


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.arrived = threading.Condition()

    def emit(self, record: logging.LogRecord) -> None:
        with self.arrived:
            self.records.append(record)
            self.arrived.notify_all()

    def about(self, name: str) -> logging.LogRecord:
        """The first warning about that lock, waited for."""

        def found() -> logging.LogRecord | None:
            records = (each for each in self.records if getattr(each, "lock_name", None) == name)
            return next((each for each in records if each.levelno >= logging.WARNING), None)

        with self.arrived:
            assert self.arrived.wait_for(found, 5), [each.getMessage() for each in self.records]
            record = found()
            assert record is not None
            return record


@pytest.fixture
def records() -> Iterator[Records]:
    handler = Records()
    logger = logging.getLogger("libdlock")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def lose(url: str, name: str) -> None:
    with libdlock.connect(url, lease=0.5) as client, libdlock.connect(url) as other:
        lock = client.lock(name)
        assert lock.acquire()
        held = lock.held
        assert held is not None
        assert other.lock(name).force_release()
        assert held.lost.wait(5)


def test_a_lost_lock_is_logged_as_a_warning(url: str, name: str, records: Records) -> None:
    lose(url, name)
    record = records.about(name)
    assert record.name == "libdlock"
    assert record.threadName == "libdlock-log"
    assert record.getMessage()


def test_a_handler_that_raises_costs_one_event(url: str, name: str, records: Records) -> None:
    logger = logging.getLogger("libdlock")
    failed: list[logging.LogRecord] = []

    def fail(record: logging.LogRecord) -> bool:
        if not failed and getattr(record, "lock_name", None) == name:
            failed.append(record)
            raise RuntimeError("a filter that raises")
        return True

    logger.addFilter(fail)
    try:
        lose(url, name)
        lose(url, name + "-next")
        records.about(name + "-next")
        assert failed
    finally:
        logger.removeFilter(fail)


def test_the_password_is_in_no_log(name: str, records: Records) -> None:
    with pytest.raises(libdlock.ConnectionFailed):
        libdlock.connect("redis://:s3cret@127.0.0.1:1", connect_timeout=1)
    assert not [each for each in records.records if "s3cret" in each.getMessage()]
