"""The runner of scenarios for Python's threads: see README.md.

    runner.py URL

A line on its input is a step; the answer is `ok name=value...` or `error KIND name=value... : message`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import libdlock

Values = dict[str, Any]


def with_options(url: str, options: dict[str, str]) -> str:
    """Every language reads options from the URL alike."""
    return "?".join([url, *(["&".join(f"{name}={value}" for name, value in options.items())] if options else [])])


def seconds(ms: str | None) -> float | None:
    return None if ms is None else int(ms) / 1000


def ms(length: float | None) -> int | None:
    return None if length is None else round(length * 1000)


def us(length: float | None) -> int | None:
    return None if length is None else round(length * 1_000_000)


def decided(decision: libdlock.Decision) -> Values:
    return {
        "allowed": decision.allowed,
        "granted": decision.granted,
        "remaining": decision.remaining,
        "retry_after_us": us(decision.retry_after),
        "reset_after_us": us(decision.reset_after),
        "limit": decision.limit,
    }


class Runner:
    """The objects of one scenario, by their names in it. A method is a verb."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._clients: dict[str, libdlock.Client] = {}
        self._things: dict[str, Any] = {}

    def forget(self) -> Values:
        """The scenario is over."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        self._things.clear()
        return {}

    def open(self, client: str, **options: str) -> Values:
        self._clients[client] = libdlock.connect(with_options(self._url, options))
        return {}

    def close(self, client: str, release: str = "false") -> Values:
        self._clients[client].close(release=release == "true")
        return {}

    def _kept(self, name: str, hold: libdlock.Held | libdlock.OwnedHold) -> Values:
        self._things[name] = hold
        return {"token": hold.token, "owner": hold.owner}

    def take(
        self,
        client: str,
        name: str,
        hold: str,
        wait_ms: str | None = None,
        lease_ms: str | None = None,
        watchdog_lease_ms: str | None = None,
    ) -> Values:
        lock = self._clients[client].lock(name, lease=seconds(lease_ms), watchdog_lease=seconds(watchdog_lease_ms))
        return self._kept(hold, lock.take(wait=seconds(wait_ms)))

    def attach(self, client: str, name: str, hold: str, text: str) -> Values:
        return self._kept(hold, self._clients[client].lock(name).attach(text))

    def release(self, hold: str) -> Values:
        self._things[hold].release()
        return {}

    def extend(self, hold: str, lease_ms: str) -> Values:
        self._things[hold].extend(seconds(lease_ms))
        return {}

    def detach(self, hold: str) -> Values:
        return {"text": self._things[hold].detach()}

    def see(self, hold: str) -> Values:
        held = self._things[hold]
        return {"valid": held.valid, "remaining_ms": ms(held.remaining), "lost": held.lost.reason}

    def wait_lost(self, hold: str, wait_ms: str) -> Values:
        lost = self._things[hold].lost
        lost.wait(seconds(wait_ms))
        return {"lost": lost.reason}

    def inspect(self, client: str, name: str) -> Values:
        seen = self._clients[client].lock(name).inspect()
        return {
            "held": seen.holder is not None,
            "ours": seen.ours,
            "ttl_ms": ms(seen.ttl),
            "token": seen.token,
            "queued": seen.queued,
        }

    def force(self, client: str, name: str) -> Values:
        return {"was_held": self._clients[client].lock(name).force_release()}

    def limiter(
        self,
        client: str,
        name: str,
        limiter: str,
        tokens: str,
        per_us: str,
        burst: str | None = None,
        absent: Any = "fail",
        share_of: str | None = None,
    ) -> Values:
        self._things[limiter] = self._clients[client].rate_limiter(
            name,
            rate=int(tokens),
            per=int(per_us) / 1_000_000,
            burst=None if burst is None else int(burst),
            absent=absent,
            share_of=None if share_of is None else int(share_of),
        )
        return {}

    def spend(self, limiter: str, cost: str, wait_ms: str = "0") -> Values:
        return decided(self._things[limiter].acquire(int(cost), wait=seconds(wait_ms)))

    def peek(self, limiter: str) -> Values:
        return decided(self._things[limiter].peek())

    def reset(self, limiter: str) -> Values:
        self._things[limiter].reset()
        return {}

    def generator(self, generator: str, datacenter: str, worker: str, layout: Any = "default") -> Values:
        self._things[generator] = libdlock.Snowflake(int(datacenter), int(worker), layout=libdlock.Layout.named(layout))
        return {}

    def ids(self, generator: str, count: str) -> Values:
        ids = self._things[generator].next_ids(int(count))
        return {"first": ids[0], "last": ids[-1], "increasing": ids == sorted(set(ids))}

    def decode(self, generator: str, id: str) -> Values:
        parts = self._things[generator].decode(int(id))
        return {"datacenter": parts.datacenter, "worker": parts.worker, "sequence": parts.sequence}

    def encode(self, id: str, base: str) -> Values:
        return {"text": libdlock.Snowflake.encode(int(id), int(base))}

    def parse(self, text: str, base: str) -> Values:
        return {"id": libdlock.Snowflake.parse(text, int(base))}


def word(value: Any) -> str:
    """A value as a word of an answer."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def told(values: Values, begin: str = "ok") -> str:
    """An answer with its values."""
    return " ".join([begin, *(f"{name}={word(value)}" for name, value in values.items())])


def read(line: str) -> tuple[str, list[str], dict[str, str]]:
    """The verb, the objects and the options of a step."""
    verb, *words = line.split()
    options = dict(given.split("=", 1) for given in words if "=" in given)
    return verb, [given for given in words if "=" not in given], options


def failed(error: libdlock.DlockError) -> str:
    facts = {
        "holder": error.holder,
        "remaining_ms": ms(error.remaining),
        "allowed": None if error.allowed is None else error.allowed.replace(" ", "_"),
        "retryable": error.retryable,
    }
    return f"{told(facts, f'error {error.kind}')} : {error}"


def main() -> None:
    runner = Runner(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        verb, objects, options = read(line)
        do: Callable[..., Values] = getattr(runner, verb)
        try:
            print(told(do(*objects, **options)), flush=True)
        except libdlock.DlockError as error:
            print(failed(error), flush=True)


if __name__ == "__main__":
    main()
