"""Worker numbers of one pool in all languages: no number twice at a time, no id twice ever."""

from __future__ import annotations

from collections.abc import Iterator

import libdlock
import pytest
from helpers import Fleet, Server, Start, Worker, eventually
from languages import has
from stranger import Stranger
from workers import LANGUAGES

USING = [language for language in LANGUAGES if has(language, "worker")]
GRANTED, FULL = 0, 1
BATCH = 5000

LAYOUT = libdlock.Layout.named("default")


def time_ms(id: int) -> int:
    return LAYOUT.decode(id).time_ms


def number_of(id: int) -> int:
    parts = LAYOUT.decode(id)
    return parts.datacenter << LAYOUT.worker_bits | parts.worker


@pytest.fixture
def stranger(fleet: Fleet) -> Iterator[Stranger]:
    one = Stranger(fleet.server.port)
    yield one
    one.close()


def leased(worker: Worker, pool: str) -> int:
    word, number = worker.ask(f"number {pool}")
    assert word == "number"
    return int(number)


def made(worker: Worker, pool: str) -> list[int]:
    word, ids = worker.ask(f"ids {pool} {BATCH}")
    assert word == "ids"
    return [int(id) for id in ids.split(",")]


def back(worker: Worker, pool: str) -> None:
    assert worker.ask(f"back {pool}") == ["back"]
    assert worker.ask(f"ids {pool} 1") == ["ids", "none"]


def test_languages_have_a_number_each_and_no_id_twice(fleet: Fleet) -> None:
    pool, workers = "numbers-of-all", [fleet.worker(language, "holder") for language in USING]
    ids: list[int] = []
    for _ in range(3):
        numbers = [leased(worker, pool) for worker in workers]
        assert sorted(numbers) == list(range(len(USING)))
        for worker in workers:
            worker.tell(f"ids {pool} {BATCH}")
        for number, worker in zip(numbers, workers, strict=True):
            batch = [int(id) for id in worker.answer()[1].split(",")]
            assert {number_of(id) for id in batch} == {number}
            ids += batch
        for worker in workers:
            back(worker, pool)
        workers = workers[1:] + workers[:1]
    assert len(set(ids)) == len(ids) == 3 * BATCH * len(USING)


@pytest.mark.parametrize("language", USING)
def test_a_number_goes_on_in_the_next_language(fleet: Fleet, language: str) -> None:
    pool, then = f"number-of-{language}", USING[(USING.index(language) + 1) % len(USING)]
    one, other = fleet.worker(language, "holder"), fleet.worker(then, "waiter")
    assert (leased(one, pool), leased(other, pool)) == (0, 1)
    before = made(one, pool)
    back(one, pool)
    back(other, pool)
    assert leased(other, pool) == 0
    after = made(other, pool)
    assert before == sorted(before) and after == sorted(after)
    assert before[-1] < after[0]
    back(other, pool)


@pytest.mark.parametrize("killed", USING)
def test_a_number_of_a_killed_process_comes_back(server: Server, start: Start, killed: str) -> None:
    """When its lease ends, and not before; the next holder is of the next language, and begins behind its ids."""
    then = USING[(USING.index(killed) + 1) % len(USING)]
    victim = start(killed, server.url_with("lease=2s"))
    pool, next = f"killed-{killed}", start(then, server.url_with("lease=60s"))
    assert leased(victim, pool) == 0
    before = made(victim, pool)
    victim.kill()
    assert leased(next, pool) == 1, "it is not free yet"
    back(next, pool)

    def is_free() -> bool:
        if leased(next, pool) == 0:
            return True
        back(next, pool)
        return False

    eventually("the lease is over", is_free)
    assert before[-1] < made(next, pool)[0]
    back(next, pool)


@pytest.mark.parametrize("language", USING)
def test_a_client_made_from_the_page_alone_shares_the_pool(fleet: Fleet, stranger: Stranger, language: str) -> None:
    pool, worker = f"stranger-and-{language}-numbers", fleet.worker(language, "holder")
    granted, _, number, until = stranger.lease_number(pool)
    assert (granted, number) == (GRANTED, 0)
    assert leased(worker, pool) == 1
    theirs = made(worker, pool)
    back(worker, pool)

    # What is far in the future is taken down by a renewal, and by a release that uses less of it.
    assert stranger.renew_number(pool, until + 50_000) > 0
    assert stranger.give_number_back(pool, until + 40_000) == 1
    assert stranger.give_number_back(pool, until) == 0
    assert leased(worker, pool) == 0
    assert time_ms(made(worker, pool)[0]) > until + 40_000
    back(worker, pool)

    # Each goes on behind the other.
    stranger.lease_number(pool)
    granted, _, number, until = stranger.lease_number(pool)
    assert (granted, number) == (GRANTED, 1)
    assert until - 30_000 > time_ms(theirs[-1])
    assert stranger.lease_number(pool, size=2)[:3:2] == [FULL, 2]
