"""Under gevent the holder is the greenlet, and its waits let other greenlets run; eventlet is refused."""

from __future__ import annotations

import pytest

from conftest import Python, ended
from redis_server import RedisServer

PATCHED = "from gevent import monkey; monkey.patch_all()\n"
PLAIN = ""
HEAD = """
import sys, threading, time, warnings, gevent, libdlock
from gevent.event import Event
url, name = sys.argv[1:]
"""

ONE_INSIDE = """
inside = most = 0
ticks = []
def work(client):
    global inside, most
    with client.lock(name, wait=20) as held:
        inside += 1
        most = max(most, inside)
        assert held.valid and client.lock(name).hold_count == 1
        with client.lock(name):
            gevent.sleep(0.02)
        inside -= 1
    return held.token

def tick():
    while True:
        ticks.append(time.monotonic())
        gevent.sleep(0.005)

ticking = gevent.spawn(tick)
with libdlock.connect(url) as client, libdlock.connect(url) as other:
    jobs = [gevent.spawn(work, mine) for mine in (client, other) for _ in range(5)]
    gevent.joinall(jobs, raise_error=True, timeout=30)
    tokens = [job.value for job in jobs]
    assert len(set(tokens)) == 10, tokens
    assert most == 1, f"{most} greenlets were inside at once"
    assert not client.lock(name).locked()
ticking.kill()
print(len(ticks))
"""

MAIN_WAITS = """
# The main greenlet waits for what another greenlet of its thread holds: only a wait that lets others run ends.
with libdlock.connect(url) as client:
    lock, held, end = client.lock(name), Event(), Event()
    def hold():
        with lock:
            held.set()
            end.wait(10)
    gevent.spawn(hold)
    held.wait(10)
    assert lock.hold_count == 0 and not lock.acquire(blocking=False) and not lock.acquire(timeout=0.01)
    end.set()
    assert lock.acquire(timeout=10)
    assert gevent.spawn(lambda: lock.acquire(blocking=False)).get() is False
    lock.release()
    taken = lock.take(wait=5)
    gevent.spawn(taken.extend, 60).get()
    assert taken.remaining > 50
    gevent.spawn(taken.release).get()
    with lock.take() as taken:
        assert client.stats().lock.held == 1
    lock.acquire()
    assert gevent.spawn(client.lock(name).attach, lock.detach()).get().token
print("ok")
"""

KILLED = """
with libdlock.connect(url) as client, libdlock.connect(url) as other:
    with client.lock(name):
        waiting = gevent.spawn(other.lock(name).acquire)
        gevent.sleep(0.05)
        waiting.kill(timeout=5)
        with gevent.Timeout(0.05, False):
            other.lock(name).acquire()
            raise SystemExit("acquired a held lock")
    with other.lock(name, wait=5):
        pass
print("ok")
"""

ENDS = """
warnings.simplefilter("always")
texts = []
warnings.showwarning = lambda message, *_: texts.append(str(message))
with libdlock.connect(url, lease=0.6) as client, libdlock.connect(url) as other:
    lock = client.lock(name)
    gevent.spawn(lock.acquire).get()
    gevent.sleep(0)
    began = time.monotonic()
    with other.lock(name, wait=5):
        assert time.monotonic() - began < 2
assert len(texts) == 1 and "ended while it held <libdlock.Lock" in texts[0], texts
print("ok")
"""

NATIVE_THREADS = """
# Threads of a pool are no greenlets: each holds for itself, and blocks only itself.
from gevent.threadpool import ThreadPool
pool = ThreadPool(4)
with libdlock.connect(url) as client:
    count = 0
    def work():
        global count
        with client.lock(name, wait=20):
            seen = count
            time.sleep(0.002)
            count = seen + 1
    jobs = [pool.spawn(work) for _ in range(20)] + [gevent.spawn(work) for _ in range(20)]
    gevent.joinall(jobs, raise_error=True, timeout=30)
    assert count == 40, count
print("ok")
"""

LIMITER = """
with libdlock.connect(url) as client:
    limiter = client.rate_limiter(name, rate=10, per=1, burst=1)
    assert limiter.acquire()
    ran = []
    gevent.spawn(lambda: ran.append(1))
    assert limiter.acquire(wait=5) and ran
    limiter.reset()
    with client.lock(name, lease=0.2) as held:
        lost = gevent.spawn(held.lost.wait, 5)
        assert lost.get(timeout=5) is True and held.lost.reason == "expired"
        held.extend  # the end of the block says the loss
"""

