"""The middleware of ASGI by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import libdlock
from http_kit import ask, exchanged, served
from libdlock import aio
from libdlock.integrations.asgi import RateLimitMiddleware, Refusal, address
from proxy import Proxy

App = Callable[[Any, Any, Any], Any]


async def ok(scope: Any, receive: Any, send: Any) -> None:
    """Answers, and accepts WebSockets."""
    if scope["type"] == "websocket":
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept", "headers": [(b"x-own", b"1")]})
        await send({"type": "websocket.close", "code": 1000})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def limiter(aio_client: aio.Client, name: str) -> aio.RateLimiter:
    return aio_client.rate_limiter(name, rate=2, per=3600)


async def test_requests_pass_until_the_tokens_are_spent(limiter: aio.RateLimiter) -> None:
    app = RateLimitMiddleware(ok, limiter)
    for remaining, reset in ((1, 1800), (0, 3600)):
        passed = await ask(app)
        assert (passed.status, passed.body, passed.fields("x-own")) == (200, b"ok", ["1"])
        assert passed.fields("RateLimit-Policy") == [f'"{limiter.name}";q=2;w=3600']
        assert passed.fields("RateLimit") == [f'"{limiter.name}";r={remaining};t={reset}']
        assert not passed.fields("Retry-After")
    refused = await ask(app)
    assert refused.status == 429
    assert refused.fields("Content-Type") == ["application/problem+json"]
    assert refused.fields("Content-Length") == [str(len(refused.body))]
    assert refused.fields("Retry-After") == ["1800"]
    assert json.loads(refused.body)["detail"] == "rate limit reached; try again in 1800 s"
    assert (await ask(app, client=("192.0.2.8", 1))).status == 200


async def test_the_name_in_the_fields_may_be_another(limiter: aio.RateLimiter) -> None:
    passed = await ask(RateLimitMiddleware(ok, limiter, name='öffentlich"\r\nX-Evil: 1'))
    assert passed.fields("RateLimit-Policy") == ['"%C3%B6ffentlich\\"%0D%0AX-Evil: 1";q=2;w=3600']


async def test_addresses_of_ipv6_count_by_64_bits(limiter: aio.RateLimiter) -> None:
    app = RateLimitMiddleware(ok, limiter)
    addresses = ("2001:db8::1", "2001:db8::2:3", "2001:db8:0:0:4::", "2001:db8:0:1::1")
    assert [(await ask(app, client=(each, 1))).status for each in addresses] == [200, 200, 429, 200]


async def test_requests_without_an_address_share_their_tokens(limiter: aio.RateLimiter) -> None:
    app = RateLimitMiddleware(ok, limiter)
    clients = (None, ("", 0), None, ("192.0.2.7", 1))
    assert [(await ask(app, client=each)).status for each in clients] == [200, 200, 429, 200]
    assert (await limiter.peek()).remaining == 0
    assert address({"type": "http"}) is None


async def test_functions_may_be_coroutine_functions(limiter: aio.RateLimiter) -> None:
    async def key(scope: Any) -> str | None:
        await asyncio.sleep(0)
        return str(dict(scope["headers"]).get(b"x-user", b"").decode())

    async def cost(scope: Any) -> int:
        return int(scope["query_string"])

    async def skip(scope: Any) -> bool:
        return bool(scope["path"] == "/health")

    app = RateLimitMiddleware(ok, limiter, key=key, cost=cost, skip=skip)
    assert (await ask(app, "/?2", headers={"x-user": "ada"})).status == 200
    assert (await ask(app, "/?1", headers={"x-user": "ada"})).status == 429
    assert (await ask(app, "/?1")).status == 200
    assert (await limiter.peek()).remaining == 1
    healthy = await ask(app, "/health")
    assert (healthy.status, healthy.fields("RateLimit-Policy")) == (200, [])


async def test_what_a_function_raises_is_the_application_s(limiter: aio.RateLimiter) -> None:
    def fails(scope: Any) -> Any:
        raise LookupError("mine")

    each: list[dict[str, Any]] = [{"key": fails}, {"cost": fails}, {"skip": fails}]
    for options in each:
        with pytest.raises(LookupError, match="mine"):
            await ask(RateLimitMiddleware(ok, limiter, **options))
    with pytest.raises(TypeError, match=r"the key function .*<lambda> must return str or None, not int"):
        await ask(RateLimitMiddleware(ok, limiter, key=lambda scope: 7))
    with pytest.raises(libdlock.InvalidArgument, match="cost"):
        await ask(RateLimitMiddleware(ok, limiter, cost=-1))
    assert (await limiter.peek()).remaining == 2


async def test_a_key_that_no_name_may_be_is_a_bad_request(limiter: aio.RateLimiter) -> None:
    for bad in ("k" * 10_000, "a{", "a\0", "\ud800"):
        refused = await ask(RateLimitMiddleware(ok, limiter, key=lambda scope, bad=bad: bad))
        assert refused.status == 400
        assert not refused.fields("RateLimit-Policy")
        assert "a{" not in refused.body.decode()
    assert (await ask(RateLimitMiddleware(ok, limiter, key=lambda scope: "ä\U0001f600"))).status == 200


async def test_what_cannot_be_asked_is_refused_at_once(client: libdlock.Client, name: str) -> None:
    blocking: Any = client.rate_limiter(name, rate=1, per=1)
    with pytest.raises(TypeError, match=r"RateLimiter of libdlock\.aio: a limiter of libdlock would block"):
        RateLimitMiddleware(ok, blocking)
    with pytest.raises(TypeError, match=r"or a function that makes one, not builtins\.str"):
        RateLimitMiddleware(ok, "api")  # type: ignore[arg-type]
    for options, message in (
        ({"key": "user"}, "key must be a function, not str"),
        ({"skip": True}, "skip must be a function, not bool"),
        ({"cost": 1.5}, "cost must be int or a function, not float"),
        ({"name": 7}, "name must be str, not int"),
    ):
        with pytest.raises(TypeError, match=message):
            RateLimitMiddleware(ok, lambda: blocking, **options)
    with pytest.raises(TypeError, match="would block the event loop"):  # made at the first request
        await ask(RateLimitMiddleware(ok, lambda: blocking))


async def test_a_limiter_may_be_made_by_the_first_request(url: str, name: str) -> None:
    made: list[aio.Client] = []

    async def make() -> aio.RateLimiter:
        made.append(await aio.connect(url))
        return made[-1].rate_limiter(name, rate=2, per=3600)

    app = RateLimitMiddleware(ok, make)
    assert not made
    assert [(await ask(app)).status for _ in range(3)] == [200, 200, 429]
    assert len(made) == 1
    await made[0].close()  # as the next lifespan of the application finds it
    assert (await ask(app)).status in (200, 429)
    assert len(made) == 2
    await made[1].close()


async def test_first_requests_at_once_make_one_limiter(url: str, name: str) -> None:
    made: list[aio.Client] = []

    async def make() -> aio.RateLimiter:
        made.append(await aio.connect(url))
        return made[-1].rate_limiter(name, rate=5, per=3600)

    app = RateLimitMiddleware(ok, make)
    answers = await asyncio.gather(*(ask(app) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [200] * 5 + [429] * 5
    assert len(made) == 1
    await made[0].close()


async def test_a_client_that_cannot_be_opened_is_503_without_fields(name: str) -> None:
    async def make() -> aio.RateLimiter:
        client = await aio.connect("redis://127.0.0.1:1")
        return client.rate_limiter(name, rate=2, per=3600)

    refused = await ask(RateLimitMiddleware(ok, make))
    assert refused.status == 503
    assert (refused.fields("RateLimit-Policy"), refused.fields("Retry-After")) == ([], ["1"])


async def test_a_lost_reply_is_503(proxy: Proxy, name: str) -> None:
    async with aio.connect(
        f"redis://127.0.0.1:{proxy.port}?response_timeout=200ms&operation_timeout=1s"
    ) as client:
        app = RateLimitMiddleware(ok, client.rate_limiter(name, rate=2, per=3600))
        assert (await ask(app)).status == 200
        proxy.black_hole()
        refused = await ask(app)
        assert (refused.status, refused.fields("Retry-After")) == (503, ["1"])
        assert refused.fields("RateLimit-Policy") == [f'"{name}";q=2;w=3600']
        assert not refused.fields("RateLimit")


async def test_on_refused_answers_with_our_fields(limiter: aio.RateLimiter) -> None:
    seen: list[Refusal] = []

    def answer(scope: Any, refusal: Refusal) -> App:
        seen.append(refusal)

        async def teapot(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 418, "headers": [(b"Retry-After", b"7")]})
            await send({"type": "http.response.body", "body": b"mine"})

        return teapot

    async def later(scope: Any, refusal: Refusal) -> App:
        return answer(scope, refusal)

    for on_refused in (answer, later):
        refused = await ask(RateLimitMiddleware(ok, limiter, cost=3, on_refused=on_refused))
        assert (refused.status, refused.body) == (418, b"mine")
        assert refused.fields("Retry-After") == ["7"]
        assert refused.fields("RateLimit") == [f'"{limiter.name}";r=2;t=0']
    assert seen[0].decision is not None
    assert (seen[0].status, seen[0].error, seen[0].decision.retry_after) == (429, None, None)

    denied = await ask(
        RateLimitMiddleware(ok, limiter, cost=3, on_refused=answer),
        kind="websocket",
        extensions={"websocket.http.response": {}},
    )
    assert [message["type"] for message in denied.messages] == [
        "websocket.http.response.start",
        "websocket.http.response.body",
    ]
    with pytest.raises(
        TypeError, match="on_refused must return an ASGI application, such as a response, not dict"
    ):
        await ask(RateLimitMiddleware(ok, limiter, cost=3, on_refused=lambda scope, refusal: {}))

    await ask(RateLimitMiddleware(ok, limiter, key=lambda scope: "a{", on_refused=answer))
    assert (seen[-1].status, seen[-1].decision, type(seen[-1].error)) == (400, None, libdlock.InvalidName)


async def test_fields_of_the_handler_and_of_both_limiters_are_kept(limiter: aio.RateLimiter) -> None:
    async def own(scope: Any, receive: Any, send: Any) -> None:
        headers = [
            [b"ratelimit", b'"db";r=1'],
            [b"retry-after", b"9"],
            [b"set-cookie", b"a"],
            [b"set-cookie", b"b"],
        ]
        await send({"type": "http.response.start", "status": 503, "headers": iter(headers)})
        await send({"type": "http.response.body"})

    inner = RateLimitMiddleware(own, limiter, name="inner")
    answer = await ask(RateLimitMiddleware(inner, limiter, name="outer", key=lambda scope: "k"))
    assert answer.fields("RateLimit") == ['"db";r=1, "inner";r=1;t=1800, "outer";r=1;t=1800']
    assert answer.fields("RateLimit-Policy") == ['"inner";q=2;w=3600, "outer";q=2;w=3600']
    assert answer.fields("Retry-After") == ["9"]
    assert answer.fields("Set-Cookie") == ["a", "b"]


async def test_an_answer_in_parts_goes_out_part_by_part(limiter: aio.RateLimiter) -> None:
    async def streams(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "trailers": True})
        for part in (b"a", b"b"):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})
        await send({"type": "http.response.trailers", "headers": [(b"x-sum", b"1")]})

    answer = await ask(RateLimitMiddleware(streams, limiter))
    assert len(answer.messages) == 5
    assert answer.start["trailers"] is True
    assert answer.fields("RateLimit-Policy")
    assert answer.messages[-1]["headers"] == [(b"x-sum", b"1")]


async def test_an_exception_after_the_head_passes_unchanged(limiter: aio.RateLimiter) -> None:
    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await ask(RateLimitMiddleware(breaks, limiter))
    assert (await limiter.peek(key="192.0.2.7")).remaining == 1


async def test_a_refused_head_request_has_no_body(limiter: aio.RateLimiter) -> None:
    app = RateLimitMiddleware(ok, limiter, cost=3)
    for method in ("HEAD", "OPTIONS"):
        refused = await ask(app, method=method)
        assert refused.status == 429
        assert (refused.body == b"") == (method == "HEAD")
    async with served(app) as port:
        status, fields, _ = await exchanged(port, "HEAD / HTTP/1.1\nHost: a\n\n")
        assert status == 429
        assert int(fields["content-length"]) > 50


async def test_a_lifespan_is_not_limited(limiter: aio.RateLimiter) -> None:
    seen = []

    async def lives(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    await RateLimitMiddleware(lives, limiter, cost=3)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert seen == ["lifespan"]


async def test_a_websocket_is_refused_before_it_is_accepted(limiter: aio.RateLimiter) -> None:
    app = RateLimitMiddleware(ok, limiter)
    for _ in range(2):
        accepted = await ask(app, kind="websocket")
        assert accepted.start["type"] == "websocket.accept"
        assert accepted.fields("x-own") == ["1"]
        assert accepted.fields("RateLimit-Policy") == [f'"{limiter.name}";q=2;w=3600']
    closed = await ask(app, kind="websocket")
    assert closed.messages == [{"type": "websocket.close", "code": 1013, "reason": ""}]
    denied = await ask(app, kind="websocket", extensions={"websocket.http.response": {}})
    assert [message["type"] for message in denied.messages] == [
        "websocket.http.response.start",
        "websocket.http.response.body",
    ]
    assert (denied.status, denied.fields("Retry-After")) == (429, ["1800"])
    assert json.loads(denied.body)["status"] == 429


async def test_a_real_websocket_gets_the_answer(limiter: aio.RateLimiter) -> None:
    request = (
        "GET / HTTP/1.1\nHost: a\nUpgrade: websocket\nConnection: Upgrade\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Version: 13\n\n"
    )
    async with served(RateLimitMiddleware(ok, limiter)) as port:
        for _ in range(2):
            status, fields, _ = await exchanged(port, request)
            assert (status, fields["ratelimit-policy"]) == (101, f'"{limiter.name}";q=2;w=3600')
        status, fields, body = await exchanged(port, request)
        assert (status, fields["retry-after"]) == (429, "1800")
        assert json.loads(body)["title"] == "Too Many Requests"


async def test_a_client_on_ipv6_is_known_by_its_network(limiter: aio.RateLimiter) -> None:
    async with served(RateLimitMiddleware(ok, limiter), "::1") as port:
        status, fields, _ = await exchanged(port, "GET / HTTP/1.1\nHost: a\n\n", "::1")
    assert (status, fields["ratelimit"]) == (200, f'"{limiter.name}";r=1;t=1800')
    assert (await limiter.peek(key="::")).remaining == 1


async def test_a_request_cancelled_while_it_asks_is_no_harm(proxy: Proxy, name: str) -> None:
    async with aio.connect(f"redis://127.0.0.1:{proxy.port}") as client:
        app = RateLimitMiddleware(ok, client.rate_limiter(name, rate=2, per=3600))
        assert (await ask(app)).status == 200
        proxy.hold_replies()
        asking = [asyncio.create_task(ask(app)) for _ in range(3)]
        await asyncio.sleep(0.05)  # they wait for answers that do not come
        for each in asking:
            each.cancel()
        done = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in done)
        proxy.pass_replies()
        assert (await ask(app, client=("192.0.2.8", 1))).status == 200


async def test_a_request_that_is_cancelled_leaves_the_making_to_others(url: str, name: str) -> None:
    begun, goes_on, made = asyncio.Event(), asyncio.Event(), []

    async def make() -> aio.RateLimiter:
        begun.set()
        await goes_on.wait()
        made.append(await aio.connect(url))
        return made[-1].rate_limiter(name, rate=2, per=3600)

    app = RateLimitMiddleware(ok, make)
    first, second = asyncio.create_task(ask(app)), asyncio.create_task(ask(app))
    await begun.wait()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    goes_on.set()
    assert (await asyncio.wait_for(second, 10)).status == 200
    assert len(made) == 1
    await made[0].close()


async def test_a_client_that_goes_away_frees_its_connection(limiter: aio.RateLimiter) -> None:
    async with served(RateLimitMiddleware(ok, limiter, key=lambda scope: None)) as port:
        for _ in range(2):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await writer.drain()
            writer.transport.abort()
        for _ in range(200):
            if (await limiter.peek()).remaining == 0:
                break
            await asyncio.sleep(0.01)
        status, _, _ = await exchanged(port, "GET / HTTP/1.1\nHost: a\n\n")
        assert status == 429


async def test_requests_share_the_error_of_a_limiter_not_made() -> None:
    tries = 0

    async def limiter() -> aio.RateLimiter:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0.3)
        raise libdlock.Unavailable(f"try {tries}")

    app = RateLimitMiddleware(ok, limiter)
    first = asyncio.create_task(ask(app))
    others = [asyncio.create_task(ask(app)) for _ in range(20)]
    await asyncio.sleep(0.1)
    first.cancel()
    answers = await asyncio.wait_for(asyncio.gather(*others), 3)
    assert [answer.status for answer in answers] == [503] * 20
    assert tries == 1
    assert (await ask(app)).status == 503
    assert tries == 2, "the next request tries again"
