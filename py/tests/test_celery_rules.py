"""What tasks may say of their runs, and tasks that no worker runs: called directly, or eagerly."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import celery
import pytest

import libdlock
from libdlock.integrations.celery import DlockTask, Limit, LimitReached, Once, close


@pytest.fixture
def app(name: str) -> Iterator[celery.Celery]:
    """Its tasks run where they are sent, and its locks are this process's."""
    app = celery.Celery(name, broker="memory://", set_as_current=False)
    app.conf.update(task_always_eager=True, task_store_eager_result=False, dlock_url=f"memory://{name}")
    yield app
    close(app)


def task(app: celery.Celery, **options: Any) -> Any:
    """A task with three arguments that returns what it is given."""

    def made(self: DlockTask, first: Any, second: Any = 2, **more: Any) -> Any:
        return first, self.hold is not None

    decorate: Any = app.task(base=DlockTask, bind=True, name="shop.made", **options)
    return decorate(made)


def lock_name(made: Any, *args: Any, **kwargs: Any) -> str:
    """The lock that a run would take."""
    name: str = made.once.lock_name(made, args, kwargs)
    return name


def test_the_same_arguments_have_the_same_lock(app: celery.Celery) -> None:
    made = task(app, once=Once())
    first = lock_name(made, 1)
    assert first.startswith("celery:shop.made:#")
    assert first == lock_name(made, first=1) == lock_name(made, 1, 2) == lock_name(made, second=2, first=1)
    others = [lock_name(made, 1, 3), lock_name(made, "1"), lock_name(made, 1, three=3), lock_name(made, None)]
    assert len({first, *others}) == 5


def test_dates_are_arguments_too(app: celery.Celery) -> None:
    made = task(app, once=Once())
    day = datetime.date(2026, 11, 27)
    assert lock_name(made, day) == lock_name(made, day) != lock_name(made, day.replace(day=28))


def test_named_arguments_are_the_key(app: celery.Celery) -> None:
    made = task(app, once=Once(key=["second"]))
    assert lock_name(made, 1) == lock_name(made, 5, 2) != lock_name(made, 1, 3)
    made = task(celery.Celery(), once=Once(key=()))
    assert lock_name(made, 1) == lock_name(made, 2, 3)


def test_a_function_makes_the_key(app: celery.Celery) -> None:
    made = task(app, once=Once(key=lambda first, **_: f"order-{first}", name="orders"))
    assert lock_name(made, 7) == "orders:order-7"


@pytest.mark.parametrize("key", ["", "x" * 10_000, "a{b", "nul\0", "na\u00efve", "#" + "0" * 64, "two words"])
def test_any_text_can_be_a_key(app: celery.Celery, key: str) -> None:
    made = task(
        app, once=Once(key=lambda first: first), limit=Limit(libdlock.Rate(9, 60), key=lambda first: first)
    )
    assert lock_name(made, key) != lock_name(made, key + "x")
    assert made.delay(key).get() == (key, True)


def test_a_key_that_is_no_text_fails_the_task(app: celery.Celery) -> None:
    made = task(app, once=Once(key=lambda first: None))  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match=r"the key of task shop\.made must be a str, not NoneType"):
        made.delay(1).get()


def test_a_key_function_that_raises_fails_the_task(app: celery.Celery) -> None:
    made = task(app, once=Once(key=lambda first: first["missing"]))
    with pytest.raises(KeyError):
        made.delay({}).get()


def test_arguments_without_a_json_form_are_refused(app: celery.Celery) -> None:
    made = task(app, once=Once())
    with pytest.raises(TypeError, match=r"arguments of task shop\.made have no JSON form .* as key"):
        made.apply((object(),)).get()


def test_an_argument_that_is_not_there_is_refused(app: celery.Celery) -> None:
    made = task(app, once=Once(key=["third"]))
    with pytest.raises(libdlock.InvalidArgument, match="has no argument 'third'; allowed: first, second"):
        made.delay(1).get()


def test_rules_are_checked_where_they_are_written() -> None:
    with pytest.raises(libdlock.InvalidArgument, match="'later'; allowed: skip, ignore, retry, fail"):
        Once(duplicate="later")  # type: ignore[arg-type]
    with pytest.raises(libdlock.InvalidArgument, match="wait"):
        Once(wait=float("nan"))
    with pytest.raises(TypeError, match="key of Once must be a function, or a list of names"):
        Once(key="first")
    with pytest.raises(TypeError, match=r"rates must be libdlock\.Rate each, not str"):
        Limit("10/m")  # type: ignore[arg-type]


def test_a_direct_call_calls_the_function_only(app: celery.Celery) -> None:
    made = task(app, once=Once(), limit=Limit(libdlock.Rate(0, 60)))
    assert made(1) == (1, False)


def test_a_task_may_call_itself_directly(app: celery.Celery) -> None:
    def down(self: DlockTask, number: int) -> int:
        return number + self(number - 1) if number else 0

    made = app.task(base=DlockTask, bind=True, name="shop.down", once=Once(key=()))(down)
    assert made.delay(3).get() == 6


def test_an_eager_duplicate_is_skipped(app: celery.Celery) -> None:
    made = task(app, once=Once(key=()))
    with made.dlock.lock(lock_name(made, 1)).take():
        assert made.delay(1).get() is None
    assert made.delay(1).get() == (1, True)


@pytest.mark.parametrize("duplicate", ["retry", "fail"])
def test_an_eager_duplicate_fails(app: celery.Celery, duplicate: Any) -> None:
    made = task(app, once=Once(key=(), duplicate=duplicate))
    with made.dlock.lock(lock_name(made, 1)).take(), pytest.raises(libdlock.AcquireTimeout):
        made.delay(1).get()
    assert made.delay(1).get() == (1, True)


def test_an_eager_run_over_the_limit_fails(app: celery.Celery) -> None:
    made = task(app, limit=Limit([libdlock.Rate(1, 60), libdlock.Rate(9, 600)]))
    assert made.delay(1).get() == (1, False)
    with pytest.raises(LimitReached, match=r"the limit 'celery:shop\.made' of task shop\.made is reached"):
        made.delay(1).get()


def test_an_application_without_dlock_url_is_told(app: celery.Celery, name: str) -> None:
    app.conf.dlock_url = None
    with pytest.raises(libdlock.InvalidArgument, match=f"Celery application '{name}' has no dlock_url"):
        task(app, once=Once()).delay(1).get()


def test_options_that_are_wrong_are_told(app: celery.Celery) -> None:
    app.conf.dlock_options = {"leese": 1}
    with pytest.raises(libdlock.InvalidArgument, match="leese"):
        task(app, once=Once()).delay(1).get()