UNHELD = """
# Waits for latches and permits let greenlets run; one that is killed while it waits leaves nothing behind.
with libdlock.connect(url) as client, libdlock.connect(url) as other:
    latch, slots = client.latch(name + "-latch"), client.counting_semaphore(name + "-slots")
    assert latch.try_set_count(1) and slots.try_set_permits(0)
    opened = [gevent.spawn(latch.wait, 20) for _ in range(5)]
    taken = gevent.spawn(slots.acquire, 2, 20)
    killed = [gevent.spawn(latch.wait), gevent.spawn(slots.acquire)]
    gevent.sleep(0.05)
    gevent.killall(killed, timeout=10)
    other.counting_semaphore(name + "-slots").release(2)
    assert taken.get(timeout=10) is True
    other.latch(name + "-latch").count_down()
    assert [each.get(timeout=10) for each in opened] == [True] * 5
    assert slots.inspect().available == 0 and client.stats().counting_semaphore.acquired == 1
    # Killed at every point of an acquire: no permit is lost.
    for turn in range(30):
        slots.release()
        job = gevent.spawn(lambda: slots.acquire() and slots.release())
        gevent.sleep(turn * 50e-6)
        job.kill()
        assert slots.acquire(timeout=10), turn
print("ok")
"""

QUEUES = """
# Takes let greenlets run; one that is killed takes nothing; a consumer stops.
with libdlock.connect(url) as client, libdlock.connect(url) as other:
    queue, theirs = client.queue(name), other.queue(name)
    takes = [gevent.spawn(queue.take, 20) for _ in range(5)]
    killed = [gevent.spawn(queue.take) for _ in range(3)]
    gevent.sleep(0.02)
    gevent.killall(killed, timeout=10)
    theirs.put_many([str(number) for number in range(5)])
    for taking in takes:
        with taking.get(timeout=10) as delivery:
            assert delivery.attempt == 1
    # Killed at every point of a take: no job is lost, and none counts.
    for turn in range(30):
        queue.put("a")
        taken = []
        job = gevent.spawn(lambda: taken.append(queue.take()))
        gevent.sleep(turn * 50e-6)
        job.kill()
        with (taken or [queue.take(10)])[0] as delivery:
            assert delivery.attempt == 1, turn
    got = []
    with queue.consume(lambda delivery: got.append(delivery.payload), concurrency=3) as consumer:
        theirs.put_many(["x", "y"])
        for _ in range(1000):
            if len(got) == 2:
                break
            gevent.sleep(0.01)
    assert sorted(got) == [b"x", b"y"] and queue.counts()[:4] == (0, 0, 0, 0)
print("ok")
"""

SEVERAL = """
count = 0
with libdlock.connect(url) as client, libdlock.connect(url) as other:
    a, b = name + "-a", name + "-b"
    def work(client, names):
        global count
        with client.lock_all(names, wait=20) as held:
            seen = count
            assert held.tokens.keys() == {a, b} and client.lock_all(names).hold_count == 1
            gevent.sleep(0.002)
            count = seen + 1
    jobs = [gevent.spawn(work, each, names) for each in (client, other) for names in ([a, b], [b, a]) for _ in range(5)]
    gevent.joinall(jobs, raise_error=True, timeout=30)
    assert count == 20, count
    lost = client.lock_all([a, b])
    try:
        with lost:
            assert other.lock(b).force_release()
            assert lost.hold_count == 0 or lost.held.lost.wait(5)
    except libdlock.NotHeld as error:
        assert error.name == b, error
        print("lost")
    assert other.lock(a).acquire(blocking=False)
    other.lock(a).release()
    held = client.lock_all([a, b]).take()
    gevent.spawn(held.release).get(timeout=10)
    with other.lock(a):
        killed = gevent.spawn(client.lock_all([a, b]).acquire)
        gevent.sleep(0.02)
        killed.kill(timeout=10)
    assert not client.lock(a).locked() and client.lock_all([a, b]).acquire(timeout=5)
print("ok")
"""


def run(python: Python, program: str, url: str, name: str) -> str:
    process = python(program, url, name)
    return ended(process)


