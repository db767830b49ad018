"""The middleware in Starlette, and the dependency in FastAPI."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import fastapi
import pytest
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, WebSocket
from fastapi.responses import PlainTextResponse, StreamingResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.routing import Mount, Route

from http_kit import ask, exchanged, served
from libdlock import aio
from libdlock.integrations import fastapi as integration
from libdlock.integrations import starlette as of_starlette
from libdlock.integrations.fastapi import RateLimit, RateLimitAnswers, RateLimitMiddleware, Refusal


@pytest.fixture
def limiter(aio_client: aio.Client, name: str) -> aio.RateLimiter:
    return aio_client.rate_limiter(name, rate=2, per=3600)


def user(request: Request) -> str | None:
    return request.headers.get("x-user")


async def ok(request: Request) -> PlainTextResponse:
    return PlainTextResponse("ok")


async def test_the_middleware_of_an_application_gives_requests(limiter: aio.RateLimiter) -> None:
    seen: list[HTTPConnection] = []

    def key(request: HTTPConnection) -> str | None:
        seen.append(request)
        return request.headers.get("x-user")

    app = Starlette(routes=[Route("/", ok)])
    app.add_middleware(of_starlette.RateLimitMiddleware, limiter=limiter, key=key)
    for status in (200, 200, 429):
        assert (await ask(app, headers={"X-User": "ada"})).status == status
    assert (await ask(app, headers={"X-User": "grace"})).status == 200
    assert (await ask(app, "/nowhere")).fields("RateLimit-Policy") == [f'"{limiter.name}";q=2;w=3600']
    assert type(seen[0]) is Request
    await ask(app, kind="websocket")
    assert type(seen[-1]) is HTTPConnection


async def test_a_route_of_starlette_has_a_limit_of_its_own(limiter: aio.RateLimiter) -> None:
    limited = [Middleware(of_starlette.RateLimitMiddleware, limiter=limiter)]
    routes = [
        Route("/", ok),
        Route("/a", ok, middleware=limited),
        Mount("/b", routes=[Route("/c", ok)], middleware=limited),
    ]
    app = Starlette(routes=[*routes])
    assert [(await ask(app, path)).status for path in ("/a", "/b/c", "/a", "/")] == [200, 200, 429, 200]


async def test_a_starlette_response_may_answer_refusals(limiter: aio.RateLimiter) -> None:
    def answer(request: HTTPConnection, refusal: Refusal) -> PlainTextResponse:
        return PlainTextResponse(refusal.detail, refusal.status)

    app = Starlette(routes=[Route("/", ok)])
    app.add_middleware(of_starlette.RateLimitMiddleware, limiter=limiter, cost=3, on_refused=answer)
    refused = await ask(app)
    assert (refused.status, refused.body) == (429, b"rate limit reached; this request can never be granted")
    denied = await ask(app, kind="websocket", extensions={"websocket.http.response": {}})
    assert (denied.status, denied.start["type"]) == (429, "websocket.http.response.start")
    closed = await ask(app, kind="websocket")
    assert closed.start["type"] == "websocket.close"


async def test_a_limiter_of_each_lifespan(url: str, name: str) -> None:
    clients: list[aio.Client] = []

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with aio.connect(url) as client:
            clients.append(client)
            app.state.locks = client
            yield

    app = FastAPI(lifespan=lifespan)
    app.add_middleware(
        RateLimitMiddleware, limiter=lambda: app.state.locks.rate_limiter(name, rate=2, per=3600)
    )
    for _ in range(2):
        async with app.router.lifespan_context(app):
            assert (await ask(app, "/nowhere", client=(f"192.0.2.{len(clients)}", 1))).status == 404
    assert len(clients) == 2


def application(**limits: RateLimit) -> FastAPI:
    """An application with a route for each limit."""
    app = FastAPI(default_response_class=PlainTextResponse)
    app.add_middleware(RateLimitAnswers)
    for name, limit in limits.items():
        app.get(f"/{name}", dependencies=[Depends(limit)])(lambda: "ok")
    return app


async def test_a_dependency_limits_a_route(limiter: aio.RateLimiter) -> None:
    app = application(limited=RateLimit(limiter, key=user))
    for remaining in (1, 0):
        passed = await ask(app, "/limited", headers={"X-User": "ada"})
        assert (passed.status, passed.body) == (200, b"ok")
        assert passed.fields("RateLimit")[0].startswith(f'"{limiter.name}";r={remaining};')
    refused = await ask(app, "/limited", headers={"X-User": "ada"})
    assert refused.status == 429
    assert refused.fields("Content-Type") == ["application/problem+json"]
    assert refused.fields("Retry-After") == ["1800"]
    assert refused.fields("RateLimit-Policy") == [f'"{limiter.name}";q=2;w=3600']
    assert json.loads(refused.body)["status"] == 429
    assert (await ask(app, "/limited", headers={"X-User": "k" * 10_000})).status == 400


async def test_a_dependency_without_its_middleware_says_so(limiter: aio.RateLimiter) -> None:
    app = FastAPI()
    app.get("/", dependencies=[Depends(RateLimit(limiter))])(lambda: "ok")
    with pytest.raises(RuntimeError, match=r"app\.add_middleware\(RateLimitAnswers\)"):
        await ask(app)


async def test_a_mounted_application_needs_a_middleware_too(limiter: aio.RateLimiter) -> None:
    outer, inner = application(), FastAPI()
    inner.get("/", dependencies=[Depends(RateLimit(limiter, cost=3))])(lambda: "ok")
    outer.mount("/inner", inner)
    with pytest.raises(RuntimeError, match="also in applications that are mounted"):
        await ask(outer, "/inner/")
    with pytest.raises(RuntimeError, match="RateLimitAnswers"):  # around the application it comes too late
        await ask(RateLimitAnswers(inner), "/")

    outer, inner = application(), application(limited=RateLimit(limiter, cost=3))
    outer.mount("/inner", inner)
    refused = await ask(outer, "/inner/limited")
    assert refused.status == 429
    assert refused.fields("RateLimit-Policy") == [f'"{limiter.name}";q=2;w=3600']


async def test_every_answer_of_a_route_has_the_fields(limiter: aio.RateLimiter) -> None:
    app = application()
    limited = [Depends(RateLimit(limiter, key=lambda request: request.url.path))]

    @app.get("/own", dependencies=limited)
    async def own() -> PlainTextResponse:
        return PlainTextResponse("own", headers={"RateLimit": '"db";r=1'})

    @app.get("/missing", dependencies=limited)
    async def missing() -> None:
        raise HTTPException(404, headers={"Retry-After": "9"})

    @app.get("/stream", dependencies=limited)
    async def stream() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            for part in (b"a", b"b"):
                yield part
                await asyncio.sleep(0)

        return StreamingResponse(parts())

    @app.get("/number/{number}", dependencies=limited)
    def number(number: int) -> str:
        return str(number)

    for path, status, body in (
        ("/own", 200, b"own"),
        ("/missing", 404, b'{"detail":"Not Found"}'),
        ("/stream", 200, b"ab"),
        ("/number/7", 200, b"7"),
        ("/number/x", 422, None),
    ):
        answer = await ask(app, path)
        assert answer.status == status
        assert body is None or answer.body == body
        assert answer.fields("RateLimit-Policy") == [f'"{limiter.name}";q=2;w=3600'], path
        assert f'"{limiter.name}";r=1;t=1800' in answer.fields("RateLimit")[0]
    assert (await ask(app, "/own")).fields("RateLimit")[0].startswith('"db";r=1, "')


async def test_routers_and_several_dependencies(aio_client: aio.Client, name: str) -> None:
    wide = aio_client.rate_limiter(f"{name}-wide", rate=3, per=3600)
    narrow = aio_client.rate_limiter(f"{name}-narrow", rate=1, per=3600)
    router = APIRouter(prefix="/api", dependencies=[Depends(RateLimit(wide, key=lambda request: None))])
    by_path = RateLimit(narrow, key=lambda request: request.url.path)
    for path in ("/a", "/b"):
        router.get(path, dependencies=[Depends(by_path)])(lambda: "ok")
    app = application()
    app.include_router(router)
    passed = await ask(app, "/api/a")
    assert passed.status == 200
    assert passed.fields("RateLimit-Policy") == [f'"{wide.name}";q=3;w=3600, "{narrow.name}";q=1;w=3600']
    refused = await ask(app, "/api/a")
    assert refused.status == 429
    assert refused.fields("RateLimit")[0].count(";r=") == 2
    assert refused.fields("Retry-After") == ["3600"]
    assert [(await ask(app, "/api/b")).status for _ in range(2)] == [200, 429]
    assert (await wide.peek()).remaining == 0


async def test_a_dependency_limits_websockets(limiter: aio.RateLimiter) -> None:
    app = application()

    @app.websocket("/ws", dependencies=[Depends(RateLimit(limiter))])
    async def talks(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.close()

    for _ in range(2):
        accepted = await ask(app, "/ws", kind="websocket")
        assert accepted.start["type"] == "websocket.accept"
        assert accepted.fields("RateLimit-Policy")
    closed = await ask(app, "/ws", kind="websocket")
    assert closed.messages == [{"type": "websocket.close", "code": 1013, "reason": ""}]
    denied = await ask(app, "/ws", kind="websocket", extensions={"websocket.http.response": {}})
    assert (denied.status, denied.fields("Retry-After")) == (429, ["1800"])

    request = (
        "GET /ws HTTP/1.1\nHost: a\nUpgrade: websocket\nConnection: Upgrade\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Version: 13\n\n"
    )
    async with served(app) as port:
        await limiter.reset(key="127.0.0.1")
        assert [(await exchanged(port, request))[0] for _ in range(3)] == [101, 101, 429]


async def test_a_refused_websocket_that_was_accepted_is_closed(limiter: aio.RateLimiter) -> None:
    app = application()

    async def accepts(websocket: WebSocket) -> None:
        await websocket.accept()

    @app.websocket("/ws", dependencies=[Depends(accepts), Depends(RateLimit(limiter, cost=3))])
    async def talks(websocket: WebSocket) -> None:
        await websocket.send_text("limited")

    either: list[dict[str, Any]] = [{}, {"websocket.http.response": {}}]
    for extensions in either:
        refused = await ask(app, "/ws", kind="websocket", extensions=extensions)
        assert refused.start["type"] == "websocket.accept"
        assert refused.messages[1:] == [{"type": "websocket.close", "code": 1013, "reason": ""}]


async def test_a_middleware_of_functions_may_stand_between(limiter: aio.RateLimiter) -> None:
    app = application(limited=RateLimit(limiter, cost=3))

    async def between(request: Request, call_next: Callable[[Request], Any]) -> Any:
        return await call_next(request)

    inside = FastAPI(default_response_class=PlainTextResponse)
    inside.get("/limited", dependencies=[Depends(RateLimit(limiter, cost=3))])(lambda: "ok")
    inside.middleware("http")(between)
    inside.add_middleware(RateLimitAnswers)  # the last one added is the outermost
    app.middleware("http")(between)
    for each in (app, inside):
        refused = await ask(each, "/limited")
        assert refused.status == 429
        assert refused.fields("Content-Type") == ["application/problem+json"]


async def test_an_exception_of_a_handler_is_fastapi_s(limiter: aio.RateLimiter) -> None:
    app = application(faulty=RateLimit(limiter, key=lambda request: 1 / 0))

    @app.get("/breaks", dependencies=[Depends(RateLimit(limiter))])
    async def breaks() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"a"
            raise KeyError("mine")

        return StreamingResponse(parts())

    with pytest.raises(ZeroDivisionError):
        await ask(app, "/faulty")
    with pytest.raises(KeyError, match="mine"):
        await ask(app, "/breaks")
    assert (await limiter.peek()).remaining == 2


async def test_refusals_may_be_answered_by_a_function(limiter: aio.RateLimiter) -> None:
    async def answer(request: Request, refusal: Refusal) -> PlainTextResponse:
        return PlainTextResponse(f"{request.url.path}: {refusal.detail}", 418)

    refused = await ask(application(limited=RateLimit(limiter, cost=3, on_refused=answer)), "/limited")
    assert (refused.status, refused.body[:9]) == (418, b"/limited:")
    assert refused.fields("RateLimit")


async def test_head_and_options_of_a_route_are_as_its_methods_say(limiter: aio.RateLimiter) -> None:
    app = application()
    app.api_route("/", methods=["GET", "HEAD"], dependencies=[Depends(RateLimit(limiter, cost=3))])(
        lambda: "ok"
    )
    refused = await ask(app, method="HEAD")
    assert (refused.status, refused.body) == (429, b"")
    assert (await ask(app, method="OPTIONS")).status == 405


def test_the_dependency_does_not_show_in_the_description(name: str) -> None:
    def unused() -> aio.RateLimiter:
        raise AssertionError

    app = application(limited=RateLimit(unused))
    (route,) = app.openapi()["paths"].values()
    assert "parameters" not in route["get"]
    assert fastapi.__version__
    assert integration.address is of_starlette.address
