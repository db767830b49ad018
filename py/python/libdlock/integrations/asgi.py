"""Rate limits for applications of ASGI: a middleware that needs no framework.

`starlette` and `fastapi` beside it give key functions a request in place of the scope.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from .. import aio
from ._fields import Fields, address_key, joined
from ._limit import Cost, Key, Skip, TaskLimit, awaited
from ._refusal import CONTENT_TYPE, Refusal

__all__ = ["Cost", "Key", "OnRefused", "RateLimitMiddleware", "Refusal", "Skip", "address"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OnRefused: TypeAlias = Callable[[Any, Refusal], Any]
"""Answers a refused request: returns an ASGI application, such as a response of Starlette, or a coroutine of one."""
Limiter: TypeAlias = aio.RateLimiter | Callable[[], aio.RateLimiter | Awaitable[aio.RateLimiter]]
"""A limiter, or a function that makes one at the first request: an application is made before its event loop runs."""

#: The messages with which an answer begins.
_STARTS = {"http.response.start", "websocket.accept", "websocket.http.response.start"}
#: How a refused WebSocket is closed where no answer can be sent: 1013, try again later.
TRY_AGAIN_LATER = 1013


def address(scope: Scope) -> str | None:
    """The key of a request when none is given: its client's address, of IPv6 the first 64 bits."""
    client = scope.get("client")
    return address_key(client[0]) if client else None


class RateLimitMiddleware:
    """Asks a limiter for each request and each WebSocket, and answers those that it refuses.

    `key`, `cost` and `skip` are functions of the request, here its scope, and may be coroutine functions. `key` says whose
    tokens it needs (`None`: the limiter's own; by default those of the client's address), `cost` how many, `skip` whether it
    needs none. `name` is the limiter's name in the fields of the answer, in place of the one on the server.
    `on_refused(request, refusal)` answers in place of a problem (RFC 9457).
    """

    def __init__(
        self,
        app: ASGIApp,
        limiter: Limiter,
        *,
        key: Key | None = None,
        cost: Cost = 1,
        skip: Skip | None = None,
        name: str | None = None,
        on_refused: OnRefused | None = None,
    ) -> None:
        self.app = app
        self._limit = TaskLimit(limiter, key=key, by_address=self._address, cost=cost, skip=skip, name=name)
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):  # such as the lifespan
            await self.app(scope, receive, send)
            return
        request = self._request(scope)
        asked = await self._limit.ask(request)
        adds = adding(asked.fields, send) if asked.fields else send
        if isinstance(asked, Refusal):
            await refuse(asked, self._on_refused, request, scope, receive, adds)
        else:
            await self.app(scope, receive, adds)

    def _request(self, scope: Scope) -> Any:
        """What functions are given."""
        return scope

    @staticmethod
    def _address(request: Any) -> str | None:
        return address(request)


async def refuse(
    refusal: Refusal, on_refused: OnRefused | None, request: Any, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answers a request that was refused. A WebSocket is refused before it is accepted."""
    if scope["type"] == "websocket":
        if (await receive())["type"] != "websocket.connect":
            return
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": ""})
            return
        scope, send = {**scope, "type": "http", "method": "GET"}, _denying(send)
    answer = problem(refusal) if on_refused is None else await awaited(on_refused(request, refusal))
    if not callable(answer):
        kind = type(answer).__name__
        raise TypeError(f"on_refused must return an ASGI application, such as a response, not {kind}")
    await answer(scope, receive, send)


def _denying(send: Send) -> Send:
    """Sends an answer of HTTP in place of the acceptance of a WebSocket."""

    async def denies(message: Message) -> None:
        await send({**message, "type": f"websocket.{message['type']}"})

    return denies


def problem(refusal: Refusal) -> ASGIApp:
    """The answer of a refused request, where nobody writes another one."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        body = refusal.body
        headers = [(b"content-type", CONTENT_TYPE.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    return answer


def adding(fields: Fields, send: Send) -> Send:
    """Sends what it is given, with these fields in the head of the answer."""

    async def adds(message: Message) -> None:
        if message["type"] in _STARTS:
            message = {**message, "headers": with_fields(message.get("headers") or (), fields)}
        await send(message)

    return adds


def with_fields(headers: Any, fields: Fields) -> list[tuple[bytes, bytes]]:
    """Headers, and fields beside what they have of the same name."""
    all_of_it = [(bytes(name), bytes(value)) for name, value in headers]
    for name, value in fields:
        wanted = name.lower().encode()
        places = [at for at, (present, _) in enumerate(all_of_it) if present.lower() == wanted]
        if places:
            at = places[-1]
            present, old = all_of_it[at]
            all_of_it[at] = (present, joined(old.decode("latin-1"), name, value).encode("latin-1"))
        else:
            all_of_it.append((wanted, value.encode("ascii")))
    return all_of_it
