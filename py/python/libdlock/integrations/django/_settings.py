"""What `settings.LIBDLOCK` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from .._clients import opened_lazily

KNOWN = ("URL", "OPTIONS", "LIMITERS", "MIDDLEWARE")
#: What the middleware takes, and as which argument.
MIDDLEWARE = {
    "LIMITER": "limiter",
    "KEY": "key",
    "COST": "cost",
    "SKIP": "skip",
    "NAME": "name",
    "ON_REFUSED": "on_refused",
}
_EXAMPLE = '{"URL": "redis://127.0.0.1:6379/0", "LIMITERS": {"default": {"rate": 100, "per": 60}}}'


@dataclass(frozen=True)
class Configuration:
    """The setting, with what it leaves out."""

    url: str
    options: Mapping[str, Any]
    limiters: Mapping[str, Mapping[str, Any]]
    middleware: Mapping[str, Any] | None


def configuration() -> Configuration:
    """The setting; `ImproperlyConfigured` says what is wrong with it."""
    given = getattr(settings, "LIBDLOCK", None)
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(
            f"settings.LIBDLOCK is not set, or no dict; set it, such as LIBDLOCK = {_EXAMPLE}"
        )
    _known(given, KNOWN, "settings.LIBDLOCK")
    url = given.get("URL")
    if not isinstance(url, str) or not url:
        raise ImproperlyConfigured('settings.LIBDLOCK has no "URL", such as "redis://127.0.0.1:6379/0"')
    limiters = _mapping(given, "LIMITERS")
    for name, options in limiters.items():
        if not isinstance(options, Mapping):
            kind = type(options).__name__
            raise ImproperlyConfigured(
                f"settings.LIBDLOCK: the limiter {name!r} must be a dict of options of rate_limiter, not {kind}"
            )
    middleware = given.get("MIDDLEWARE")
    if middleware is not None:
        middleware = _mapping(given, "MIDDLEWARE")
        _known(middleware, tuple(MIDDLEWARE), 'settings.LIBDLOCK["MIDDLEWARE"]')
    return Configuration(url, opened_lazily(url, _mapping(given, "OPTIONS")), limiters, middleware)


def options_of(name: str) -> Mapping[str, Any]:
    """The options of a limiter that the setting names."""
    limiters = configuration().limiters
    if name not in limiters:
        there = ", ".join(sorted(map(repr, limiters))) or "none"
        raise ImproperlyConfigured(f'settings.LIBDLOCK["LIMITERS"] has no limiter {name!r}; it has: {there}')
    return limiters[name]


def middleware_arguments() -> dict[str, Any]:
    """The arguments of the middleware. Functions may be named by their dotted path."""
    given = configuration().middleware
    if given is None or "LIMITER" not in given:
        raise ImproperlyConfigured(
            'RateLimitMiddleware needs a limiter: set LIBDLOCK["MIDDLEWARE"] = {"LIMITER": NAME}, with a name of '
            'LIBDLOCK["LIMITERS"], or take the middleware out of settings.MIDDLEWARE'
        )
    arguments = {MIDDLEWARE[word]: value for word, value in given.items()}
    for argument in ("key", "cost", "skip", "on_refused"):
        if isinstance(arguments.get(argument), str):
            arguments[argument] = _imported(arguments[argument])
    return arguments


def _imported(path: str) -> Any:
    try:
        return import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f'settings.LIBDLOCK["MIDDLEWARE"]: {error}') from error


def _mapping(given: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    value = given.get(word, {})
    if not isinstance(value, Mapping):
        raise ImproperlyConfigured(f"settings.LIBDLOCK[{word!r}] must be a dict, not {type(value).__name__}")
    return value


def _known(given: Mapping[str, Any], words: tuple[str, ...], where: str) -> None:
    for word in given:
        if word not in words:
            raise ImproperlyConfigured(
                f"{where} has an unknown entry {word!r}; it may have: {', '.join(words)}"
            )
