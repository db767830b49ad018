"""What Python programmers expect of any object: copies, conditions, annotations, help, messages that name the argument."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import pickle
import pydoc
import subprocess
import threading
import typing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import libdlock
from libdlock import aio
from libdlock._options import Options
from redis_server import RedisServer


def test_a_client_is_not_copied_and_stays_open(client: libdlock.Client, name: str) -> None:
    with client.lock(name) as held:
        taken = client.lock(name + "-taken").take()
        for original in (client, client.lock(name), taken):
            for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match="copied"):
                    attempt(original)
        assert held.valid and taken.valid and not client.closed
        taken.release()


def test_what_was_not_made_says_so(client: libdlock.Client, name: str) -> None:
    shown = set()
    for package in (libdlock, aio):
        for kind in filter(inspect.isclass, vars(package).values()):
            if not issubclass(kind, BaseException) and not dataclasses.is_dataclass(kind):
                # Native ones take arguments, and are made completely or not at all.
                with contextlib.suppress(TypeError):
                    shown.add(repr(kind.__new__(kind)))
    for name_of in ("RateLimiter", "Queue", "Delivery", "Consumer", "Latch", "Client", "RwLock", "Lost"):
        assert {f"<libdlock.{name_of} not made>", f"<libdlock.aio.{name_of} not made>"} <= shown, name_of
    assert "<libdlock.aio.OwnedHold not made>" in shown
    with pytest.raises(libdlock.InvalidArgument) as raised:
        client.rate_limiter(name, rate=-1, per=1)
    seen = [entry.frame.f_locals.get("self") for entry in raised.traceback]
    assert [repr(each) for each in seen if isinstance(each, libdlock.RateLimiter)] == [
        "<libdlock.RateLimiter not made>"
    ]


def test_a_condition_on_a_lock(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    condition = threading.Condition(typing.cast(Any, lock))
    items: list[int] = []
    got: list[int] = []

    def consume() -> None:
        with condition, condition:  # held twice: both levels are given up while it waits
            waiting.set()
            assert condition.wait_for(lambda: items, timeout=20)
            assert lock.hold_count == 2
            got.append(items.pop())

    with pytest.raises(RuntimeError):
        condition.notify()
    waiting = threading.Event()
    thread = threading.Thread(target=consume)
    thread.start()
    waiting.wait(10)
    assert other.lock(name).acquire(timeout=10), "free while the condition is waited for"
    other.lock(name).release()
    with condition:
        items.append(7)
        condition.notify()
    thread.join(20)
    assert got == [7] and not lock.locked()


def members(module: Any) -> list[tuple[str, Any]]:
    found = []
    for name in module.__all__:
        public = getattr(module, name)
        found.append((name, public))
        if inspect.isclass(public):
            for member in dir(public):
                own = inspect.getattr_static(public, member)
                if member.startswith("_") and member not in (
                    "__init__",
                    "__new__",
                    "__enter__",
                    "__aenter__",
                ):
                    continue
                if isinstance(own, property):
                    found.append((f"{name}.{member}", own.fget))
                elif callable(getattr(public, member)):
                    found.append((f"{name}.{member}", getattr(public, member)))
    return found


@pytest.mark.parametrize("module", [libdlock, aio], ids=["threads", "tasks"])
def test_get_type_hints_works_on_every_public_callable(module: Any) -> None:
    seen = 0
    for name, public in members(module):
        if callable(public):
            try:
                typing.get_type_hints(public)
            except Exception as error:
                pytest.fail(f"{name}: {error!r}")
            seen += 1
    assert seen > 100
    hints = typing.get_type_hints(module.connect)
    assert hints["lease"] == libdlock._convert.Seconds | None and hints["url"] is str
    assert set(Options.__annotations__) | {"url", "return"} == set(hints)


@pytest.mark.parametrize("module", [libdlock, aio], ids=["threads", "tasks"])
def test_help_of_connect_lists_the_options(module: Any) -> None:
    text = pydoc.render_doc(module.connect, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    signature, _, prose = text.partition("Connects to")
    for option in Options.__annotations__:
        assert f"{option}:" in signature and f"`{option}`" in prose, option


@pytest.mark.parametrize("wait", [-1, -0.001, timedelta(days=-1), float("nan"), float("inf")], ids=repr)
@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_wait_is_checked_when_the_lock_is_made(client: libdlock.Client, wait: float, kind: str) -> None:
    made: Any = client if kind == "threads" else aio.Client(client._handle)
    with contextlib.ExitStack() as after:
        if kind == "tasks":
            after.callback(setattr, made, "_closed", True)  # the handle is the other client's
        with pytest.raises(libdlock.InvalidArgument, match="wait"):
            made.lock("k", wait=wait)


def test_python_s_own_errors_name_the_parameter_and_no_internal_class(client: libdlock.Client) -> None:
    lock = client.lock("k")
    wrong: list[tuple[str, Any]] = [
        ("name", lambda: client.lock()),  # type: ignore[call-arg]
        ("waits", lambda: client.lock("k", waits=1)),  # type: ignore[call-arg]
        ("reentrant", lambda: client.lock("k", reentrant=1)),  # type: ignore[arg-type]
        ("rate", lambda: client.rate_limiter("k", per=1)),
        ("rate", lambda: client.rate_limiter("k", rate="1", per=1)),  # type: ignore[arg-type]
        ("detached", lambda: lock.attach(5)),  # type: ignore[arg-type]
        ("timeout", lambda: lock.acquire(timeout="1")),  # type: ignore[arg-type]
        ("wait", lambda: lock.take(wait="1")),  # type: ignore[arg-type]
        ("lease", lambda: client.lock("k", lease=[])),  # type: ignore[arg-type]
        ("worker", lambda: libdlock.Snowflake(1)),  # type: ignore[call-arg]
        ("url", lambda: libdlock.connect(5)),  # type: ignore[arg-type]
    ]
    for parameter, call in wrong:
        with pytest.raises(TypeError) as caught:
            call()
        text = str(caught.value)
        assert parameter in text, text
        for internal in ("Opened", "Named", "Handle", "Py", "_native"):
            assert internal not in text, text


def test_timeout_none_waits_for_ever(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    lock = other.lock(name)
    got = threading.Event()

    def wait() -> None:
        assert lock.acquire(timeout=None)
        got.set()
        lock.release()

    with client.lock(name):
        thread = threading.Thread(target=wait)
        thread.start()
        assert not got.wait(0.1)
    assert got.wait(10)
    thread.join(10)


AT_EXIT = """
import atexit, sys

