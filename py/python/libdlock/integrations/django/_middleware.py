"""The middleware, for all requests of a project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest

from ._decorator import rate_limit
from ._settings import middleware_arguments, options_of


class RateLimitMiddleware:
    """Asks the limiter of `LIBDLOCK["MIDDLEWARE"]` for each request, under WSGI and ASGI."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        arguments = middleware_arguments()
        limiter = arguments.pop("limiter")
        if isinstance(limiter, str):
            options_of(limiter)  # now, and not with the first request
        try:
            self._limited = rate_limit(limiter, **arguments)(get_response)
        except TypeError as error:
            raise ImproperlyConfigured(f'settings.LIBDLOCK["MIDDLEWARE"]: {error}') from error
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._limited(request)
