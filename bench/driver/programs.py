"""Who is measured: our languages, the floor beneath them, the peers beside them; and how each is started."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Protocol

from .server import ROOT, SCRIPTS

RELEASE = ROOT / "target/release"
BUILD = ROOT / "build/bench"


def jdk(tool: str) -> str:
    """The JDK's tool that Maven would take."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/{tool}" if home else tool


class Reachable(Protocol):
    """A server, or the way to one."""

    @property
    def url(self) -> str:
        """Where clients connect."""


@dataclass(frozen=True)
class Program:
    """One that speaks the worker protocol."""

    name: str
    command: tuple[str, ...]
    lacks: str = ""
    """What a peer promises less than what it stands beside."""
    requests: frozenset[str] = SCRIPTS
    """The commands that it sends to the server for its work."""

    def start(self, what: str, server: Reachable, callers: int, seconds: float, options: str = "") -> list[str]:
        """The command line; options as in a URL, `strict_fifo=true`."""
        url = f"{server.url}?{options}" if options else server.url
        return [*self.command, what, url, str(callers), str(seconds)]


PYTHON = str(ROOT / "build/venv/bin/python")
JAVA = (jdk("java"), "-cp", f"{BUILD / 'java'}:{ROOT / 'build/java/libdlock.jar'}", "Worker")
REDISSON_CLASSES = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-cp",
    f"{BUILD / 'redisson/classes'}:{BUILD / 'redisson/lib/*'}",
    "RedissonWorker",
)

RUST = Program("Rust", (str(RELEASE / "libdlock-bench"), "tasks"))
BLOCKING = Program("Rust, blocking", (str(RELEASE / "libdlock-bench"), "blocking"))
C = Program("C", (str(BUILD / "c-worker"),))
PY = Program("Python", (PYTHON, str(ROOT / "bench/python/libdlock_threads.py")))
AIO = Program("Python, asyncio", (PYTHON, str(ROOT / "bench/python/libdlock_asyncio.py")))
NODE = Program("Node", ("node", str(ROOT / "build/node-app/libdlock-worker.mjs")))
JVM = Program("Java", JAVA)
OURS = (RUST, C, PY, AIO, NODE, JVM)
#: Those and how a Rust program calls that is not asynchronous.
WITH_BLOCKING = (BLOCKING, *OURS)

SET_AND_SCRIPTS = SCRIPTS | {"set"}
WITH_SUBSCRIPTIONS = SCRIPTS | {"subscribe", "unsubscribe"}
PEER_PYTHON = str(BUILD / "redis-py/bin/python")
PEER_PYTHON_LIMITS = str(BUILD / "limits/bin/python")
PEER_PYTHON_THROTTLED = str(BUILD / "throttled-py/bin/python")
REDISSON = Program(
    "Redisson RLock",
    (jdk("java"), *REDISSON_CLASSES, "RLock"),
    "no token, lost signal, order",
    WITH_SUBSCRIPTIONS,
)
FENCED = Program(
    "Redisson RFencedLock",
    (jdk("java"), *REDISSON_CLASSES, "RFencedLock"),
    "no lost signal, order; its token begins anew on an empty server",
    WITH_SUBSCRIPTIONS,
)
REDIS_PY = Program(
    "redis-py Lock",
    (PEER_PYTHON, str(ROOT / "bench/python/redis_py_threads.py")),
    "no wake-up (asks every 0.1 s), renewal, token, lost signal, re-entry, order",
    SET_AND_SCRIPTS,
)
REDIS_PY_AIO = Program(
    "redis-py asyncio Lock",
    (PEER_PYTHON, str(ROOT / "bench/python/redis_py_asyncio.py")),
    "as redis-py Lock",
    SET_AND_SCRIPTS,
)
SEMAPHORE = Program(
    "redis-semaphore Mutex",
    ("node", str(BUILD / "redis-semaphore/redis-semaphore-worker.mjs")),
    "no wake-up (asks every 10 ms), token, lost signal in time, re-entry, order",
    SET_AND_SCRIPTS,
)
RSLOCK = Program(
    "rslock",
    (str(BUILD / "rslock/release/rslock-worker"),),
    "no wake-up (asks after 0 to 200 ms), renewal, token, lost signal, re-entry, order",
    SET_AND_SCRIPTS,
)
PEERS = (REDISSON, FENCED, REDIS_PY, REDIS_PY_AIO, SEMAPHORE, RSLOCK)