@pytest.mark.parametrize("patch", [PATCHED, PLAIN], ids=["patched", "plain"])
def test_one_greenlet_at_a_time_is_inside(python: Python, url: str, name: str, patch: str) -> None:
    ticks = int(run(python, patch + HEAD + ONE_INSIDE, url, name))
    assert ticks >= 20, "other greenlets ran while ten waited for 200 ms"


@pytest.mark.parametrize("patch", [PATCHED, PLAIN], ids=["patched", "plain"])
def test_the_main_greenlet_waits_for_another(python: Python, url: str, name: str, patch: str) -> None:
    assert run(python, patch + HEAD + MAIN_WAITS, url, name) == "ok\n"


def test_a_greenlet_killed_while_it_waits_holds_nothing(python: Python, url: str, name: str) -> None:
    assert run(python, PATCHED + HEAD + KILLED, url, name) == "ok\n"


def test_a_greenlet_that_ends_while_holding_stops_renewing(python: Python, url: str, name: str) -> None:
    assert run(python, PATCHED + HEAD + ENDS, url, name) == "ok\n"


def test_native_threads_beside_greenlets_hold_for_themselves(python: Python, url: str, name: str) -> None:
    assert run(python, HEAD + NATIVE_THREADS, url, name) == "ok\n"


def test_limiters_and_losses_let_greenlets_run(python: Python, url: str, name: str) -> None:
    program = HEAD + "try:" + LIMITER.replace("\n", "\n    ") + "\nexcept libdlock.NotHeld: print('lost')\n"
    assert run(python, PATCHED + program, url, name) == "lost\n"


@pytest.mark.parametrize("patch", [PATCHED, PLAIN], ids=["patched", "plain"])
def test_latches_and_permits_let_greenlets_run(python: Python, url: str, name: str, patch: str) -> None:
    assert run(python, patch + HEAD + UNHELD, url, name) == "ok\n"


@pytest.mark.parametrize("patch", [PATCHED, PLAIN], ids=["patched", "plain"])
def test_greenlets_take_jobs_and_consume_them(python: Python, url: str, name: str, patch: str) -> None:
    assert run(python, patch + HEAD + QUEUES, url, name) == "ok\n"


@pytest.mark.parametrize("patch", [PATCHED, PLAIN], ids=["patched", "plain"])
def test_a_greenlet_holds_several_locks(python: Python, url: str, name: str, patch: str) -> None:
    assert run(python, patch + HEAD + SEVERAL, url, name) == "lost\nok\n"


EVENTLET = """
import sys, warnings
warnings.simplefilter("ignore")
import eventlet
import libdlock
with libdlock.connect("memory://") as client, client.lock("k"):
    print("importing it is no use of it")
eventlet.monkey_patch()
try:
    libdlock.connect("memory://")
except libdlock.Unsupported as error:
    assert "eventlet" in str(error) and "gevent" in str(error), error
    print("refused")
"""

EVENTLET_HUB = """
import sys, warnings
warnings.simplefilter("ignore")
import eventlet, libdlock
client = libdlock.connect("memory://")
def green():
    try:
        client.lock("k").acquire()
    except libdlock.Unsupported as error:
        return str(error)
assert "eventlet" in eventlet.spawn(green).wait()
"""


def test_eventlet_is_refused(python: Python) -> None:
    assert ended(python(EVENTLET)) == "importing it is no use of it\nrefused\n"
    ended(python(EVENTLET_HUB))


def test_a_child_forked_under_gevent_connects_again(python: Python, server: RedisServer, name: str) -> None:
    program = """
import os
client = libdlock.connect(url)
assert gevent.spawn(client.lock(name).acquire, timeout=5).get()
pid = os.fork()
if pid == 0:
    try:
        client.lock("x")
    except libdlock.Forked:
        with libdlock.connect(url) as mine:
            assert gevent.spawn(mine.lock(name + "-child").acquire, timeout=5).get()
            os._exit(0)
    os._exit(1)
_, status = os.waitpid(pid, 0)
assert status == 0
client.close()
print("ok")
"""
    quiet = "import warnings; warnings.simplefilter('ignore')\n"
    assert run(python, quiet + PATCHED + HEAD + program, server.url, name) == "ok\n"
