"""A read-write lock shared by processes of all languages that have it: who makes room wakes those for whom it is."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import NamedTuple

import pytest
from at_once import most_at_once
from contention import CROWD, check_woken
from helpers import Fleet, Server, Start, Worker, eventually
from languages import has
from wire import Wire
from workers import LANGUAGES

USING = [language for language in LANGUAGES if has(language, "rw_lock")]
QUEUE = "dlock_rw_queue"

#: A round trip and a wake-up on a busy machine, far below every poll. Half of them take less; any may hit a pause.
AT_ONCE = 150_000  # us
#: What one wake-up may take, of which there is no median: still far below the poll of 30 s.
NO_POLL = 1_000_000  # us

#: What the holder has, what it does then, and what the waiter wants.
WAKES = [("write", "leave", "read"), ("write", "leave", "write"), ("read", "leave", "write"), ("write", "downgrade", "read")]


def now_us() -> int:
    return time.monotonic_ns() // 1000


@pytest.mark.repeated
@pytest.mark.parametrize(("held", "verb", "wanted"), WAKES, ids=["-".join(wake) for wake in WAKES])
@pytest.mark.parametrize("waiting", USING)
@pytest.mark.parametrize("ending", USING)
def test_who_makes_room_wakes_the_waiter_within_150_ms(
    request: pytest.FixtureRequest, fleet: Fleet, ending: str, waiting: str, held: str, verb: str, wanted: str
) -> None:
    server, holder, waiter = fleet.server, fleet.worker(ending, "holder"), fleet.worker(waiting, "waiter")
    name = f"{held}-{verb}-{wanted}-from-{ending}-to-{waiting}"
    took: list[int] = []
    last_token = 0
    for _ in range(request.config.getoption("--rounds")):
        first = token_of(holder.ask(f"side {name} {held}"))
        waiter.tell(f"side {name} {wanted}")
        eventually("the waiter stands in the queue", lambda: server.standing(name, QUEUE) == 1)
        did, called, *more = holder.ask(f"{verb} {name}")
        granted = waiter.answer()
        second = token_of(granted)
        took.append(int(granted[1]) - int(called))
        assert took[-1] >= 0, "granted before there was room"
        assert last_token < first < second, "fencing tokens increase"
        last_token = second
        if verb == "downgrade":
            assert did == "downgraded"
            assert first <= int(more[0]) != second
            assert holders(server, name) == ("read", {int(more[0]), second})
            leave(holder, name)
        else:
            assert did == "left"
        leave(waiter, name)
        eventually("nobody stands in the queue", lambda: server.standing(name, QUEUE) == 0)
    check_free(server, name)
    took.sort()
    half = took[len(took) // 2]
    print(f"{name}: p50 {half} us, p99 {took[len(took) * 99 // 100]} us")
    assert half < AT_ONCE, took


def test_readers_of_all_languages_hold_together(fleet: Fleet) -> None:
    """A writer's release admits all of them; the next writer comes when the last one has left."""
    server, name = fleet.server, "together"
    writer = fleet.worker(USING[0], "holder")
    readers = {language: fleet.worker(language, "waiter") for language in USING}
    first = token_of(writer.ask(f"side {name} write"))
    for reader in readers.values():
        reader.tell(f"side {name} read")
    eventually("all readers stand in the queue", lambda: server.standing(name, QUEUE) == len(readers))
    leave(writer, name)
    tokens = [token_of(reader.answer()) for reader in readers.values()]
    assert first < min(tokens)
    assert len(set(tokens)) == len(readers), "each process has a hold of its own"
    assert holders(server, name) == ("read", set(tokens))

    writer.tell(f"side {name} write")
    eventually("the writer stands in the queue", lambda: server.standing(name, QUEUE) == 1)
    for token, reader in zip(tokens, readers.values(), strict=True):
        mode, left = holders(server, name)
        assert mode == "read"
        assert token in left
        last_left = now_us()
        leave(reader, name)
    granted = writer.answer()
    assert int(granted[1]) >= last_left, "it wrote while somebody read"
    assert token_of(granted) > max(tokens)
    leave(writer, name)
    check_free(server, name)


@pytest.mark.parametrize("reading", USING)
def test_a_reader_behind_a_queued_writer_waits(fleet: Fleet, reading: str) -> None:
    """Three processes: the reader is of one language, the writer of the next, and who reads already of the one after it."""
    at = USING.index(reading)
    server, name = fleet.server, f"behind-a-writer-{reading}"
    late = fleet.worker(reading, "waiter")
    writer = fleet.worker(USING[(at + 1) % len(USING)], "waiter")
    first = fleet.worker(USING[(at + 2) % len(USING)], "holder")
    first_token = token_of(first.ask(f"side {name} read"))
    writer.tell(f"side {name} write")
    eventually("the writer stands in the queue", lambda: server.standing(name, QUEUE) == 1)
    late.tell(f"side {name} read")
    eventually("the reader stands in the queue", lambda: server.standing(name, QUEUE) == 2)
    assert holders(server, name) == ("read", {first_token})
    leave(first, name)
    write_token = token_of(writer.answer())
    assert holders(server, name) == ("write", {write_token})
    room = now_us()
    leave(writer, name)
    granted = late.answer()
    assert int(granted[1]) >= room, "it read before the writer had left"
    assert first_token < write_token < token_of(granted)
    leave(late, name)
    check_free(server, name)


