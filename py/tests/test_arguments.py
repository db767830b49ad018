"""Values that are refused before any I/O, and the errors that say so."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

import libdlock
from redis_server import RedisServer

NOT_TO_BE_CARRIED = [math.nan, math.inf, -math.inf, 2.0**54, 1e308, 10**400, timedelta.min, timedelta.max]
NEGATIVE = [-1.5, -0.001, -0.0001, timedelta(days=-1), timedelta(microseconds=-1)]
NOT_A_DURATION = [*NOT_TO_BE_CARRIED, *NEGATIVE]


@pytest.mark.parametrize("value", NEGATIVE, ids=repr)
@pytest.mark.parametrize("argument", ["lease", "wait"])
def test_negative_durations(client: libdlock.Client, name: str, argument: str, value: float) -> None:
    with (
        pytest.raises(libdlock.InvalidArgument) as caught,
        client.lock(name, **{argument: value}),  # type: ignore[arg-type]
    ):
        pass
    text = str(caught.value)
    assert argument in text and "-" in text and "allowed" in text
    assert not client.lock(name).locked()


def test_a_refused_wait_of_a_scope_names_its_object(client: libdlock.Client, name: str) -> None:
    opens: dict[str, Callable[[], object]] = {
        "lock": lambda: client.lock(name, wait=-1),
        "semaphore": lambda: client.semaphore(name, 1, wait=-1),
        "rw_lock": lambda: client.rw_lock(name, wait=-1),
        "lock all": lambda: client.lock_all([name], wait=-1),
    }
    for op, opened in opens.items():
        with pytest.raises(
            libdlock.InvalidArgument, match=f"^{op}.*: wait -1000 ms is out of range"
        ) as caught:
            opened()
        assert caught.value.op == op


def test_a_number_that_python_cannot_write_is_refused(client: libdlock.Client, name: str) -> None:
    calls: list[Callable[[int], object]] = [
        lambda n: client.semaphore(name, n),
        client.latch(name).count_down,
        client.latch(name).wait,
        client.id_generator(name).next_ids,
        lambda n: client.id_generator(name, block=n),
        lambda n: client.id_generator(name, start=n),
        lambda n: client.bloom_filter(name, expected=n, false_positive_rate=0.01),
        lambda n: client.bloom_filter(name, expected=1, false_positive_rate=0.01, ttl=n),
        lambda n: client.queue(name, max_attempts=n),
        lambda n: client.queue(name, max_length=n),
        lambda n: client.queue(name).put("a", delay=n),
        lambda n: client.queue(name).put("a", at=n),
        lambda n: client.queue(name).put("a", priority=n),
        lambda n: client.queue(name).take_many(n),
        client.queue(name).peek,
        client.queue(name).take,
        lambda n: client.lock(name).acquire(timeout=n),
        lambda n: client.lock(name, lease=n),
    ]
    for call in calls:
        for number in (10**5000, -(10**5000)):
            with pytest.raises(libdlock.InvalidArgument) as caught:
                call(number)
            assert "an integer of 16610 bits" in str(caught.value)


@pytest.mark.parametrize("value", NOT_TO_BE_CARRIED, ids=repr)
@pytest.mark.parametrize("argument", ["lease", "wait"])
def test_durations_that_are_none(client: libdlock.Client, argument: str, value: float) -> None:
    with pytest.raises(libdlock.InvalidArgument) as caught:
        client.lock("k", **{argument: value})  # type: ignore[arg-type]
    text = str(caught.value)
    assert argument in text and repr(value)[:20] in text and "allowed" in text


@pytest.mark.parametrize("value", [*NOT_A_DURATION, -2], ids=repr)
def test_timeouts_that_are_none(client: libdlock.Client, name: str, value: float) -> None:
    lock = client.lock(name)
    with pytest.raises(libdlock.InvalidArgument):
        lock.acquire(timeout=value)
    with lock as held:
        with pytest.raises(libdlock.InvalidArgument):
            lock.extend(value)
        if value != -2:
            with pytest.raises(libdlock.InvalidArgument):
                held.lost.wait(value)


@pytest.mark.parametrize("lease", [0, 0.0, 0.0001, 0.05, 86_401, timedelta(0), timedelta(days=2)], ids=repr)
def test_leases_out_of_range(client: libdlock.Client, name: str, lease: float) -> None:
    with pytest.raises(libdlock.InvalidArgument) as caught, client.lock(name, lease=lease):
        pass
    assert "24" in str(caught.value) or "86400" in str(caught.value)
    assert not client.lock(name).locked()
    with client.lock(name) as held, pytest.raises(libdlock.InvalidArgument):
        held.extend(lease)


def test_the_longest_and_the_shortest_lease(server: RedisServer, name: str) -> None:
    with libdlock.connect(server.url) as client:
        for lease in (86_400, timedelta(hours=24)):
            with client.lock(name, lease=lease):
                ttl = server.command("PTTL", name)
                assert isinstance(ttl, int)
                assert 0 < ttl <= 86_400_000
        assert client.lock(name, lease=0.1).acquire()
        assert client.lock(f"{name}-next", lease=86_400).acquire()
        ttl = server.command("PTTL", name)
        assert isinstance(ttl, int)
        assert ttl <= 100  # or it is over


@pytest.mark.parametrize("value", ["1", b"1", [], True, object], ids=repr)
def test_durations_of_a_wrong_type(client: libdlock.Client, value: float) -> None:
    for argument in ("lease", "wait"):
        with pytest.raises(TypeError, match=argument):
            client.lock("k", **{argument: value})  # type: ignore[arg-type]


def test_seconds_become_milliseconds_without_a_crumb(client: libdlock.Client, name: str) -> None:
    from libdlock._convert import milliseconds

    for seconds in range(1, 2000):
        assert milliseconds(seconds / 1000, "wait", op="test") == seconds
        assert milliseconds(seconds / 10, "wait", op="test") == seconds * 100
    assert milliseconds(0.0000123, "wait", op="test") == 1
    assert milliseconds(timedelta(microseconds=1), "wait", op="test") == 1
    assert milliseconds(0, "wait", op="test") == milliseconds(0.0, "wait", op="test") == 0


@pytest.mark.parametrize(
    "name", ["\ud800", "a\udfffb", "a\0b", "", "x" * 513, "é" * 257, "a{", "a}b{", "lock{}x"]
)
def test_names_that_are_refused(client: libdlock.Client, name: str) -> None:
    with pytest.raises(libdlock.InvalidName) as caught:
        client.lock(name)
    assert isinstance(caught.value, ValueError)
    assert "name" in str(caught.value) and len(str(caught.value)) > 40  # what was given, and what is possible


@pytest.mark.parametrize("name", [b"k", None, 1, ["k"]])
def test_names_of_a_wrong_type(client: libdlock.Client, name: str) -> None:
    with pytest.raises(TypeError):
        client.lock(name)


@pytest.mark.parametrize(
    "name", ["x" * 512, "é" * 256, "new\nline", "🔒", "{x}y{z}", "{a}", "a b", "*?[", "'\"\\"]
)
def test_names_that_are_taken(client: libdlock.Client, other: libdlock.Client, name: str) -> None:
    with client.lock(name):
        assert not other.lock(name).acquire(blocking=False)


def test_a_name_is_the_same_bytes_on_the_server(server: RedisServer) -> None:
    with libdlock.connect(server.url) as client:
        for name in ("new\nline", "🔒", "{x}y{z}"):
            with client.lock(name):
                assert server.command("EXISTS", name.encode()) == 1


def test_an_unknown_option_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(libdlock.InvalidArgument) as caught:
        libdlock.connect("memory://", leese=3)  # type: ignore[call-arg]
    text = str(caught.value)
    assert "leese" in text and "lease" in text and "connect_timeout" in text


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, 0.001, 90_000, "soon", ""])
def test_a_bad_value_of_an_option_is_refused(value: float) -> None:
    with pytest.raises(libdlock.InvalidArgument, match="lease"):
        libdlock.connect("memory://", lease=value)
    with pytest.raises(TypeError, match="lease"):
        libdlock.connect("memory://", lease=[])  # type: ignore[arg-type]


def test_options_as_keywords_and_in_the_url() -> None:
    for client in (
        libdlock.connect("memory://", lease=5, reentrant=False),
        libdlock.connect("memory://", lease=timedelta(seconds=5), reentrant=False),
        libdlock.connect("memory://", lease="5s", reentrant=False),  # type: ignore[arg-type]
        libdlock.connect("memory://?lease=5s&reentrant=false", user=None),  # type: ignore[arg-type]
    ):
        with client, client.lock("k") as held:
            assert 4 < held.remaining <= 5
            with pytest.raises(libdlock.Deadlock):
                client.lock("k").acquire()


def test_options_of_a_group_stand_in_a_mapping() -> None:
    for client in (
        libdlock.connect("memory://", lock={"reentrant": False, "cohort_age": timedelta(seconds=1)}),
        libdlock.connect("memory://", lock=libdlock.LockDefaults(reentrant=False)),
        libdlock.connect("memory://?lock.reentrant=false", lock=None),  # type: ignore[arg-type]
        libdlock.connect("memory://", **{"lock.reentrant": False}),  # type: ignore[arg-type]
    ):
        with client, client.lock("k"), pytest.raises(libdlock.Deadlock):
            client.lock("k").acquire()
    with pytest.raises(libdlock.InvalidArgument, match=r"option lock\.cohort_age: also given as cohort_age"):
        libdlock.connect("memory://", cohort_age=1, lock={"cohort_age": 1})
    with pytest.raises(
        libdlock.InvalidArgument, match=r"\"lock\.cohortMax\" \(did you mean lock.cohort_max\?\)"
    ):
        libdlock.connect("memory://", lock={"cohortMax": 1})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(TypeError, match="option lock: int is not a mapping"):
        libdlock.connect("memory://", lock=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url", ["", "redis", "http://127.0.0.1", "redis://:se\ud800cret@h", "redis://h:99999"]
)
def test_bad_urls(url: str) -> None:
    with pytest.raises(libdlock.InvalidArgument) as caught:
        libdlock.connect(url)
    assert "cret" not in str(caught.value)
    with pytest.raises(TypeError):
        libdlock.connect(b"memory://")  # type: ignore[arg-type]


def test_a_refused_connection_names_host_and_port_but_no_password() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        port = nobody.getsockname()[1]
        with pytest.raises(ConnectionError) as caught:
            libdlock.connect(f"redis://:s3cret@127.0.0.1:{port}", connect_timeout=2)
    assert isinstance(caught.value, libdlock.ConnectionFailed)
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert "s3cret" not in repr(caught.value) + str(caught.value)


def test_a_wrong_password_is_said_without_repeating_it() -> None:
    server = RedisServer("--requirepass", "right").start()
    try:
        for options in ({"password": "s3cret"}, {"user": "ann", "password": "s3cret"}, {}):
            with pytest.raises(libdlock.DlockError) as caught:
                libdlock.connect(server.url, connect_timeout=2, **options)  # type: ignore[arg-type]
            assert isinstance(caught.value, libdlock.ConnectionFailed | libdlock.NoPermission)
            assert f":{server.port}" in str(caught.value)
            assert "s3cret" not in str(caught.value)
        with libdlock.connect(server.url, password="right") as client, client.lock("k"):
            pass
    finally:
        server.stop()


def test_the_wrong_type_under_a_name_is_left_alone(server: RedisServer, name: str) -> None:
    server.command("SET", name, "data")
    with libdlock.connect(server.url) as client:
        with pytest.raises(TypeError) as caught:
            client.lock(name).acquire(timeout=1)
        assert isinstance(caught.value, libdlock.WrongType)
    assert server.command("GET", name) == b"data"


def test_use_after_close(client: libdlock.Client, name: str) -> None:
    lock = client.lock(name)
    assert lock.acquire()
    held = lock.held
    assert held is not None
    client.close()
    client.close()
    client.close(release=True)
    assert client.closed
    for call in (lock.acquire, lock.release, lock.inspect, lock.force_release, lock.detach):
        with pytest.raises(libdlock.Closed):
            call()
    with pytest.raises(libdlock.Closed):
        client.lock("other")
    assert not held.valid
    assert held.lost.reason == "closed"


def test_close_with_release_frees_what_is_held(url: str, client: libdlock.Client, name: str) -> None:
    mine = libdlock.connect(url)
    lock = mine.lock(name)
    assert lock.acquire()
    mine.close(release=True)
    with client.lock(name, wait=0):
        pass


def test_a_close_whose_release_fails_has_closed(own_server: RedisServer, name: str) -> None:
    client = libdlock.connect(own_server.url, operation_timeout=0.3, response_timeout=0.2)
    lock = client.lock(name)
    assert lock.acquire()
    own_server.kill()
    with pytest.raises(libdlock.DlockError):
        client.close(release=True)
    assert client.closed
    with pytest.raises(libdlock.Closed):
        lock.acquire()


def test_close_with_1_000_waiting(url: str, client: libdlock.Client, name: str) -> None:
    """All of them end with the client. tests/faults bounds the time, where no threads of Python have to start."""
    mine = libdlock.connect(url)
    outcomes: list[str] = []
    started = threading.Semaphore(0)

    def wait() -> None:
        started.release()
        try:
            mine.lock(name).acquire()
        except libdlock.Closed:
            outcomes.append("closed")
        else:
            outcomes.append("acquired")

    with client.lock(name):
        threads = [threading.Thread(target=wait) for _ in range(1000)]
        for thread in threads:
            thread.start()
        for _ in threads:
            started.acquire()
        mine.close()
        for thread in threads:
            thread.join(10)
    assert outcomes == ["closed"] * 1000
