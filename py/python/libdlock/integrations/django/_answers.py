"""What a request of Django is answered."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from .._fields import Fields, address_key, joined
from .._refusal import CONTENT_TYPE, Refusal

OnRefused: TypeAlias = Callable[[HttpRequest, Refusal], Any]
"""Answers a refused request: returns a response, for async views also a coroutine of one."""


def address(request: HttpRequest) -> str | None:
    """The key of a request when none is given: its client's address, of IPv6 the first 64 bits."""
    return address_key(request.META.get("REMOTE_ADDR"))


def problem(refusal: Refusal) -> HttpResponse:
    """The answer of a refused request, where nobody writes another one."""
    return HttpResponse(refusal.body, status=refusal.status, content_type=CONTENT_TYPE)


def answer_given(response: Any) -> HttpResponseBase:
    """What a function `on_refused` returned."""
    if isinstance(response, HttpResponseBase):
        return response
    if inspect.iscoroutine(response):
        response.close()
    raise TypeError(f"on_refused must return a response, not {type(response).__name__}")


def with_fields(response: Any, fields: Fields) -> Any:
    """A response, with fields beside what it has of the same name. What is none is for Django to refuse."""
    if not isinstance(response, HttpResponseBase):
        return response
    for name, value in fields:
        response.headers[name] = joined(response.headers.get(name), name, value)
    return response
