"""A FastAPI application whose routes are limited, each in its own way. See docs/python/frameworks.md."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import libdlock.aio
import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.responses import PlainTextResponse
from libdlock.integrations.fastapi import RateLimit, RateLimitAnswers

URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    # The application starts also while the server is away.
    async with libdlock.aio.connect(URL, lazy_connect=True) as client:
        app.state.locks = client
        yield


app = FastAPI(lifespan=lifespan, default_response_class=PlainTextResponse)
app.add_middleware(RateLimitAnswers)


def limiter(name: str) -> Callable[[], libdlock.aio.RateLimiter]:
    """A limiter that is made with the first request: there is no client before the application starts."""
    absent: Any = os.environ.get("LIMIT_ABSENT", "fail")
    algorithm: Any = os.environ.get("LIMIT_ALGORITHM", "gcra")
    burst = os.environ.get("LIMIT_BURST")

    def make() -> libdlock.aio.RateLimiter:
        client: libdlock.aio.Client = app.state.locks
        return client.rate_limiter(
            name,
            rate=int(os.environ.get("LIMIT_TOKENS", "100")),
            per=int(os.environ.get("LIMIT_PERIOD_MS", "60000")) / 1000,
            burst=None if burst is None else int(burst),
            algorithm=algorithm,
            absent=absent,
            share_of=2 if absent == "local_share" else None,
        )

    return make


def together(request: Request) -> None:
    """Without a key, all requests share the limiter's tokens."""


def user(request: Request) -> str | None:
    return request.headers.get("x-user")


def cost(request: Request) -> int:
    return int(request.query_params["n"])


def faulty(request: Request) -> str:
    raise LookupError("a key function that fails")


def is_exempt(request: Request) -> bool:
    return request.headers.get("x-skip") == "yes"


OUTER = RateLimit(limiter("outer"), key=together)
INNER = RateLimit(limiter("inner"), key=together)


@app.get("/")
async def index() -> str:
    return "ok"


@app.get("/limited", dependencies=[Depends(RateLimit(limiter("demo")))])
async def limited() -> str:
    return "ok"


@app.get("/together", dependencies=[Depends(RateLimit(limiter("together"), key=together))])
async def all_together() -> str:
    return "ok"


@app.get("/user", dependencies=[Depends(RateLimit(limiter("user"), key=user))])
async def by_user() -> str:
    return "ok"


@app.get("/cost", dependencies=[Depends(RateLimit(limiter("cost"), key=together, cost=cost))])
async def by_cost() -> str:
    return "ok"


@app.get("/faulty", dependencies=[Depends(RateLimit(limiter("faulty"), key=faulty))])
async def with_a_faulty_key() -> str:
    return "ok"


@app.get("/both", dependencies=[Depends(OUTER), Depends(INNER)])
async def both() -> str:
    return "ok"


@app.get("/skip", dependencies=[Depends(RateLimit(limiter("skip"), skip=is_exempt))])
async def with_exemptions() -> str:
    return "ok"


async def main() -> None:
    port = int(os.environ.get("PORT", "8000"))
    # uvicorn believes the X-Forwarded-For of a client on its own machine, unless it is told not to.
    config = uvicorn.Config(app, port=port, proxy_headers=False, access_log=False, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        print(f"listening on {port}", flush=True)
    await serving


if __name__ == "__main__":
    asyncio.run(main())
