"""Rate limits for Flask: an extension that has the client, and a decorator for views and blueprints."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import flask
from flask.sansio.scaffold import Scaffold
from werkzeug.exceptions import default_exceptions

from .. import Client, RateLimiter, connect
from ._clients import OfProcess, opened_lazily
from ._fields import Fields, address_key, joined
from ._limit import BlockingLimit, Cost, Key, Skip
from ._refusal import CONTENT_TYPE, Granted, Refusal

__all__ = ["Cost", "Key", "Libdlock", "OnRefused", "Refusal", "Skip", "address"]

OnRefused: TypeAlias = Callable[[Refusal], Any]
"""Answers a refused request: returns what a view may return."""
Limiter: TypeAlias = RateLimiter | Callable[[], RateLimiter]
"""A limiter, or a function that makes one at the first request."""

_L = TypeVar("_L", bound=Callable[..., Any] | Scaffold)


def address() -> str | None:
    """The key of a request when none is given: its client's address, of IPv6 the first 64 bits."""
    return address_key(flask.request.remote_addr)


class _State(OfProcess):
    """What an application has: its client, and the limiters that were made of it."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self._url = url
        self._options = options
        self.limiters: dict[Maker, RateLimiter] = {}

    def client(self) -> Client:
        client = self.current()
        if client is None:
            client = self.keep(connect(self._url, **self._options))
        return client


class Maker:
    """Makes a limiter for each application that uses it, at its first request."""

    keeps = True

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self._name = name
        self._options = options

    def __call__(self) -> RateLimiter:
        state = _state()
        client = state.client()
        made = state.limiters.get(self)
        if made is None or made._client is not client:
            made = state.limiters[self] = client.rate_limiter(self._name, **self._options)
        return made


class Libdlock:
    """The extension: `limits = Libdlock(app)`, or `Libdlock()` and later `limits.init_app(app)`.

    `app.config["LIBDLOCK_URL"]` says where the server is, `LIBDLOCK_OPTIONS` has options of `libdlock.connect`. The client
    is opened by the first request that needs it, in each process, so an application may be made before its server forks.
    """

    def __init__(self, app: flask.Flask | None = None) -> None:
        if app is not None:
            self.init_app(app)

    def init_app(self, app: flask.Flask) -> None:
        """Reads the configuration of an application. Opens nothing."""
        url = app.config.get("LIBDLOCK_URL")
        if not isinstance(url, str) or not url:
            raise RuntimeError(
                "LIBDLOCK_URL is not set: before the application gets its Libdlock, "
                'set app.config["LIBDLOCK_URL"], such as "redis://127.0.0.1:6379/0"'
            )
        app.extensions["libdlock"] = _State(url, opened_lazily(url, app.config.get("LIBDLOCK_OPTIONS")))

    @property
    def client(self) -> Client:
        """The client of the current application in this process, for locks and all else."""
        return _state().client()

    def close(self) -> None:
        """Closes the client of the current application in this process. One that is asked for again is a new one."""
        _state().close()

    def rate_limiter(self, name: str, **options: Any) -> Callable[[], RateLimiter]:
        """A limiter to be, with the arguments of `Client.rate_limiter`: made by the first request that needs it."""
        return Maker(name, options)

    def limit(
        self,
        limiter: Limiter,
        *,
        key: Key | None = None,
        cost: Cost = 1,
        skip: Skip | None = None,
        name: str | None = None,
        on_refused: OnRefused | None = None,
    ) -> Callable[[_L], _L]:
        """A decorator of a view, below its route, that asks a limiter; also called with a blueprint, or an application.

        `key`, `cost` and `skip` are functions without arguments that look at `flask.request`. `key` says whose tokens a
        request needs (`None`: the limiter's own; by default those of the client's address), `cost` how many, `skip` whether
        it needs none. `name` is the limiter's name in the fields of the answer, in place of the one on the server.
        `on_refused(refusal)` answers in place of the application's error handlers, as of `flask.abort(429)`, and without one
        of these a problem (RFC 9457).
        """
        limit = BlockingLimit(limiter, key=key, by_address=address, cost=cost, skip=skip, name=name)

        def refused() -> Any:
            """The answer to a request that is refused, `None` for one that is not."""
            asked = limit.ask()
            if asked.fields:
                flask.after_this_request(functools.partial(_with_fields, asked.fields))
            if isinstance(asked, Granted):
                return None
            if on_refused is None:
                who, answer = "an error handler", _problem(asked)
            else:
                who, answer = "on_refused", flask.current_app.ensure_sync(on_refused)(asked)
            if answer is None:  # Flask would go on to the view
                raise TypeError(f"{who} must return what a view may return, not None")
            return answer

        def decorate(limited: Any) -> Any:
            if isinstance(limited, Scaffold):
                limited.before_request(refused)
                return limited
            if isinstance(limited, type):
                raise TypeError(
                    f"limit decorates a view, not {limited!r}; of a class, its as_view() or its list decorators"
                )
            if not callable(limited):
                raise TypeError(f"limit decorates a view or a blueprint, not {type(limited).__name__}")

            @functools.wraps(limited)
            def view(*args: Any, **kwargs: Any) -> Any:
                answer = refused()
                return flask.current_app.ensure_sync(limited)(*args, **kwargs) if answer is None else answer

            return view

        return decorate


def _state() -> _State:
    state = flask.current_app.extensions.get("libdlock")
    if not isinstance(state, _State):
        raise RuntimeError(
            f"the application {flask.current_app.name!r} has no Libdlock: call init_app(app) first"
        )
    return state


def _problem(refusal: Refusal) -> Any:
    """A problem, unless the application has an error handler for it."""
    problem = flask.Response(refusal.body, refusal.status, content_type=CONTENT_TYPE)
    error = default_exceptions[refusal.status](refusal.detail, response=problem)
    answer = flask.current_app.handle_http_exception(error)
    return problem if answer is error else answer


def _with_fields(fields: Fields, response: flask.Response) -> flask.Response:
    for name, value in fields:
        present = ", ".join(response.headers.getlist(name))
        response.headers[name] = joined(present, name, value)
    return response
