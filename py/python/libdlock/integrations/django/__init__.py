"""Rate limits for Django: a middleware, a decorator of views, and the clients that `settings.LIBDLOCK` describes.

`"libdlock.integrations.django"` in `INSTALLED_APPS` adds the system checks.
"""

from .._limit import Cost, Key, Skip
from .._refusal import Refusal
from ._answers import OnRefused, address
from ._clients import aio_client, client
from ._decorator import rate_limit
from ._middleware import RateLimitMiddleware

__all__ = [
    "Cost",
    "Key",
    "OnRefused",
    "RateLimitMiddleware",
    "Refusal",
    "Skip",
    "address",
    "aio_client",
    "client",
    "rate_limit",
]
