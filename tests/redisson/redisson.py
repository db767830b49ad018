"""The real Redisson, in a JVM of its own: what peer/ says and does, as objects."""

from __future__ import annotations

import itertools
import queue
import subprocess
import threading
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from helpers import SOON
from sides import Grant, Hold, read_hold

BUILD = Path(__file__).resolve().parents[2] / "build" / "redisson-peer"
#: It lives for seconds: what makes it start sooner is worth more than what makes it faster later.
JVM = [
    "java",
    "-Xshare:auto",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
]
#: A JVM on a busy machine takes its time to load Redisson.
STARTED = 300.0


class Peer:
    """The process. Its answers are read in the background, and go to the queue of whoever was asked."""

    def __init__(self) -> None:
        command = [*JVM, "-cp", f"{BUILD}/classes:{BUILD}/lib/*", "org.libdlock.redisson.Peer"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._answers: defaultdict[str, queue.SimpleQueue[list[str]]] = defaultdict(queue.SimpleQueue)
        self._writing = threading.Lock()
        self._names = (f"c{n}" for n in itertools.count())
        threading.Thread(target=self._read, daemon=True).start()
        assert self.answer("peer", STARTED) == ["ready"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            address, *words = line.split()
            self._answers[address].put(words)

    def tell(self, address: str, request: str) -> None:
        assert self._process.stdin is not None
        with self._writing:
            self._process.stdin.write(f"{address} {request}\n")

    def answer(self, address: str, bound: float = SOON) -> list[str]:
        """The words of the next answer from there."""
        try:
            return self._answers[address].get(timeout=bound)
        except queue.Empty:
            raise AssertionError(f"{address} in the JVM said nothing within {bound} s") from None

    def ask(self, request: str, bound: float = SOON) -> list[str]:
        """Asks the process itself."""
        self.tell("peer", request)
        return self.answer("peer", bound)

    def open(self, url: str, watchdog_ms: int = 0, prefix: str = "") -> Redisson:
        """A Redisson client; its watchdog's lease is 30 s unless given."""
        name = next(self._names)
        opened, client_id = self.ask(
            f"open {name} {url.partition('?')[0]} {watchdog_ms} {quote(prefix, safe='') or '-'}", STARTED
        )
        assert opened == "opened", client_id
        return Redisson(self, name, client_id)

    def kill(self) -> None:
        """Ends the process as a crash would."""
        self._process.kill()
        self._process.wait()


class Redisson:
    """A Redisson client."""

    def __init__(self, peer: Peer, name: str, client_id: str) -> None:
        self._peer = peer
        self._name = name
        self._threads = itertools.count(1)
        self.id = client_id
        """The UUID before the colon of its owners."""

    def thread(self, kind: str = "lock") -> Holder:
        """A new thread in the JVM, which takes locks of that kind from this client."""
        return Holder(self._peer, f"{self._name}.{next(self._threads)}", self.id, kind)

    def permits(self) -> PermitHolder:
        """A new thread in the JVM, which takes permits of semaphores from this client."""
        return PermitHolder(self._peer, f"{self._name}.{next(self._threads)}", self.id, "permits")

    def counting(self) -> CountingHolder:
        """A new thread in the JVM, for semaphores whose permits have no owner."""
        return CountingHolder(self._peer, f"{self._name}.{next(self._threads)}", self.id, "counting")

    def latch(self) -> LatchHolder:
        """A new thread in the JVM, for latches."""
        return LatchHolder(self._peer, f"{self._name}.{next(self._threads)}", self.id, "latch")

    def ids(self) -> IdHolder:
        """A new thread in the JVM, for id generators."""
        return IdHolder(self._peer, f"{self._name}.{next(self._threads)}", self.id, "ids")

    def bloom(self, kind: str) -> BloomHolder:
        """A new thread in the JVM, for Bloom filters of `texts` or of `bytes`."""
        return BloomHolder(self._peer, f"{self._name}.{next(self._threads)}", self.id, "bloom", kind)

    def rate(self) -> RateHolder:
        """A new thread in the JVM, for rate limiters."""
        return RateHolder(self._peer, f"{self._name}.{next(self._threads)}", self.id, "rate")

    def close(self) -> None:
        """Shuts the client down. What it holds stays for the rest of its lease."""
        assert self._peer.ask(f"close {self._name}", STARTED) == ["closed"]


class Refused(Exception):
    """A Redisson method threw: the exception's simple name and its message."""


class Holder:
    """A thread of the JVM and the locks that it can take: what `Verbs` of the peer can do."""

    def __init__(self, peer: Peer, address: str, client_id: str, kind: str) -> None:
        self._peer = peer
        self._address = address
        self._client_id = client_id
        self._kind = kind
        self._peer.tell(address, "thread")
        (self.thread_id,) = self._words()
        self.owner = f"{client_id}:{self.thread_id}"
        """What Redisson writes into a lock that this thread holds."""

    def as_(self, kind: str) -> Holder:
        """The same thread, for locks of another kind."""
        return Holder(self._peer, self._address, self._client_id, kind)

    def _words(self, bound: float = SOON) -> list[str]:
        words = self._peer.answer(self._address, bound)
        if words[0] == "error":
            raise Refused(*words[1:2], " ".join(words[2:]))
        return words

    def _tell(self, verb: str, name: str, *arguments: int | str) -> None:
        # A name may hold whatever a line may not.
        self._peer.tell(self._address, " ".join([verb, self._kind, quote(name, safe=""), *map(str, arguments)]))

    def _ask(self, verb: str, name: str, *arguments: int | str) -> str:
        self._tell(verb, name, *arguments)
        return self._words()[0]

    def tell_acquire(self, name: str, lease_ms: int = -1) -> None:
        """Starts to acquire, for ever; `got` waits for it. A lease of -1 is the watchdog's."""
        self._tell("acquire", name, lease_ms)

    def tell_try(self, name: str, wait_ms: int, lease_ms: int = -1) -> None:
        """Starts to try for that long; `got` or `attempted` waits for it."""
        self._tell("try", name, wait_ms, lease_ms)

    def got(self, bound: float = SOON) -> Grant:
        words = self._words(bound)
        assert words[0] == "acquired", " ".join(words)
        return Grant(int(words[1]), None if words[2] == "-" else int(words[2]))

    def attempted(self, bound: float = SOON) -> bool:
        """Whether the try got it."""
        (kind, *_) = self._words(bound)
        assert kind in ("acquired", "busy"), kind
        return kind == "acquired"

    def acquire(self, name: str, lease_ms: int = -1) -> Grant:
        """Acquires at once, or fails."""
        self.tell_try(name, 0, lease_ms)
        return self.got()

    def attempt(self, name: str, wait_ms: int = 0) -> bool:
        """Tries for that long; whether it got it."""
        self.tell_try(name, wait_ms)
        return self.attempted(SOON + wait_ms / 1000)

    def release(self, name: str) -> int:
        """The time before the call, us."""
        self._tell("release", name)
        (_, called) = self._words()
        return int(called)

    def tell_contend(self, name: str, rounds: int) -> None:
        self._tell("contend", name, rounds)

    def hold(self, bound: float) -> Hold | None:
        """The next hold of `tell_contend`; None after the last."""
        return read_hold(self._words(bound))

    def end(self) -> None:
        """Ends the thread. It is not asked any more."""
        self._peer.tell(self._address, "end")

    def locked(self, name: str) -> bool:
        """`isLocked`."""
        return self._ask("locked", name) == "true"

    def ttl(self, name: str) -> int:
        """`remainTimeToLive`: ms, -2 for a free lock, -1 for a key that never expires."""
        return int(self._ask("ttl", name))

    def hold_count(self, name: str) -> int:
        """`getHoldCount`, of this thread."""
        return int(self._ask("holds", name))

    def mine(self, name: str) -> bool:
        """`isHeldByCurrentThread`."""
        return self._ask("mine", name) == "true"

    def held_by(self, name: str, thread_id: str) -> bool:
        """`isHeldByThread`."""
        return self._ask("held-by", name, thread_id) == "true"

    def force(self, name: str) -> bool:
        """`forceUnlock`."""
        return self._ask("force", name) == "true"

    def token(self, name: str) -> int:
        """`getToken`, of a fenced lock."""
        return int(self._ask("token", name))


class PermitHolder(Holder):
    """A thread of the JVM and the permits that it can take: what `PermitVerbs` of the peer can do."""

    def set_total(self, name: str, total: int) -> bool:
        """`trySetPermits`."""
        return self._ask("permits-set", name, total) == "true"

    def tell_take(self, name: str, permits: int = 1, wait_ms: int = 0, lease_ms: int = 30_000) -> None:
        """Starts to acquire for that long; `taken` waits for it. A lease of -1 is none."""
        self._tell("permits-take", name, permits, wait_ms, lease_ms)

    def taken(self, bound: float = SOON) -> tuple[int, list[str]] | None:
        """When they were acquired, us, and the ids; None for busy."""
        words = self._words(bound)
        return (int(words[1]), words[2].split(",")) if words[0] == "acquired" else None

    def take(self, name: str, permits: int = 1, wait_ms: int = 0, lease_ms: int = 30_000) -> list[str] | None:
        """`tryAcquire`: the ids, or None."""
        self.tell_take(name, permits, wait_ms, lease_ms)
        taken = self.taken(SOON + wait_ms / 1000)
        return taken and taken[1]

    def free(self, name: str, ids: list[str]) -> int:
        """`release`: the time before the call, us."""
        self._tell("permits-free", name, ",".join(ids))
        (_, called) = self._words()
        return int(called)

    def available(self, name: str) -> int:
        """`availablePermits`."""
        return int(self._ask("permits-available", name))

    def total(self, name: str) -> int:
        """`getPermits`."""
        return int(self._ask("permits-total", name))

    def taken_count(self, name: str) -> int:
        """`acquiredPermits`."""
        return int(self._ask("permits-taken", name))


class CountingHolder(Holder):
    """A thread of the JVM and the semaphores that it can use: what `CountingVerbs` of the peer can do."""

    def set_total(self, name: str, total: int) -> bool:
        """`trySetPermits`."""
        return self._ask("counting-set", name, total) == "true"

    def tell_take(self, name: str, permits: int = 1, wait_ms: int = 0) -> None:
        """Starts to acquire for that long, for ever with -1; `taken` waits for it."""
        self._tell("counting-take", name, permits, wait_ms)

    def taken(self, bound: float = SOON) -> int | None:
        """When they were acquired, us; None for busy."""
        kind, at = self._words(bound)
        return int(at) if kind == "acquired" else None

    def take(self, name: str, permits: int = 1, wait_ms: int = 0) -> int | None:
        """`tryAcquire`: when they were acquired, us; None for busy."""
        self.tell_take(name, permits, wait_ms)
        return self.taken(SOON + wait_ms / 1000)

    def give(self, name: str, permits: int = 1) -> int:
        """`release`: the time before the call, us."""
        self._tell("counting-give", name, permits)
        (_, called) = self._words()
        return int(called)

    def add(self, name: str, permits: int) -> None:
        """`addPermits`."""
        self._ask("counting-add", name, permits)

    def drain(self, name: str) -> int:
        """`drainPermits`."""
        return int(self._ask("counting-drain", name))

    def available(self, name: str) -> int:
        """`availablePermits`."""
        return int(self._ask("counting-available", name))


class LatchHolder(Holder):
    """A thread of the JVM and the latches that it can use: what `LatchVerbs` of the peer can do."""

    def set_count(self, name: str, count: int) -> bool:
        """`trySetCount`."""
        return self._ask("latch-set", name, count) == "true"

    def count_down(self, name: str) -> int:
        """`countDown`: the time before the call, us."""
        self._tell("latch-down", name)
        (_, called) = self._words()
        return int(called)

    def count(self, name: str) -> int:
        """`getCount`."""
        return int(self._ask("latch-count", name))

    def tell_wait(self, name: str, wait_ms: int = -1) -> None:
        """Starts to wait for that long, for ever with -1; `opened` waits for it."""
        self._tell("latch-await", name, wait_ms)

    def opened(self, bound: float = SOON) -> int | None:
        """When the latch was open, us; None when the time was over first."""
        kind, at = self._words(bound)
        return int(at) if kind == "opened" else None

    def wait(self, name: str, wait_ms: int = 0) -> int | None:
        """`await`: when the latch was open, us; None when the time was over first."""
        self.tell_wait(name, wait_ms)
        return self.opened(SOON + wait_ms / 1000)

    def delete(self, name: str) -> bool:
        """`delete`."""
        return self._ask("latch-delete", name) == "true"


class IdHolder(Holder):
    """A thread of the JVM and the id generators that it can use: what `IdVerbs` of the peer can do."""

    def init(self, name: str, value: int, size: int) -> bool:
        """`tryInit`."""
        return self._ask("ids-init", name, value, size) == "true"

    def next(self, name: str, count: int = 1) -> list[int]:
        """`nextId`, so often."""
        return [int(one) for one in self._ask("ids-next", name, count).split(",")]

    def delete(self, name: str) -> bool:
        """`delete`."""
        return self._ask("ids-delete", name) == "true"


class BloomHolder(Holder):
    """A thread of the JVM and the Bloom filters that it can use: what `BloomVerbs` of the peer can do.

    Items are those of numbers.
    """

    def __init__(self, peer: Peer, address: str, client_id: str, kind: str, of: str) -> None:
        super().__init__(peer, address, client_id, kind)
        self._of = of

    def item(self, number: int) -> str | bytes:
        """An item as the peer makes it."""
        spread = number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        return f"item é {number}" if self._of == "texts" else spread.to_bytes(8, "big")

    def init(self, name: str, expected: int, rate: float) -> bool:
        """`tryInit`."""
        return self._ask("bloom-init", name, self._of, expected, str(rate)) == "true"

    def add(self, name: str, start: int, stop: int) -> int:
        """`add`: how many were new."""
        return self._many("bloom-add", name, start, stop)

    def contains(self, name: str, start: int, stop: int) -> int:
        """`contains`: how many were found."""
        return self._many("bloom-contains", name, start, stop)

    def _many(self, verb: str, name: str, start: int, stop: int) -> int:
        # A JVM that has just begun takes its time for a hundred thousand items.
        self._tell(verb, name, self._of, start, stop)
        return int(self._words(STARTED)[0])

    def count(self, name: str) -> int:
        """`count`."""
        return int(self._ask("bloom-count", name, self._of))

    def config(self, name: str) -> list[str]:
        """Size, hashes, expected insertions and false probability, as texts."""
        self._tell("bloom-config", name, self._of)
        return self._words()

    def delete(self, name: str) -> bool:
        """`delete`."""
        return self._ask("bloom-delete", name, self._of) == "true"


class Delay(NamedTuple):
    """What a waiter of Redisson is told: how long it sleeps (ms), None when it has its permits; and between which times of the
    JVM's clock it asked (ms of Unix time)."""

    ms: int | None
    before: int
    after: int


class RateHolder(Holder):
    """A thread of the JVM and the rate limiters that it can use: what `RateVerbs` of the peer can do."""

    def try_set(self, name: str, rate: int, interval_ms: int, kind: str = "OVERALL", keep_ms: int = 0) -> bool:
        """`trySetRate`."""
        return self._ask("rate-try-set", name, kind, rate, interval_ms, keep_ms) == "true"

    def set(self, name: str, rate: int, interval_ms: int, kind: str = "OVERALL", keep_ms: int = 0) -> None:
        """`setRate`, which forgets what was acquired."""
        self._ask("rate-set", name, kind, rate, interval_ms, keep_ms)

    def update(self, name: str, rate: int, interval_ms: int, kind: str = "OVERALL") -> bool:
        """`updateRate`, which keeps what was acquired."""
        return self._ask("rate-update", name, kind, rate, interval_ms) == "true"

    def tell_take(self, name: str, permits: int = 1, wait_ms: int = 0) -> None:
        """Starts to acquire for that long, for ever with -1; `taken` waits for it."""
        self._tell("rate-take", name, permits, wait_ms)

    def taken(self, bound: float = SOON) -> int | None:
        """When they were acquired, us; None for busy."""
        kind, at = self._words(bound)
        return int(at) if kind == "acquired" else None

    def take(self, name: str, permits: int = 1, wait_ms: int = 0) -> bool:
        """`tryAcquire`."""
        self.tell_take(name, permits, wait_ms)
        return self.taken(SOON + wait_ms / 1000) is not None

    def delay(self, name: str, permits: int = 1) -> Delay:
        """Asks once as its waiters do."""
        self._tell("rate-ask", name, permits)
        delay, before, after = self._words()
        return Delay(None if delay == "none" else int(delay), int(before), int(after))

    def give(self, name: str, permits: int) -> None:
        """`release`."""
        self._ask("rate-give", name, permits)

    def available(self, name: str) -> int:
        """`availablePermits`."""
        return int(self._ask("rate-available", name))

    def config(self, name: str) -> tuple[str, int, int]:
        """`getConfig`: the type, the rate and the interval in ms."""
        self._tell("rate-config", name)
        kind, rate, interval_ms = self._words()
        return kind, int(rate), int(interval_ms)

    def expire(self, name: str, ms: int) -> bool:
        """`expire`."""
        return self._ask("rate-expire", name, ms) == "true"

    def delete(self, name: str) -> bool:
        """`delete`."""
        return self._ask("rate-delete", name) == "true"
