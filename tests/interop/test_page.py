"""docs/protocol/lock.md and the library's scripts say the same: those written from the page do to the keys what the library's do.

Each sequence of random steps is carried out twice, on a lock by the library's scripts and on another by the page's; replies,
messages and keys are compared after every step. Both see the same time, because what a script does depends on how long ago
somebody was seen. (That the library's do what its specification in Rust says is tested in core.)
"""

from __future__ import annotations

import random
from pathlib import Path

import stranger
import stranger_scripts
from helpers import Fleet
from wire import Messages, Reply, Wire

CORE = Path(__file__).resolve().parents[2] / "core/src"
#: Of what each step's script is made.
PARTS = {
    "acquire": ["contended/queue", "contended/token"],
    "release": ["contended/queue", "lock/step/free"],
    "cancel": ["contended/queue"],
}
#: What stands in front of each script where messages have no slots: how it publishes.
PRELUDE = "local PUBLISH = 'PUBLISH'\n"
LIBRARY = {
    step: PRELUDE + "".join((CORE / f"{part}.lua").read_text() for part in [*parts, f"lock/step/{step}"])
    for step, parts in PARTS.items()
}
PAGE = {"acquire": stranger_scripts.ACQUIRE, "release": stranger_scripts.RELEASE, "cancel": stranger_scripts.CANCEL}
PAGE = {step: script.replace("COMMON", stranger_scripts.COMMON) for step, script in PAGE.items()}

SEQUENCES, STEPS = 150, 60
LIKELY = {"acquire": 8, "again": 1, "release": 3, "cancel": 1, "silent": 4, "expire": 1, "foreign": 1}
CLIENTS = [f"0000000{n}-0000-8000-8000-000000000000" for n in range(4)]
#: How silent somebody has been: not enough, enough for a head, for anybody; and one from before the clock went back.
SILENCES_MS = [1_000, 2_600, 10_000, 15_100, 15_100, -100_000]
#: How a script reads the time.
TIME = "redis.call('TIME')"
#: The keys that hold the time of the scripts, in the two parts that TIME has, and where it begins.
CLOCK = ["seconds", "microseconds"]
START_US = 1_795_000_000_000_000
#: How far it goes between two steps, us: often to where a head was seen just now and just not.
PAUSES_US = [0, 700, 30_000, 99_000, 100_000, 101_000]


class Pair:
    """Two locks to which the same is done at the same time."""

    def __init__(self, wire: Wire, heard: Messages, name: str) -> None:
        self.wire, self.heard = wire, heard
        self.locks = {f"{name}-library": LIBRARY, f"{name}-page": PAGE}
        self.done: list[str] = []
        self.now = START_US
        self.pause(0)

    def pause(self, us: int) -> None:
        """The clock of the scripts goes on."""
        self.now += us
        seconds, microseconds = divmod(self.now, 1_000_000)
        self.wire.command("MSET", CLOCK[0], str(seconds), CLOCK[1], str(microseconds))

    def run(self, step: str, *arguments: str) -> list[Reply]:
        """Carries out a step on both; what the library's answered."""
        self.done.append(f"{self.now} {step} {arguments}")
        library, page = (self.seen(lock, scripts[step], step, arguments) for lock, scripts in self.locks.items())
        assert library == page, "\n".join(self.done)
        return library[0]

    def seen(self, lock: str, script: str, step: str, arguments: tuple[str, ...]) -> tuple[list[Reply], object, object]:
        keys = [lock, f"token:{lock}"] if step == "acquire" else [lock]
        keys += stranger.queue_keys(lock)
        arguments = tuple(argument.replace("CHANNEL", f"channel:{lock}") for argument in arguments)
        assert script.count(TIME) == 1
        script = script.replace(TIME, f"redis.call('MGET', '{CLOCK[0]}', '{CLOCK[1]}')")
        reply = self.wire.command("EVAL", script, str(len(keys)), *keys, *arguments)
        assert isinstance(reply, list)
        if step == "acquire" and reply[0] == 1:
            reply[2] = 0  # the PTTL
        return reply, self.messages(lock), self.state(lock)

    def messages(self, lock: str) -> list[tuple[str, str]]:
        self.wire.command("PUBLISH", "mark", "")
        heard = []
        while (message := self.heard.next()) != ("mark", ""):
            heard.append((message[0].replace(lock, ""), message[1].replace(lock, "")))
        return heard

    def state(self, lock: str) -> object:
        queue, seen = stranger.queue_keys(lock)
        for key in (lock, queue, seen):
            assert self.wire.number("PTTL", key) != -1, f"{key} would stay for ever"
        return self.wire.fields(lock), self.wire.command("ZRANGE", queue, "0", "-1", "WITHSCORES"), self.wire.fields(seen)

    def silence(self, rank: int, ms: int, *, known: bool) -> None:
        """Who has this rank was last seen so long ago, or it is not known when."""
        last_seen = str(self.now // 1000 - ms)
        self.done.append(f"silent {rank} {ms} {known}")
        for lock in self.locks:
            queue, seen = stranger.queue_keys(lock)
            for client in self.waiting(queue, rank):
                if not known:
                    self.wire.command("HDEL", seen, client)
                elif self.wire.number("HEXISTS", seen, client):
                    self.wire.command("HSET", seen, client, last_seen)

    def waiting(self, queue: str, rank: int) -> list[str]:
        clients = self.wire.command("ZRANGE", queue, str(rank), str(rank))
        assert isinstance(clients, list)
        return [str(client) for client in clients]

    def expire(self) -> None:
        self.done.append("expire")
        self.wire.command("DEL", *self.locks)

    def foreign_takes(self) -> None:
        self.done.append("foreign")
        for lock in self.locks:
            if not self.wire.number("EXISTS", lock):
                self.wire.command("HSET", lock, "someone else", "1")
                self.wire.command("PEXPIRE", lock, "30000")


def sequence(pair: Pair, random: random.Random) -> None:
    attempts, granted = 0, [""]
    for _ in range(random.randint(5, STEPS)):
        pair.pause(random.choice(PAUSES_US))
        client, not_after = random.choice(CLIENTS), pair.now + random.choice([10_000_000] * 15 + [-1_000])
        match random.choices(list(LIKELY), list(LIKELY.values()))[0]:
            case "acquire":
                attempts += 1
                how = [random.choice(["1", "5"]), random.choice(["1", "1", "0"])]
                acquire = [f"{client}:{attempts}", "30000", str(not_after), "3600000", *how]
                if pair.run("acquire", *acquire)[0] == 0:
                    granted = acquire
            case "again" if granted != [""]:
                pair.run("acquire", *granted)
            case "release":
                owner = random.choice([granted[0]] * 4 + [f"{client}:0"])
                pair.run("release", owner, "CHANNEL", random.choice(["0", "1"]))
            case "cancel":
                pair.run("cancel", client, str(not_after))
            case "silent":
                pair.silence(random.choice([0, 0, 1, 2]), random.choice(SILENCES_MS), known=random.random() < 0.8)
            case "expire":
                pair.expire()
            case "foreign":
                pair.foreign_takes()


def test_the_page_says_what_the_scripts_do(fleet: Fleet) -> None:
    with Wire(fleet.server.port) as wire, Messages(fleet.server.port) as heard:
        for number in range(SEQUENCES):
            sequence(Pair(wire, heard, f"page-{number}"), random.Random(number))
