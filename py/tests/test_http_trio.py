"""The middleware of ASGI in servers that run trio, such as Hypercorn."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

import libdlock
from libdlock import aio
from libdlock.integrations.asgi import RateLimitMiddleware


async def ok(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


async def status(app: Any, into: list[int]) -> None:
    """Sends a request, and adds the status of its answer."""

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            into.append(message["status"])

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("192.0.2.7", 1)}
    await app(scope, trio.sleep_forever, send)


def test_first_requests_at_once_make_one_limiter(url: str, name: str) -> None:
    made: list[aio.Client] = []

    async def make() -> aio.RateLimiter:
        made.append(await aio.connect(url))
        return made[-1].rate_limiter(name, rate=5, per=3600)

    app = RateLimitMiddleware(ok, make)
    statuses: list[int] = []

    async def main() -> None:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                for _ in range(10):
                    nursery.start_soon(status, app, statuses)
            assert sorted(statuses) == [200] * 5 + [429] * 5
            assert len(made) == 1
            await made.pop().close()

    trio.run(main)


def test_a_cancelled_request_leaves_the_making_to_others(url: str, name: str) -> None:
    async def main() -> None:
        goes_on = trio.Event()
        made: list[aio.Client] = []
        statuses: list[int] = []

        async def make() -> aio.RateLimiter:
            made.append(await aio.connect(url))
            await goes_on.wait()
            return made[-1].rate_limiter(name, rate=1, per=3600)

        app = RateLimitMiddleware(ok, make)
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                with trio.move_on_after(0):
                    await status(app, statuses)
                nursery.start_soon(status, app, statuses)
                await trio.testing.wait_all_tasks_blocked()
                goes_on.set()
            assert (statuses, len(made)) == ([200], 1)
            await made[0].close()

    trio.run(main)


def test_requests_share_the_error_of_a_limiter_not_made() -> None:
    tries: list[int] = []
    statuses: list[int] = []

    async def make() -> aio.RateLimiter:
        tries.append(1)
        await trio.sleep(0.05)
        raise libdlock.Unavailable("the server is away")

    app = RateLimitMiddleware(ok, make)

    async def main() -> None:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(status, app, statuses)
            assert (statuses, len(tries)) == ([503] * 5, 1)
            await status(app, statuses)
            assert (statuses[-1], len(tries)) == (503, 2)

    trio.run(main)