#: Those on several servers, of which a majority grants a lock.
REDLOCK = Program(
    "redlock",
    ("node", str(BUILD / "redlock/redlock-worker.mjs")),
    "no wake-up (asks after 100 to 300 ms), renewal, token, lost signal, re-entry",
)
POTTERY = Program(
    "pottery Redlock",
    (str(BUILD / "pottery/bin/python"), str(ROOT / "bench/python/pottery_threads.py")),
    "no wake-up (asks after 0 to 200 ms), renewal, token, lost signal, re-entry",
    SET_AND_SCRIPTS,
)

#: Those with rate limiters, on the Redis client that each library usually has.
RRATE_LIMITER = Program(
    "Redisson RRateLimiter",
    (jdk("java"), *REDISSON_CLASSES, "RRateLimiter"),
    "counts on the client's clock",
)
LIMITS = Program(
    "limits",
    (PEER_PYTHON_LIMITS, str(ROOT / "bench/python/limits_threads.py")),
    "fixed windows: twice the limit around the end of one; no waiting",
)
LIMITS_AIO = Program(
    "limits, asyncio",
    (PEER_PYTHON_LIMITS, str(ROOT / "bench/python/limits_asyncio.py")),
    "as limits",
)
THROTTLED = Program(
    "throttled-py",
    (PEER_PYTHON_THROTTLED, str(ROOT / "bench/python/throttled_threads.py")),
    "waits by asking again",
)
THROTTLED_AIO = Program(
    "throttled-py, asyncio",
    (PEER_PYTHON_THROTTLED, str(ROOT / "bench/python/throttled_asyncio.py")),
    "as throttled-py",
)
FLEXIBLE = Program(
    "rate-limiter-flexible",
    ("node", str(BUILD / "rate-limiter-flexible/rate-limiter-flexible-worker.mjs")),
    "fixed windows: twice the limit around the end of one; no waiting",
)
LIMITER_PEERS = (RRATE_LIMITER, LIMITS, LIMITS_AIO, THROTTLED, THROTTLED_AIO, FLEXIBLE)

#: Those with queues of jobs.
BULLMQ = Program(
    "BullMQ",
    ("node", str(BUILD / "bullmq/bullmq-worker.mjs")),
    "token, lost signal in time, one order for all takers",
)
DELAYED_QUEUE = Program(
    "Redisson RDelayedQueue",
    (jdk("java"), *REDISSON_CLASSES, "RDelayedQueue"),
    "acknowledgement, attempts, dead list, token: what is taken is gone; moves jobs by a live client",
    SCRIPTS | {"blpop", "lpop"},
)
RQ = Program(
    "rq",
    (str(BUILD / "rq/bin/python"), str(ROOT / "bench/python/rq_jobs.py"), "Worker"),
    "token, lost signal, order by due time; a process forked for each job, one job at a time",
)
RQ_SIMPLE = Program(
    "rq SimpleWorker",
    (str(BUILD / "rq/bin/python"), str(ROOT / "bench/python/rq_jobs.py"), "SimpleWorker"),
    "as rq, without the fork: a job that hangs or crashes takes the worker along",
)


def small_jvm(program: Program) -> Program:
    """The same with less of everything in each process, for when many of them run at a time."""
    java, *rest = program.command
    flags = ("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dsmall=true")
    return replace(program, command=(java, *flags, *rest))


def floor(mode: str) -> Program:
    """The bare-socket program: callers with a `socket` each, on one `pipeline`, or as the contenders of a queue."""
    name = {"sockets": "floor, a socket each", "pipeline": "floor, one socket", "queue": "floor"}[mode]
    return Program(name, (str(RELEASE / "libdlock-floor"), mode))
