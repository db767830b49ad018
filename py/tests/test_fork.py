"""A child neither holds nor releases nor hangs, and its parent does not notice it.

Each case is a program of its own, so that pytest's process, its threads and its connections are not what is forked.
"""

from __future__ import annotations

import pytest

from conftest import Python
from redis_server import RedisServer

# What every program starts with. `in_child` forks, runs the function in the child with an alarm against hangs, and returns
# how the child ended: 0, or the number of its exit.
HEAD = """
import gc, multiprocessing, os, signal, sys, threading, time, traceback, warnings
import libdlock
url, name = sys.argv[1:]
warnings.simplefilter("error")

def in_child(function, leave=os._exit):
    pid = os.fork()
    if pid == 0:
        signal.alarm(50)
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        leave(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def refused(call):
    try:
        call()
    except libdlock.Forked as error:
        assert isinstance(error, RuntimeError) and error.code == -14
        return
    raise AssertionError(f"{call} did not raise Forked")

"""


def run(python: Python, program: str, url: str, name: str) -> None:
    process = python(HEAD + program, url, name)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "done\n"), err
    assert "Traceback" not in err, err


UNHELD_AND_SEVERAL = """
client = libdlock.connect(url, lease=3)
latch, slots = client.latch(name + "-latch"), client.counting_semaphore(name + "-slots")
several = client.lock_all([name + "-a", name + "-b"])
assert latch.try_set_count(2) and slots.try_set_permits(2) and slots.acquire()

def child():
    for call in (latch.wait, latch.count, latch.count_down, latch.delete, lambda: latch.try_set_count(1),
                 slots.acquire, slots.release, slots.drain, slots.inspect, lambda: slots.add_permits(1),
                 several.acquire, several.release, lambda: several.hold_count, lambda: several.held, several.take,
                 lambda: several.extend(5), lambda: several.__exit__(None, None, None),
                 lambda: held.tokens, lambda: held.lost_name, lambda: held.valid,
                 lambda: client.latch("x"), lambda: client.counting_semaphore("x"), lambda: client.lock_all(["x"])):
        refused(call)
    assert latch.name and slots.name and several.names
    if not url.startswith("memory"):
        with libdlock.connect(url) as mine:
            assert mine.latch(name + "-latch").count_down() >= 0
            mine.counting_semaphore(name + "-slots").release()
            assert not mine.lock_all([name + "-b"]).acquire(blocking=False)

with several as held:
    for _ in range(2):
        assert in_child(child) == 0
        assert held.valid and several.hold_count == 1
    assert not held.lost.wait(4)
memory = url.startswith("memory")
assert latch.count() == (2 if memory else 0)
assert slots.inspect().available == (1 if memory else 3)
client.close()
print("done")
"""


def test_a_child_has_no_latch_no_permits_and_no_set(python: Python, url: str, name: str) -> None:
    run(python, UNHELD_AND_SEVERAL, url, name)


DELIVERED = """
client = libdlock.connect(url, lease=3)
queue = client.queue(name)
queue.put_many(["a", "b"])
delivery, dropped = queue.take_many(2)

def child():
    global dropped
    for call in (lambda: queue.put("c"), lambda: queue.put_many(["c"]), queue.take, queue.try_take, queue.counts, queue.peek,
                 queue.purge, queue.dead.list, lambda: queue.cancel("x"), lambda: client.queue("x"),
                 delivery.ack, delivery.nack, delivery.give_back, lambda: delivery.extend(5), lambda: delivery.valid):
        refused(call)
    assert delivery.payload == b"a" and delivery.attempt == 1
    dropped = None
    if not url.startswith("memory"):
        with libdlock.connect(url) as mine:
            assert mine.queue(name).put("from a child").is_new

for _ in range(2):
    assert in_child(child) == 0
    assert delivery.valid and dropped.valid
assert not delivery.lost.wait(4)
assert queue.counts().in_flight == 2
delivery.ack()
dropped.ack()
assert queue.purge() == (0 if url.startswith("memory") else 2)
client.close()
print("done")
"""


def test_a_child_has_none_of_its_parents_deliveries(python: Python, url: str, name: str) -> None:
    run(python, DELIVERED, url, name)


OLD_AND_NEW = """
client = libdlock.connect(url, lease=3)
lock = client.lock(name)
fresh = client.lock(name + "-other")

def child():
    for call in (lock.acquire, lock.release, lock.inspect, lock.locked, lock.force_release, lock.detach,
                 lambda: lock.extend(5), lambda: lock.hold_count, lambda: lock.held, lambda: client.lock("x"),
                 client.close, fresh.acquire, lock.__enter__, lambda: lock.__exit__(None, None, None),
                 lambda: held.valid, lambda: held.remaining, held.lost.is_set, held.lost.wait):
        refused(call)
    assert held.token > 0 and held.owner
    with libdlock.connect(url) as mine:
        assert mine.lock(name).hold_count == 0
        if not url.startswith("memory"):
            assert not mine.lock(name).acquire(blocking=False)
        with mine.lock(name + "-child", wait=5) as own:
            assert own.valid

with lock as held:
    for _ in range(3):
        assert in_child(child) == 0
        assert held.valid and lock.locked() and lock.hold_count == 1
    # Three children have come and gone; renewal goes on as if nothing had been.
    assert not held.lost.wait(4)
    assert held.valid
client.close()
print("done")
"""


