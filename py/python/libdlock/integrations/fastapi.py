"""Rate limits for FastAPI: a dependency for single routes and routers, beside the middleware for the whole application."""

# No postponed annotations: FastAPI reads those of the dependency.

from fastapi.requests import HTTPConnection

from ._limit import Cost, Key, Skip, TaskLimit
from ._refusal import Refusal
from .asgi import (
    TRY_AGAIN_LATER,
    ASGIApp,
    Limiter,
    Message,
    OnRefused,
    Receive,
    Scope,
    Send,
    adding,
    refuse,
)
from .starlette import RateLimitMiddleware, address

__all__ = [
    "Cost",
    "Key",
    "OnRefused",
    "RateLimit",
    "RateLimitAnswers",
    "RateLimitMiddleware",
    "Refusal",
    "RequestRefused",
    "Skip",
    "address",
]

#: Where in the scope the fields stand that dependencies add to the answer.
_FIELDS = "libdlock.fields"


class RequestRefused(Exception):
    """Ends a request that a `RateLimit` refused, on its way to `RateLimitAnswers`."""

    def __init__(self, refusal: Refusal, on_refused: OnRefused | None, request: HTTPConnection) -> None:
        super().__init__(refusal.detail)
        self.refusal = refusal
        self.on_refused = on_refused
        self.request = request


class RateLimit:
    """A dependency that asks a limiter: `@app.get("/search", dependencies=[Depends(RateLimit(search))])`.

    The arguments are those of `RateLimitMiddleware`. The application needs `app.add_middleware(RateLimitAnswers)`. Works for
    routes of WebSockets too, which are refused before they are accepted.
    """

    def __init__(
        self,
        limiter: Limiter,
        *,
        key: Key | None = None,
        cost: Cost = 1,
        skip: Skip | None = None,
        name: str | None = None,
        on_refused: OnRefused | None = None,
    ) -> None:
        self._limit = TaskLimit(limiter, key=key, by_address=address, cost=cost, skip=skip, name=name)
        self._on_refused = on_refused

    async def __call__(self, request: HTTPConnection) -> None:
        answers, fields = request.scope.get(_FIELDS, (None, []))
        if answers is not request.app:  # a mounted application would answer a refusal of its own with 500
            raise RuntimeError(
                "RateLimit needs a middleware that answers: app.add_middleware(RateLimitAnswers), "
                "also in applications that are mounted"
            )
        asked = await self._limit.ask(request)
        fields.append(asked.fields)
        if isinstance(asked, Refusal):
            raise RequestRefused(asked, self._on_refused, request)


class RateLimitAnswers:
    """Writes the answers to requests that a `RateLimit` refused, and the fields of the others; for `app.add_middleware`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        asked: list[tuple[tuple[str, str], ...]] = []
        scope[_FIELDS] = scope.get("app"), asked
        started = accepted = False

        async def adds(message: Message) -> None:
            nonlocal started, accepted
            accepted = accepted or message["type"] == "websocket.accept"
            if (not started and "start" in message["type"]) or message["type"] == "websocket.accept":
                started = True
                fields = tuple(field for each in asked for field in each)
                await adding(fields, send)(message)
            else:
                await send(message)

        try:
            await self.app(scope, receive, adds)
        except RequestRefused as refused:
            if accepted:  # by a dependency before the one that refused
                await send({"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": ""})
                return
            if started:
                raise
            await refuse(refused.refusal, refused.on_refused, refused.request, scope, receive, adds)
