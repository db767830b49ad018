"""The middleware, the decorator and the checks of Django."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, override_settings

import libdlock
from conftest import ROOT
from django_views import Classy, limited, made, plain, user
from libdlock import aio
from libdlock.integrations.django import address, aio_client, client, rate_limit
from redis_server import RedisServer

MIDDLEWARE = "libdlock.integrations.django.RateLimitMiddleware"


@pytest.fixture(autouse=True)
def configured(url: str, request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test has a server, or a name in memory, as new."""
    if url.startswith("redis"):
        server: RedisServer = request.getfixturevalue("server")
        with libdlock.connect(server.url) as opened:
            for name in ("two", "one"):
                for key in (None, "127.0.0.1", "ada", "grace"):
                    opened.rate_limiter(name, rate=1, per=1).reset(key=key)
    with override_settings(LIBDLOCK={**settings.LIBDLOCK, "URL": url}):
        yield


def test_a_view_is_limited() -> None:
    for remaining, reset in ((1, 1800), (0, 3600)):
        passed = Client().get("/limited")
        assert (passed.status_code, passed.content) == (200, b"ok")
        assert passed.headers["RateLimit-Policy"] == '"two";q=2;w=3600'
        assert passed.headers["RateLimit"] == f'"two";r={remaining};t={reset}'
    refused = Client().get("/limited", headers={"X-Forwarded-For": "192.0.2.1"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1800")
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert json.loads(refused.content)["detail"] == "rate limit reached; try again in 1800 s"
    assert Client().get("/limited", REMOTE_ADDR="").status_code == 200
    assert limited.__doc__ == "Is limited."


async def test_an_async_view_is_limited_by_the_same_tokens() -> None:
    assert [(await AsyncClient().get(f"/{path}")).status_code for path in ("limited_async", "limited")] == [
        200,
        200,
    ]
    refused = await AsyncClient().get("/limited_async")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1800")
    await (await aio_client()).close()


def test_an_async_view_under_wsgi() -> None:
    assert [Client().get("/limited_async").status_code for _ in range(3)] == [200, 200, 429]


async def test_functions_of_an_async_view() -> None:
    ada = {"X-User": "ada"}
    asked = [await AsyncClient().get("/by_user_async?n=2", headers=ada) for _ in range(2)]
    assert [answer.status_code for answer in asked] == [200, 418]
    assert asked[1].content == b"/by_user_async: rate limit reached; try again in 3600 s"
    assert (await AsyncClient().get("/by_user_async")).status_code == 200
    await (await aio_client()).close()


def test_key_skip_name_and_fields_of_the_view() -> None:
    ada = {"X-User": "ada"}
    passed = Client().get("/by_user", headers=ada)
    assert passed.headers["RateLimit"] == '"db";r=1, "t%C3%A4glich";r=1;t=1800'
    assert [Client().get("/by_user", headers=ada).status_code for _ in range(2)] == [200, 429]
    assert Client().get("/by_user", headers={"X-User": "grace"}).status_code == 200
    assert [Client().get("/by_user").status_code for _ in range(3)] == [200, 200, 429]
    skipped = Client().get("/by_user", headers={**ada, "X-Skip": "yes"})
    assert (skipped.status_code, skipped.headers.get("RateLimit-Policy")) == (200, None)
    bad = Client().get("/by_user", headers={"X-User": "secret" * 2000})
    assert (bad.status_code, b"secret" in bad.content) == (400, False)


def test_on_refused_answers() -> None:
    assert Client().get("/answers").status_code == 200
    refused = Client().get("/answers")
    assert (refused.status_code, refused.content) == (
        418,
        b"/answers: rate limit reached; try again in 3600 s",
    )
    assert refused.headers["RateLimit"] == '"one";r=0;t=3600'


def test_two_limits_of_a_view() -> None:
    assert Client().get("/both").headers["RateLimit-Policy"] == '"inner";q=1;w=3600, "two";q=2;w=3600'
    refused = Client().get("/both")
    assert (refused.status_code, refused.headers["RateLimit"].count(";r=0")) == (429, 2)
    assert Client().get("/both").headers["RateLimit-Policy"] == '"two";q=2;w=3600'


def test_head_and_options_are_limited_too() -> None:
    assert [Client().head("/limited").status_code, Client().options("/limited").status_code] == [200, 200]
    refused = Client().head("/limited")
    assert (refused.status_code, refused.content) == (429, b"")


def test_classes_are_limited_as_views() -> None:
    assert [Client().get("/classy").status_code for _ in range(2)] == [200, 429]


def test_a_decorated_method_makes_its_limiter_once() -> None:
    made.clear()
    statuses = [Client().get("/classy_method").status_code for _ in range(3)]
    opened = len(made)
    for each in made:
        each.close()
    assert (statuses, opened) == ([200, 200, 429], 1)


async def test_async_classes_are_limited_as_views() -> None:
    assert [(await AsyncClient().get("/classy_async")).status_code for _ in range(2)] == [200, 429]
    await (await aio_client()).close()


def test_what_is_no_view_says_so() -> None:
    with pytest.raises(TypeError, match=r"rate_limit decorates a view, not .*; of a class, its as_view\(\)"):
        rate_limit("two")(Classy)
    with pytest.raises(
        TypeError, match=r"decorates the dispatch of an async view; decorate what as_view\(\) returns"
    ):
        Client().get("/wrong_async")


def test_errors_of_functions_are_the_view_s() -> None:
    with pytest.raises(ZeroDivisionError):
        Client().get("/faulty")
    assert Client(raise_request_exception=False).get("/faulty").status_code == 500


def test_what_is_no_response_says_so() -> None:
    with pytest.raises(ValueError, match="returns_none didn't return an HttpResponse object"):
        Client().get("/returns_none")
    for path_, kind in (("/forgets", "NoneType"), ("/answers_later", "coroutine")):
        with pytest.raises(TypeError, match=f"on_refused must return a response, not {kind}"):
            Client().get(path_)


def test_a_limiter_that_no_setting_names() -> None:
    with pytest.raises(ImproperlyConfigured, match="has no limiter 'three'; it has: 'one', 'two'"):
        Client().get("/unknown")


def test_limiters_of_the_other_kind_are_refused(url: str, name: str) -> None:
    class Tasks(aio.RateLimiter):
        def __init__(self) -> None: ...

    async def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")

    with pytest.raises(TypeError, match=r"libdlock\.aio can only be asked from tasks"):
        rate_limit(Tasks())(plain)
    with libdlock.connect(url) as opened, pytest.raises(TypeError, match="would block the event loop"):
        rate_limit(opened.rate_limiter(name, rate=1, per=1))(view)


@override_settings(MIDDLEWARE=[MIDDLEWARE])
def test_the_middleware_limits_every_request() -> None:
    middleware = {"LIMITER": "two", "KEY": "django_views.user", "NAME": "all"}
    with override_settings(LIBDLOCK={**settings.LIBDLOCK, "MIDDLEWARE": middleware}):
        ada = {"X-User": "ada"}
        passed = Client().get("/missing", headers=ada)
        assert (passed.status_code, passed.headers["RateLimit"]) == (404, '"all";r=1;t=1800')
        stream = Client().get("/streams", headers=ada)
        assert b"".join(stream.streaming_content) == b"ab"  # type: ignore[attr-defined]
        assert stream.headers["RateLimit"] == '"all";r=0;t=3600'
        assert Client().get("/plain", headers=ada).status_code == 429
        assert Client().get("/plain").status_code == 200


@override_settings(MIDDLEWARE=[MIDDLEWARE])
async def test_the_middleware_limits_under_asgi() -> None:
    with override_settings(LIBDLOCK={**settings.LIBDLOCK, "MIDDLEWARE": {"LIMITER": "two", "KEY": user}}):
        assert [(await AsyncClient().get("/plain")).status_code for _ in range(3)] == [200, 200, 429]
        await (await aio_client()).close()


WRONG: list[tuple[Any, str, str]] = [
    (None, "libdlock.E001", "settings.LIBDLOCK is not set, or no dict; set it, such as LIBDLOCK = {"),
    ({}, "libdlock.E001", 'has no "URL", such as "redis://'),
    (
        {"URL": "memory://", "LIMITER": {}},
        "libdlock.E001",
        "unknown entry 'LIMITER'; it may have: URL, OPTIONS",
    ),
    ({"URL": "memory://", "OPTIONS": 7}, "libdlock.E001", "must be a dict, not int"),
    (
        {"URL": "memory://", "LIMITERS": {"a": 7}},
        "libdlock.E001",
        "'a' must be a dict of options of rate_limiter",
    ),
    ({"URL": "memory://", "LIMITERS": {"a": {"rate": 1}}}, "libdlock.E002", "takes rate and per, or rates"),
    ({"URL": "memory://", "LIMITERS": {"a": {"rate": 1, "per": 0}}}, "libdlock.E002", "1 us"),
    (
        {"URL": "memory://", "LIMITERS": {"a": {"rats": 1}}},
        "libdlock.E002",
        "unexpected keyword argument 'rats'",
    ),
]


@pytest.mark.parametrize(("setting", "number", "message"), WRONG)
def test_the_checks_find_what_is_wrong(setting: Any, number: str, message: str) -> None:
    with override_settings(LIBDLOCK=setting):
        (found,) = checks.run_checks()
    assert (found.id, found.level) == (number, checks.ERROR)
    assert message in found.msg


def test_the_checks_of_the_middleware() -> None:
    assert checks.run_checks() == []
    good = {**settings.LIBDLOCK, "MIDDLEWARE": {"LIMITER": "two"}}
    with override_settings(LIBDLOCK=good):
        (found,) = checks.run_checks()
        assert (found.id, found.level) == ("libdlock.W001", checks.WARNING)
        with override_settings(MIDDLEWARE=[MIDDLEWARE]):
            assert checks.run_checks() == []
    for wrong in ({"LIMITER": "three"}, {}, {"LIMITER": "two", "KEY": "no.such.function"}):
        with override_settings(LIBDLOCK={**good, "MIDDLEWARE": wrong}, MIDDLEWARE=[MIDDLEWARE]):
            (found,) = checks.run_checks()
            assert found.id == "libdlock.E003"
            with pytest.raises(ImproperlyConfigured):
                Client().get("/plain")


@override_settings(MIDDLEWARE=[MIDDLEWARE])
def test_a_wrong_argument_of_the_middleware_says_so() -> None:
    with (
        override_settings(LIBDLOCK={**settings.LIBDLOCK, "MIDDLEWARE": {"LIMITER": "two", "COST": "1"}}),
        pytest.raises(ImproperlyConfigured, match=r'settings\.LIBDLOCK\["MIDDLEWARE"\]'),
    ):
        Client().get("/plain")


def test_the_clients_are_those_of_the_process() -> None:
    first = client()
    assert client() is first
    child = os.fork()
    if child == 0:
        try:
            mine = client()
            os._exit(0 if mine is not first and mine.rate_limiter("fork", rate=1, per=1).try_acquire() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    first.close()
    assert client() is not first


async def test_a_child_of_a_fork_may_override_the_setting() -> None:
    mine = await aio_client()
    child = os.fork()
    if child == 0:
        try:
            with override_settings(LIBDLOCK={**settings.LIBDLOCK, "URL": "memory://"}):
                os._exit(0 if client().lock("stock").acquire(timeout=5) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    await mine.close()


def test_an_address_is_that_of_the_connection() -> None:
    request = HttpRequest()
    assert address(request) is None
    request.META = {"REMOTE_ADDR": "2001:db8::1", "HTTP_X_FORWARDED_FOR": "192.0.2.1"}
    assert address(request) == "2001:db8::"


def test_without_the_setting_a_program_is_told_at_its_start() -> None:
    program = """
import django
from django.conf import settings
settings.configure(MIDDLEWARE=["libdlock.integrations.django.RateLimitMiddleware"], ROOT_URLCONF=__name__)
django.setup()
from django.core.wsgi import get_wsgi_application
get_wsgi_application()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=ROOT / "py/tests"
    )
    assert "ImproperlyConfigured: settings.LIBDLOCK is not set" in done.stderr
