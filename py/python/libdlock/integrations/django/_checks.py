"""The system checks: what is wrong with `settings.LIBDLOCK`, before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured

from ... import DlockError, connect
from ._settings import configuration, middleware_arguments, options_of

_MIDDLEWARE = "libdlock.integrations.django.RateLimitMiddleware"


def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Reads all of the setting, and has the core look at each limiter. Connects to no server."""
    try:
        given = configuration()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="libdlock.E001")]
    found: list[CheckMessage] = []
    with connect("memory://") as client:
        for name, options in given.limiters.items():
            try:
                client.rate_limiter(name, **options)
            except (DlockError, TypeError) as error:
                message = f'settings.LIBDLOCK["LIMITERS"][{name!r}]: {error}'
                found.append(Error(message, id="libdlock.E002"))
    if _MIDDLEWARE in settings.MIDDLEWARE:
        try:
            limiter = middleware_arguments()["limiter"]
            if isinstance(limiter, str):
                options_of(limiter)
        except ImproperlyConfigured as error:
            found.append(Error(str(error), id="libdlock.E003"))
    elif given.middleware is not None:
        message = f'settings.LIBDLOCK["MIDDLEWARE"] is set, and settings.MIDDLEWARE has no {_MIDDLEWARE}'
        found.append(Warning(message, id="libdlock.W001"))
    return found
