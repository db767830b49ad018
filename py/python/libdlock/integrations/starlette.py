"""Rate limits for Starlette: the middleware of `asgi`, whose functions are given a request of Starlette."""

from __future__ import annotations

from starlette.requests import HTTPConnection, Request

from ._limit import Cost, Key, Skip
from ._refusal import Refusal
from .asgi import OnRefused, Scope
from .asgi import RateLimitMiddleware as _RateLimitMiddleware
from .asgi import address as _address

__all__ = ["Cost", "Key", "OnRefused", "RateLimitMiddleware", "Refusal", "Skip", "address"]


def address(request: HTTPConnection) -> str | None:
    """The key of a request when none is given: its client's address, of IPv6 the first 64 bits."""
    return _address(request.scope)


class RateLimitMiddleware(_RateLimitMiddleware):
    """The same as `asgi.RateLimitMiddleware`; functions are given a `Request`, or the `HTTPConnection` of a WebSocket.

    For the whole application by `add_middleware`, for one route by its `middleware=[Middleware(RateLimitMiddleware, ...)]`.
    """

    def _request(self, scope: Scope) -> HTTPConnection:
        return Request(scope) if scope["type"] == "http" else HTTPConnection(scope)

    @staticmethod
    def _address(request: HTTPConnection) -> str | None:
        return address(request)
