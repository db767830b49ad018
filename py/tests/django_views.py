"""A Django project for the tests: its settings, its limited views, its URLs. To be imported before what needs settings."""

from __future__ import annotations

from typing import Any

import django
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View

import libdlock

settings.configure(
    SECRET_KEY="only for tests",
    ALLOWED_HOSTS=["testserver"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["libdlock.integrations.django"],
    MIDDLEWARE=[],
    LIBDLOCK={
        "URL": "memory://",
        "LIMITERS": {"two": {"rate": 2, "per": 3600}, "one": {"rate": 1, "per": 3600}},
    },
)
django.setup()

# What follows needs settings.
from libdlock.integrations.django import Refusal, rate_limit  # noqa: E402


def user(request: HttpRequest) -> str | None:
    return request.headers.get("X-User")


def refused_here(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    return HttpResponse(f"{request.path}: {refusal.detail}", status=418)


@rate_limit("two")
def limited(request: HttpRequest) -> HttpResponse:
    """Is limited."""
    return HttpResponse("ok")


@rate_limit("two")
async def limited_async(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


async def user_async(request: HttpRequest) -> str | None:
    return user(request)


@rate_limit(
    "two", key=user_async, cost=lambda request: int(request.GET.get("n", "1")), on_refused=refused_here
)
async def by_user_async(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("two", key=user, skip=lambda request: "X-Skip" in request.headers, name="täglich")
def by_user(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", headers={"RateLimit": '"db";r=1'})


@rate_limit("one", on_refused=refused_here)
def answers(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("two")
@rate_limit("one", name="inner")
def both(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


async def answers_later(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    return HttpResponse("later", status=418)


def forgets(request: HttpRequest, refusal: Refusal) -> None:
    pass


@rate_limit("two")
def returns_none(request: HttpRequest) -> Any:
    pass


@rate_limit("two", key=lambda request: 1 / 0)
def faulty(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("three")
def unknown(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


class Classy(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


class ClassyAsync(View):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


made: list[libdlock.Client] = []


def makes() -> libdlock.RateLimiter:
    made.append(libdlock.connect("memory://"))
    return made[-1].rate_limiter("made", rate=2, per=3600)


class ClassyMethod(View):
    @method_decorator(rate_limit(makes))
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


@method_decorator(rate_limit("one"), name="dispatch")
class WrongAsync(ClassyAsync):
    pass


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


def missing(request: HttpRequest) -> HttpResponse:
    raise Http404


def streams(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(iter([b"a", b"b"]))


urlpatterns = [
    path("limited", limited),
    path("limited_async", limited_async),
    path("by_user", by_user),
    path("by_user_async", by_user_async),
    path("answers", answers),
    path("both", both),
    path("faulty", faulty),
    path("returns_none", returns_none),
    path("forgets", rate_limit("one", cost=2, on_refused=forgets)(limited)),
    path("answers_later", rate_limit("one", cost=2, on_refused=answers_later)(limited)),
    path("unknown", unknown),
    path("classy", rate_limit("one")(Classy.as_view())),
    path("classy_async", rate_limit("one")(ClassyAsync.as_view())),
    path("classy_method", ClassyMethod.as_view()),
    path("wrong_async", WrongAsync.as_view()),
    path("plain", plain),
    path("missing", missing),
    path("streams", streams),
]
