"""A Django application of one file whose views are limited, each in its own way. See docs/python/frameworks.md.

gunicorn serves it: `gunicorn --config python:django_gunicorn django_app:application`.
"""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path
from libdlock.integrations.django import rate_limit

NAMES = ("demo", "together", "user", "cost", "faulty", "outer", "inner", "skip")
absent = os.environ.get("LIMIT_ABSENT", "fail")
burst = os.environ.get("LIMIT_BURST")
rate = {
    "rate": int(os.environ.get("LIMIT_TOKENS", "100")),
    "per": int(os.environ.get("LIMIT_PERIOD_MS", "60000")) / 1000,
    "burst": None if burst is None else int(burst),
    "algorithm": os.environ.get("LIMIT_ALGORITHM", "gcra"),
    "absent": absent,
    "share_of": 2 if absent == "local_share" else None,
}

settings.configure(
    SECRET_KEY="only for this example",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["libdlock.integrations.django"],
    LIBDLOCK={
        "URL": os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0"),
        "LIMITERS": dict.fromkeys(NAMES, rate),
    },
)


def together(request: HttpRequest) -> None:
    """Without a key, all requests share the limiter's tokens."""


def user(request: HttpRequest) -> str | None:
    return request.headers.get("X-User")


def cost(request: HttpRequest) -> int:
    return int(request.GET["n"])


def faulty(request: HttpRequest) -> str:
    raise LookupError("a key function that fails")


def is_exempt(request: HttpRequest) -> bool:
    return request.headers.get("X-Skip") == "yes"


def index(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("demo")
def limited(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("together", key=together)
def all_together(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("user", key=user)
def by_user(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("cost", key=together, cost=cost)
def by_cost(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("faulty", key=faulty)
def with_a_faulty_key(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("outer", key=together)
@rate_limit("inner", key=together)
def both(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@rate_limit("skip", skip=is_exempt)
def with_exemptions(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


urlpatterns = [
    path("", index),
    path("limited", limited),
    path("together", all_together),
    path("user", by_user),
    path("cost", by_cost),
    path("faulty", with_a_faulty_key),
    path("both", both),
    path("skip", with_exemptions),
]

application = get_wsgi_application()