@atexit.register
def late():
    import libdlock
    with libdlock.connect(sys.argv[1]) as client, client.lock("at-exit", wait=5):
        print("held")

if len(sys.argv) > 2:
    import libdlock
"""


def pythons() -> list[str]:
    """Every interpreter from 3.10 on that pyenv has here, besides the one that runs this."""
    found = Path.home().glob(".pyenv/versions/3.1[0-9].*/bin/python")
    return [str(path) for path in sorted(found)]


@pytest.mark.parametrize("early", [False, True], ids=["imported-at-exit", "imported-before"])
def test_connect_in_an_atexit_handler(server: RedisServer, early: bool) -> None:
    """From Python 3.12 on no thread can be started there. The package needs nothing but itself, so each Python takes it."""
    import os
    import sys

    package = str(Path(libdlock.__file__).parents[1])
    arguments = [server.url] + (["early"] if early else [])
    for interpreter in {sys.executable, *pythons()}:
        done = subprocess.run(
            [interpreter, "-c", AT_EXIT, *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={**os.environ, "PYTHONPATH": package},
        )
        assert (done.returncode, done.stdout) == (0, "held\n"), (interpreter, done.stderr)
        assert "Traceback" not in done.stderr, (interpreter, done.stderr)


SUB_INTERPRETER = '''
import sys
code = """
import libdlock
for _ in range(2):
    with libdlock.connect("memory://") as client, client.lock("a"):
        pass
"""
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    inner = interpreters.create("legacy")
    assert interpreters.exec(inner, code) is None
else:
    import _xxsubinterpreters as interpreters
    inner = interpreters.create(isolated=False)
    interpreters.run_string(inner, code)
interpreters.destroy(inner)
print("ended")
'''


def test_a_sub_interpreter_ends_after_its_last_client() -> None:
    """Up to Python 3.11 it cannot end before its threads, and the process aborts later."""
    import os
    import sys

    package = str(Path(libdlock.__file__).parents[1])
    for interpreter in {sys.executable, *pythons()}:
        done = subprocess.run(
            [interpreter, "-c", SUB_INTERPRETER],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env={**os.environ, "PYTHONPATH": package},
        )
        assert (done.returncode, done.stdout) == (0, "ended\n"), (interpreter, done.stderr)


THREADS = """
import asyncio, gc, sys, threading, warnings, libdlock, libdlock.aio

def seen(what):
    names = [thread.name for thread in threading.enumerate() if thread.name == "libdlock-log"]
    print(what, len(names))

url = sys.argv[1]
first, second = libdlock.connect(url), libdlock.connect(url)
first.close()
first.close()
seen("one open")
second.close()
seen("none open")

try:
    libdlock.connect("redis://127.0.0.1:1", connect_timeout=1)
except libdlock.ConnectionFailed:
    seen("refused")

async def tasks():
    async with libdlock.aio.connect(url):
        seen("of tasks")

asyncio.run(tasks())
seen("closed")

warnings.simplefilter("ignore")
libdlock.connect(url)
gc.collect()
for thread in threading.enumerate():
    if thread.name == "libdlock-log":
        thread.join(10)
seen("collected")
"""


def test_the_thread_of_the_log_ends_with_the_last_client(server: RedisServer) -> None:
    import sys

    done = subprocess.run(
        [sys.executable, "-c", THREADS, server.url], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.splitlines() == [
        "one open 1",
        "none open 0",
        "refused 0",
        "of tasks 1",
        "closed 0",
        "collected 0",
    ]