@pytest.mark.parametrize("backend", ["redis", "memory"])
def test_old_objects_are_refused_and_new_ones_work(
    server: RedisServer, python: Python, name: str, backend: str
) -> None:
    run(python, OLD_AND_NEW, server.url if backend == "redis" else "memory://x", name)


LEAVING = """
client = libdlock.connect(url)
lock = client.lock(name)

def collect():
    global client, lock, held
    del client, lock, held
    gc.collect()
    # Nothing was touched: not even a runtime was started to look the handles up.
    assert len(os.listdir("/proc/self/task")) == 1

with lock as held:
    token = held.token
    assert in_child(collect) == 0                      # finalisers
    assert in_child(lambda: None, sys.exit) == 0       # interpreter exit: module teardown, atexit
    assert in_child(collect, sys.exit) == 0
    assert in_child(lambda: os.execv("/bin/true", ["true"])) == 0
    assert held.valid and lock.locked() and lock.held.token == token
    with libdlock.connect(url) as other:
        assert not other.lock(name).acquire(blocking=False)
client.close()
print("done")
"""


def test_a_child_never_releases_however_it_ends(server: RedisServer, python: Python, name: str) -> None:
    run(python, LEAVING, server.url, name)


MULTIPROCESSING = """
client = libdlock.connect(url)
lock = client.lock(name)

def work(_):
    refused(lock.acquire)
    with libdlock.connect(url) as mine, mine.lock(name + "-pool", wait=20) as held:
        return held.token

with lock as held:
    context = multiprocessing.get_context("fork")
    with context.Pool(3) as pool:
        tokens = pool.map(work, range(12))
    assert len(set(tokens)) == 12
    assert held.valid and lock.locked()
client.close()
print("done")
"""


def test_a_pool_of_forked_workers(server: RedisServer, python: Python, name: str) -> None:
    run(python, MULTIPROCESSING, server.url, name)


SPAWNED = """
import libdlock
def work(arguments):
    url, name = arguments
    with libdlock.connect(url) as mine, mine.lock(name, wait=20) as held:
        return held.token
"""


def test_a_pool_of_spawned_workers(server: RedisServer, python: Python, name: str, tmp_path: object) -> None:
    program = f"""
import multiprocessing, pathlib, sys
folder = {str(tmp_path)!r}
pathlib.Path(folder, "spawned_work.py").write_text({SPAWNED!r})
sys.path.insert(0, folder)
import spawned_work
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert len(set(pool.map(spawned_work.work, [(url, name)] * 4))) == 4
    print("done")
"""
    process = python(HEAD.replace("warnings.simplefilter", "# ") + program, server.url, name)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "done\n"), err


# Forks while other threads acquire, wait and release: whatever they hold at that instant, the child must not hang on it.
BUSY_PARENT = """
client = libdlock.connect(url)
stop = threading.Event()

def work(number):
    lock = client.lock(f"{name}-{number % 3}")
    while not stop.is_set():
        with lock:
            pass

threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for thread in threads:
    thread.start()

def child():
    refused(lambda: client.lock(name))
    with libdlock.connect(url) as mine, mine.lock(name, wait=10):
        pass

codes = [in_child(child, leave) for _ in range(15) for leave in (os._exit, sys.exit)]
stop.set()
for thread in threads:
    thread.join(20)
assert codes == [0] * 30, codes
client.close()
print("done")
"""


def test_a_fork_while_other_threads_are_busy(server: RedisServer, python: Python, name: str) -> None:
    run(python, BUSY_PARENT, server.url, name)


GRANDCHILD = """
client = libdlock.connect(url)

def grandchild():
    refused(lambda: client.lock(name))
    with libdlock.connect(url) as mine, mine.lock(name, wait=5):
        pass

def child():
    with libdlock.connect(url) as mine, mine.lock(name, wait=5) as held:
        assert in_child(lambda: refused(lambda: mine.lock(name))) == 0
        assert held.valid
    assert in_child(grandchild) == 0

assert in_child(child) == 0
from_thread = []
thread = threading.Thread(target=lambda: from_thread.append(in_child(child)))
thread.start()
thread.join(30)
assert from_thread == [0]
client.close()
print("done")
"""


def test_a_fork_of_a_fork_and_a_fork_from_a_thread(server: RedisServer, python: Python, name: str) -> None:
    run(python, GRANDCHILD, server.url, name)


LOGGED = """
import logging
client = libdlock.connect(url)  # starts the log thread, which a child does not have

class Seen(logging.Handler):
    def __init__(self):
        super().__init__()
        self.any = threading.Event()
    def emit(self, record):
        self.any.set()

def child():
    seen = Seen()
    logging.getLogger("libdlock").addHandler(seen)
    logging.getLogger("libdlock").setLevel(logging.DEBUG)
    with libdlock.connect(url, lease=0.6) as mine, libdlock.connect(url) as thief:
        lock = mine.lock(name)
        lock.acquire()
        held = lock.held
        thief.lock(name).force_release()
        assert held.lost.wait(5)
        assert seen.any.wait(5), "no log event in the child"

assert in_child(child) == 0
assert in_child(child, sys.exit) == 0
client.close()
print("done")
"""


def test_log_events_in_a_child(server: RedisServer, python: Python, name: str) -> None:
    run(python, LOGGED, server.url, name)