@pytest.mark.parametrize("killed", USING)
def test_a_killed_writer_is_replaced_after_its_lease(server: Server, start: Start, killed: str) -> None:
    """And not before; the waiters are of the next language: one reads, and one writes after it."""
    waiting = USING[(USING.index(killed) + 1) % len(USING)]
    url = server.url_with("lease=60s&poll_interval=30s")
    victim = start(killed, server.url_with("lease=2s"))
    reader, writer = start(waiting, url), start(waiting, url)
    lost_token = token_of(victim.ask("side page write"))
    reader.tell("side page read")
    eventually("the reader stands in the queue", lambda: server.standing("page", QUEUE) == 1)
    writer.tell("side page write")
    eventually("the writer stands in the queue", lambda: server.standing("page", QUEUE) == 2)
    victim.kill()
    end = ends_at(server, "page")
    granted = reader.answer()
    late = int(granted[1]) - end
    print(f"{killed} was killed, {waiting} waited: granted {late} us after the end of the lease")
    # The end is known to a millisecond, and to what the question took.
    assert -2_000 <= late < NO_POLL
    read_token = token_of(granted)
    leave(reader, "page")
    assert lost_token < read_token < token_of(writer.answer())
    leave(writer, "page")
    check_free(server, "page")


class Turn(NamedTuple):
    """When it was granted and until when it lasted (us); which side it was; its fencing token."""

    begin: int
    end: int
    side: str
    token: int


def test_callers_of_all_processes_never_share_with_a_writer(fleet: Fleet) -> None:
    rounds, sides = 40, "read,write,read,read"
    workers = [fleet.worker(language, role) for language in USING for role in ("holder", "waiter")]
    for worker in workers:
        worker.tell(f"mix crowd {rounds} {sides}")
    turns = sorted(turn for worker in workers for turn in turns_of(worker))
    callers = len(workers) * len(sides.split(","))
    assert len(turns) == rounds * callers
    # A writer counts as all.
    assert most_at_once((turn.begin, turn.end, callers if turn.side == "write" else 1) for turn in turns) == callers
    readers = most_at_once((turn.begin, turn.end, 1) for turn in turns if turn.side == "read")
    print(f"{readers} readers at once, of {callers} callers")
    assert readers > 1, "readers took turns"
    for before, after in pairwise(phases(turns)):
        assert max(turn.token for turn in before) < min(turn.token for turn in after), "fencing tokens increase"
    check_free(fleet.server, "crowd")


def phases(turns: list[Turn]) -> list[list[Turn]]:
    """The writers, each alone, and the readers between two writers, in the order of the grants."""
    found: list[list[Turn]] = []
    for turn in turns:
        if found and turn.side == "read" == found[-1][-1].side:
            found[-1].append(turn)
        else:
            found.append([turn])
    return found


def turns_of(worker: Worker) -> list[Turn]:
    turns, waits = [], []
    while (answer := worker.answer(CROWD)) != ["done"]:
        kind, side, begin, end, asked, token = answer
        assert kind == "turn", answer
        turns.append(Turn(int(begin), int(end), side, int(token)))
        waits.append(int(begin) - int(asked))
    check_woken(waits)
    return turns


def token_of(answer: list[str]) -> int:
    """Of an answer `side <us> <token>`."""
    kind, _, token = answer
    assert kind == "side", answer
    return int(token)


def leave(worker: Worker, name: str) -> None:
    assert worker.ask(f"leave {name}")[0] == "left"


def holders(server: Server, name: str) -> tuple[str, set[int]]:
    """The mode of a lock that is held, and the tokens of the holds, as the server shows them."""
    with Wire(server.port) as wire:
        fields = wire.fields(name)
        mode = fields.pop("mode")
        return mode, {int(wire.text("GET", f"{{{name}}}:{field}:rwlock_timeout:1")) for field in fields}


def ends_at(server: Server, name: str) -> int:
    """When the lease of its only holder ends, by our clock (us)."""
    with Wire(server.port) as wire:
        left_ms = wire.number("PTTL", name)
    assert left_ms > 0
    return now_us() + left_ms * 1000


def check_free(server: Server, name: str) -> None:
    """Nothing is left of holders, nor of the queue."""
    assert not server.exists(name)
    assert not server.exists(f"{QUEUE}:{{{name}}}")
