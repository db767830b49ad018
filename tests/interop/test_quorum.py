"""A lock on three servers, a majority of which grants it, from all languages: they wake each other, and none holds it beside
another. With the poll at half a minute, only a message can wake anybody."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
from contention import contend
from helpers import Workers, eventually
from private_quorum import PrivateQuorum
from workers import LANGUAGES, Command

#: A round trip to each server and a wake-up, as a rule.
AT_ONCE = 150_000  # us
#: Far below every poll, and beyond what a busy machine takes for one of them.
BY_A_MESSAGE = 5_000_000  # us
ROUNDS = 5

#: Each language once as the one who releases, and once as the one who waits.
RING = list(zip(LANGUAGES, [*LANGUAGES[1:], LANGUAGES[0]], strict=True))


@pytest.fixture(scope="module")
def servers() -> Iterator[PrivateQuorum]:
    with PrivateQuorum() as servers:
        yield servers


@pytest.fixture(scope="module")
def workers(servers: PrivateQuorum, command: Command) -> Iterator[Workers]:
    workers = Workers(f"{servers.url}?data_survives=true&{Workers.OPTIONS}", command)
    yield workers
    workers.end()


def listened(servers: PrivateQuorum, lock: str) -> bool:
    """Whether one process listens for the release of a lock at each server."""
    return servers.listeners(lock) == [1, 1, 1]


@pytest.mark.parametrize(("releasing", "waiting"), RING)
def test_a_release_on_several_servers_wakes_the_waiter(
    servers: PrivateQuorum, workers: Workers, releasing: str, waiting: str
) -> None:
    holder, waiter = workers.worker(releasing, "holder"), workers.worker(waiting, "waiter")
    took = []
    for number in range(ROUNDS):
        # One that waited listens for a while longer: another name each time.
        lock = f"from-{releasing}-to-{waiting}-{number}"
        _, _, first = holder.ask(f"acquire {lock}")
        waiter.tell(f"acquire {lock}")
        eventually("the waiter listens at all servers", functools.partial(listened, servers, lock))
        released, called = holder.ask(f"release {lock}")
        acquired, at, second = waiter.answer()
        assert (released, acquired) == ("released", "acquired")
        took.append(int(at) - int(called))
        assert 0 <= took[-1] < BY_A_MESSAGE, f"woken after {took[-1]} us"
        assert int(first) < int(second), "fencing tokens increase"
        assert waiter.ask(f"release {lock}")[0] == "released"
    assert sorted(took)[ROUNDS // 2] < AT_ONCE, took


def test_all_languages_share_a_lock_on_several_servers(servers: PrivateQuorum, workers: Workers) -> None:
    contend([workers.worker(language, role) for language in LANGUAGES for role in ("holder", "waiter")], "shared", 20)

    def freed() -> bool:
        return all(server.command("EXISTS", "shared") == "0" for server in servers.servers)

    eventually("it is free at all servers", freed)
