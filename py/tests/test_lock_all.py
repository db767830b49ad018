"""Several locks as one, for threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import libdlock
from conftest import Python, assert_named_elsewhere, breaks_within_100_ms


@pytest.fixture
def names(name: str) -> list[str]:
    return [f"{name}-a", f"{name}-b"]


def held_by_anybody(client: libdlock.Client, names: Iterable[str]) -> list[bool]:
    return [client.lock(name).locked() for name in names]


def test_with_holds_all_of_them_and_says_their_tokens(client: libdlock.Client, names: list[str]) -> None:
    both = client.lock_all(reversed(names), lease=20)
    assert both.names == names
    assert repr(both) == f"<libdlock.LockAll {', '.join(names)!r}>"
    with both as held:
        tokens = held.tokens
        assert list(tokens) == names
        assert [client.lock(name).inspect().token for name in names] == list(tokens.values())
        assert (held.token, held.owner, held.permits) == (0, "", [])
        assert held.valid and 15 < held.remaining <= 20
        assert not held.lost.is_set()
        assert held.lost_name is None
        assert repr(held) == f"<libdlock.HeldAll {', '.join(names)!r} tokens={list(tokens.values())}>"
        held.extend(60)
        assert held.remaining > 40
        assert both.hold_count == 1
        assert both.held is not None and both.held.tokens == tokens
    assert held_by_anybody(client, names) == [False, False]
    assert both.hold_count == 0
    assert client.lock_all(names).held is None


def test_a_lock_and_a_set_with_it_exclude_each_other(
    client: libdlock.Client, other: libdlock.Client, names: list[str]
) -> None:
    both, one = client.lock_all(names), other.lock(names[1])
    with both:
        assert not one.acquire(blocking=False)
    with one:
        assert not both.acquire(blocking=False)
        assert not both.acquire(timeout=0.05)
        assert other.lock(names[0]).acquire(timeout=10), "nothing is kept of a set that was not acquired"
        other.lock(names[0]).release()
        with pytest.raises(libdlock.AcquireTimeout) as busy:
            both.take(wait=0)
        assert busy.value.name == names[1]
    assert both.acquire(timeout=5)
    both.release()


def test_with_raises_when_the_wait_is_over(
    client: libdlock.Client, other: libdlock.Client, names: list[str]
) -> None:
    with other.lock(names[0]), pytest.raises(libdlock.AcquireTimeout), client.lock_all(names, wait=0.05):
        pass


def test_a_thread_may_acquire_a_set_again(client: libdlock.Client, names: list[str]) -> None:
    both = client.lock_all(names)
    with both, client.lock_all(names) as again:
        assert both.hold_count == 2
        with client.lock(names[0]):
            assert client.lock(names[0]).hold_count == 3
        again.release()
        assert both.acquire()
    assert held_by_anybody(client, names) == [False, False]
    with pytest.raises(libdlock.NotHeld):
        both.release()


def test_a_set_that_is_not_reentrant_says_so(client: libdlock.Client, names: list[str]) -> None:
    both = client.lock_all(names, reentrant=False)
    with both, pytest.raises(libdlock.Deadlock):
        both.acquire()


def test_a_hold_that_is_taken_belongs_to_its_object(client: libdlock.Client, names: list[str]) -> None:
    held = client.lock_all(names).take()
    assert list(held.tokens) == names
    assert repr(held).startswith(f"<libdlock.OwnedHoldAll {', '.join(names)!r} tokens=[")
    held.extend(60)
    assert held.remaining > 40
    with pytest.raises(libdlock.InvalidArgument):
        held.detach()
    thread = threading.Thread(target=held.release)
    thread.start()
    thread.join(20)
    assert held_by_anybody(client, names) == [False, False]
    with client.lock_all(names).take(wait=1):
        assert held_by_anybody(client, names) == [True, True]
    assert held_by_anybody(client, names) == [False, False]


def test_a_lost_lock_is_named_and_the_others_are_released(
    client: libdlock.Client, other: libdlock.Client, names: list[str]
) -> None:
    both = client.lock_all(names)
    with pytest.raises(libdlock.NotHeld, match=names[1]), both as held:
        assert other.lock(names[1]).force_release()
        assert held.lost.wait(10)
        assert (held.lost_name, held.lost.reason) == (names[1], "deleted")
        assert not held.valid
        with pytest.raises(libdlock.NotHeld):
            held.extend(20)
    assert held_by_anybody(other, names) == [False, False]
    with both:
        assert held_by_anybody(other, names) == [True, True]


def test_the_end_of_a_lost_scope_leaves_a_new_hold(
    client: libdlock.Client, other: libdlock.Client, names: list[str]
) -> None:
    both = client.lock_all(names)
    with pytest.raises(libdlock.NotHeld), both:
        held = both.held
        assert held is not None
        assert other.lock(names[1]).force_release()
        assert held.lost.wait(10)
        del held  # the scope's own view is what names the hold
        assert both.hold_count == 0
        assert both.acquire(timeout=10)
    assert both.hold_count == 1
    both.release()


@pytest.mark.parametrize(
    "give",
    [list, tuple, set, frozenset, iter, dict.fromkeys, lambda names: (name for name in names)],
    ids=["list", "tuple", "set", "frozenset", "iterator", "dict", "generator"],
)
def test_names_come_from_anything_that_has_several(
    client: libdlock.Client, names: list[str], give: Callable[[list[str]], Any]
) -> None:
    with client.lock_all(give([*names, names[0]])) as held:
        assert list(held.tokens) == names


def test_one_text_is_not_a_list_of_names(client: libdlock.Client) -> None:
    for one in ("stock", b"stock"):
        with pytest.raises(TypeError, match=r'not one \w+: client.lock_all\(\["a", "b"\]\)'):
            client.lock_all(one)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'lock_all takes one list of names: client.lock_all\(\["a", "b"\]\)'):
        client.lock_all("a", "b")  # type: ignore[arg-type]
    for wrong in (None, 7, client.lock("a")):
        with pytest.raises(TypeError, match="names must be a list of names, not "):
            client.lock_all(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a name must be str, not Lock"):
        client.lock_all([client.lock("a")])  # type: ignore[list-item]


def test_too_many_names_and_none_are_refused(client: libdlock.Client, name: str) -> None:
    for count in (0, 101):
        with pytest.raises(libdlock.InvalidArgument, match=f"{count} names were given; allowed: 1 to 100"):
            client.lock_all(f"{name}-{each}" for each in range(count))
    with pytest.raises(libdlock.InvalidName):
        client.lock_all([name, ""])
    with pytest.raises(libdlock.InvalidName):
        client.lock_all([name, "\ud800"])
    with pytest.raises(libdlock.InvalidArgument):
        client.lock_all([name], lease=0.05)
    with pytest.raises(TypeError, match="reentrant must be bool"):
        client.lock_all([name], reentrant=1)  # type: ignore[arg-type]


def test_a_hundred_locks_are_held_as_one(client: libdlock.Client, name: str) -> None:
    many = client.lock_all(f"{name}-{each:03}" for each in range(100))
    assert many.name == f"{name}-000, {name}-001, {name}-002 and 97 more"
    with many as held:
        assert len(held.tokens) == 100


def test_sets_that_overlap_never_block_each_other(url: str, name: str) -> None:
    left, middle, right = (f"{name}-{each}" for each in ("left", "middle", "right"))
    sets = [[left, middle], [middle, right], [right, left], [right, middle, left]]
    passes: list[int] = []

    def work(names: list[str]) -> None:
        with libdlock.connect(url) as client:
            several = client.lock_all(names, wait=30)
            for each in range(15):
                with several:
                    passes.append(each)

    threads = [threading.Thread(target=work, args=(names,)) for names in sets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(passes) == 60


def test_closing_the_client_ends_a_wait(url: str, names: list[str]) -> None:
    errors: list[BaseException] = []
    with libdlock.connect(url) as client, libdlock.connect(url) as other, other.lock(names[1]):

        def wait() -> None:
            try:
                client.lock_all(names).acquire()
            except libdlock.Closed as error:
                errors.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        end = time.monotonic() + 10
        while other.lock(names[1]).inspect().queued == 0:
            assert time.monotonic() < end
            time.sleep(0.005)
        client.close(release=True)
        thread.join(20)
        assert len(errors) == 1
        assert other.lock(names[0]).acquire(timeout=10), "what it had already is given back"
        other.lock(names[0]).release()


WAITING = """
import sys, time, libdlock
url, name, way = sys.argv[1:]
with libdlock.connect(url) as holder, libdlock.connect(url) as client:
    with holder.lock(name + "-b") as held:
        both = client.lock_all([name + "-a", name + "-b"])
        ways = {"acquire": both.acquire, "with": both.__enter__, "take": both.take}
        try:
            print("waiting", flush=True)
            ways[way]()
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
        assert both.hold_count == 0
        assert held.valid
        assert holder.lock(name + "-a").acquire(timeout=5)
        holder.lock(name + "-a").release()
    with both:
        pass
print("nothing left")
"""


@pytest.mark.parametrize("way", ["acquire", "with", "take"])
def test_ctrl_c_breaks_a_wait_within_100_ms(python: Python, url: str, name: str, way: str) -> None:
    assert breaks_within_100_ms(python, WAITING, url, name, way) == "nothing left\n"


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("locked", "`client.lock(name).locked()`, for each of the names"),
        ("inspect", "`client.lock(name).inspect()`, for each of the names"),
        ("force_release", "`client.lock(name).force_release()`, for each of the names"),
        ("detach", "`client.lock(name)`, for each of the names: what is held as one cannot be detached"),
    ],
)
def test_what_a_lock_has_and_a_set_has_not_is_named(
    client: libdlock.Client, name: str, elsewhere: str, here: str
) -> None:
    assert_named_elsewhere(client.lock_all([name]), "LockAll", elsewhere, here)
    assert not hasattr(client.lock_all([name]), "nonsense")
