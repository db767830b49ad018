"""The extension of Flask."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import flask
import flask.views
import pytest
from werkzeug.exceptions import HTTPException

import libdlock
from libdlock import aio
from libdlock.integrations.flask import Libdlock, Refusal
from redis_server import RedisServer

limits = Libdlock()


@pytest.fixture
def app(url: str) -> Iterator[flask.Flask]:
    app = flask.Flask("shop")
    app.config.update(LIBDLOCK_URL=url, TESTING=False, PROPAGATE_EXCEPTIONS=False)
    limits.init_app(app)
    yield app
    with app.app_context():
        limits.close()


def get(app: flask.Flask, path: str = "/", **options: Any) -> Any:
    return app.test_client().get(path, **options)


def test_a_view_is_limited(app: flask.Flask, name: str) -> None:
    @app.get("/<int:number>")
    @limits.limit(limits.rate_limiter(name, rate=2, per=3600))
    def view(number: int) -> str:
        return str(number)

    for remaining, reset in ((1, 1800), (0, 3600)):
        passed = get(app, "/7")
        assert (passed.status_code, passed.data) == (200, b"7")
        assert passed.headers["RateLimit-Policy"] == f'"{name}";q=2;w=3600'
        assert passed.headers["RateLimit"] == f'"{name}";r={remaining};t={reset}'
    refused = get(app, "/7", headers={"X-Forwarded-For": "192.0.2.1"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1800")
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert json.loads(refused.data)["detail"] == "rate limit reached; try again in 1800 s"
    assert get(app, "/7", environ_base={"REMOTE_ADDR": "192.0.2.8"}).status_code == 200
    assert view.__name__ == "view"


def test_head_and_options(app: flask.Flask, name: str) -> None:
    app.get("/")(limits.limit(limits.rate_limiter(name, rate=1, per=3600), cost=2)(lambda: "ok"))
    refused = app.test_client().head("/")
    assert (refused.status_code, refused.data) == (429, b"")
    assert app.test_client().options("/").status_code == 200  # Flask answers it without the view


def test_key_cost_and_skip_look_at_the_request(app: flask.Flask, name: str) -> None:
    limiter = limits.rate_limiter(name, rate=3, per=3600)
    app.get("/")(
        limits.limit(
            limiter,
            key=lambda: flask.request.headers.get("X-User"),
            cost=lambda: int(flask.request.args.get("n", "1")),
            skip=lambda: flask.request.headers.get("X-Skip") == "yes",
        )(lambda: "ok")
    )
    ada = {"X-User": "ada"}
    assert [get(app, "/?n=2", headers=ada).status_code for _ in range(2)] == [200, 429]
    assert get(app, headers={"X-User": "grace"}).status_code == 200
    assert [get(app).status_code, get(app, headers={"X-User": ""}).status_code] == [200, 200]
    skipped = get(app, "/?n=9", headers={"X-Skip": "yes"})
    assert skipped.status_code == 200
    assert "RateLimit-Policy" not in skipped.headers
    bad = get(app, headers={"X-User": "secret" * 2000})
    assert (bad.status_code, b"secret" in bad.data) == (400, False)
    assert get(app, headers={"X-User": "\xe4\xdf"}).status_code == 200
    assert get(app, "/?n=-1").status_code == 500
    with app.app_context():
        assert limiter().peek().remaining == 1


def test_a_key_function_that_fails_is_the_application_s_error(app: flask.Flask, name: str) -> None:
    limiter = limits.rate_limiter(name, rate=3, per=3600)
    ran = []
    app.get("/raises")(limits.limit(limiter, key=lambda: 1 / 0)(lambda: ran.append(1)))  # type: ignore[type-var]
    app.add_url_rule("/int", "int", limits.limit(limiter, key=lambda: 7)(lambda: "ok"))
    assert get(app, "/raises").status_code == 500
    app.config["PROPAGATE_EXCEPTIONS"] = True
    with pytest.raises(TypeError, match=r"the key function .*<lambda> must return str or None, not int"):
        get(app, "/int")
    assert not ran


def test_coroutine_functions_are_refused_and_nothing_is_exempt(app: flask.Flask, name: str) -> None:
    async def yes() -> bool:
        return False

    limiter = limits.rate_limiter(name, rate=3, per=3600)
    app.config["PROPAGATE_EXCEPTIONS"] = True
    for what in ("key", "cost", "skip"):
        options: dict[str, Any] = {what: yes}
        app.add_url_rule(f"/{what}", what, limits.limit(limiter, **options)(lambda: "ok"))
    for what in ("key", "cost", "skip"):
        with pytest.raises(
            TypeError, match=f"{what} must be a function that returns its answer, not a coroutine"
        ):
            get(app, f"/{what}")


def test_blueprints_and_applications_are_limited(app: flask.Flask, name: str) -> None:
    blueprint = flask.Blueprint("api", __name__)
    blueprint.get("/a")(lambda: "a")
    blueprint.add_url_rule("/b", "b", lambda: flask.abort(404))
    limited = limits.limit(limits.rate_limiter(name, rate=2, per=3600))(blueprint)
    assert limited is blueprint
    app.register_blueprint(blueprint)
    app.add_url_rule("/free", "free", lambda: "free")
    limits.limit(limits.rate_limiter(f"{name}-all", rate=6, per=3600))(app)
    paths = ("/a", "/b", "/a", "/b", "/free", "/nowhere", "/free")
    assert [get(app, path).status_code for path in paths] == [200, 404, 429, 429, 200, 404, 429]


def test_every_answer_has_the_fields(app: flask.Flask, name: str) -> None:
    limit = limits.limit(limits.rate_limiter(name, rate=20, per=3600))

    @app.get("/own")
    @limit
    def own() -> tuple[str, int, dict[str, str]]:
        return "own", 503, {"RateLimit": '"db";r=1', "Retry-After": "9"}

    @app.get("/missing")
    @limit
    def missing() -> str:
        flask.abort(404)

    @app.get("/breaks")
    @limit
    def breaks() -> str:
        raise KeyError("mine")

    @app.get("/stream")
    @limit
    def stream() -> flask.Response:
        return flask.Response(part for part in ("a", "b"))

    @app.get("/async")
    @limit
    async def coroutine() -> str:
        return "later"

    for path, status in (
        ("/own", 503),
        ("/missing", 404),
        ("/breaks", 500),
        ("/stream", 200),
        ("/async", 200),
    ):
        answer = get(app, path)
        assert answer.status_code == status
        assert answer.headers.getlist("RateLimit-Policy") == [f'"{name}";q=20;w=3600'], path
    owns = get(app, "/own").headers
    assert owns.getlist("RateLimit")[0].startswith(f'"db";r=1, "{name}";r=')
    assert owns.getlist("Retry-After") == ["9"]


def test_two_limits_of_a_view_are_in_order(app: flask.Flask, name: str) -> None:
    outer = limits.limit(limits.rate_limiter(f"{name}-o", rate=2, per=3600))
    inner = limits.limit(limits.rate_limiter(f"{name}-i", rate=1, per=3600), name="inner")
    app.get("/")(outer(inner(lambda: "ok")))
    assert get(app).headers["RateLimit-Policy"] == f'"{name}-o";q=2;w=3600, "inner";q=1;w=3600'
    refused = get(app)
    assert (refused.status_code, refused.headers["RateLimit"].count(";r=0")) == (429, 2)
    assert get(app).headers["RateLimit-Policy"] == f'"{name}-o";q=2;w=3600'


def test_on_refused_returns_what_a_view_may(app: flask.Flask, name: str) -> None:
    limiter = limits.rate_limiter(name, rate=1, per=3600)

    def answer(refusal: Refusal) -> tuple[dict[str, str], int]:
        return {"error": refusal.detail}, 418

    app.get("/")(limits.limit(limiter, cost=2, on_refused=answer)(lambda: "ok"))
    refused = get(app)
    assert (refused.status_code, refused.json) == (
        418,
        {"error": "rate limit reached; this request can never be granted"},
    )
    assert refused.headers["RateLimit"] == f'"{name}";r=1;t=0'


def test_error_handlers_are_asked_as_of_an_abort(app: flask.Flask, name: str) -> None:
    limiter = limits.rate_limiter(name, rate=1, per=3600)
    blueprint = flask.Blueprint("api", __name__)
    blueprint.add_url_rule("/blueprint", "view", lambda: "ok")
    blueprint.errorhandler(429)(lambda error: ({"of": "blueprint"}, error.code))
    app.register_blueprint(limits.limit(limiter, cost=2)(blueprint))
    app.get("/view")(limits.limit(limiter, cost=2)(lambda: "ok"))
    app.add_url_rule(
        "/own", "own", limits.limit(limiter, cost=2, on_refused=lambda _: ("own", 418))(lambda: "ok")
    )

    @app.errorhandler(429)
    async def refused(error: HTTPException) -> tuple[str, int]:
        return f"sorry: {error.description}", 429

    answer = get(app, "/view")
    assert (answer.status_code, answer.text) == (
        429,
        "sorry: rate limit reached; this request can never be granted",
    )
    assert answer.headers["RateLimit"] == f'"{name}";r=1;t=0'
    assert get(app, "/blueprint").json == {"of": "blueprint"}
    assert get(app, "/own").status_code == 418


def test_an_error_handler_may_answer_with_the_problem(app: flask.Flask, name: str) -> None:
    limiter = limits.rate_limiter(name, rate=1, per=3600)
    app.get("/")(limits.limit(limiter, key=lambda: "a" * 10_000)(lambda: "ok"))

    @app.errorhandler(HTTPException)
    def seen(error: HTTPException) -> Any:
        problem = error.get_response()
        problem.headers["X-Seen"] = str(error.code)
        return problem

    answer = get(app)
    assert (answer.status_code, answer.headers["X-Seen"], answer.json["status"]) == (400, "400", 400)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_an_error_handler_without_an_answer_lets_nothing_through(app: flask.Flask, name: str) -> None:
    limit = limits.limit(limits.rate_limiter(name, rate=1, per=3600), cost=2)
    blueprint = flask.Blueprint("api", __name__)
    blueprint.add_url_rule("/", "view", lambda: "ok")
    app.register_blueprint(limit(blueprint))
    app.errorhandler(429)(lambda error: None)  # type: ignore[type-var]
    assert get(app).status_code == 500
    app.config["PROPAGATE_EXCEPTIONS"] = True
    with pytest.raises(TypeError, match="an error handler must return what a view may return, not None"):
        get(app)


def test_on_refused_without_an_answer_lets_nothing_through(app: flask.Flask, name: str) -> None:
    def forgets(refusal: Refusal) -> None:
        pass

    def view() -> str:
        ran.append(flask.request.path)
        return "ok"

    ran: list[str] = []
    limit = limits.limit(limits.rate_limiter(name, rate=1, per=3600), cost=2, on_refused=forgets)
    blueprint = flask.Blueprint("api", __name__)
    blueprint.add_url_rule("/blueprint", "view", view)
    app.register_blueprint(limit(blueprint))
    app.add_url_rule("/view", "view", limit(view))
    assert [get(app, path).status_code for path in ("/view", "/blueprint")] == [500, 500]
    assert not ran
    app.config["PROPAGATE_EXCEPTIONS"] = True
    with pytest.raises(TypeError, match="on_refused must return what a view may return, not None"):
        get(app, "/view")


def test_classes_are_limited_by_their_decorators(app: flask.Flask, name: str) -> None:
    limit = limits.limit(limits.rate_limiter(name, rate=1, per=3600))

    class Orders(flask.views.MethodView):
        decorators = [limit]  # noqa: RUF012

        def get(self) -> str:
            return "ok"

    app.add_url_rule("/", view_func=Orders.as_view("orders"))
    assert [get(app).status_code for _ in range(2)] == [200, 429]
    with pytest.raises(TypeError, match=r"limit decorates a view, not .*; of a class, its as_view\(\)"):
        limit(Orders)


def test_a_limiter_may_be_an_object_and_of_threads_alone(app: flask.Flask, url: str, name: str) -> None:
    with libdlock.connect(url) as client:
        app.get("/")(limits.limit(client.rate_limiter(name, rate=1, per=3600))(lambda: "ok"))
        assert [get(app).status_code for _ in range(2)] == [200, 429]
    assert get(app).status_code == 503  # the program has closed its client

    class Tasks(aio.RateLimiter):
        def __init__(self) -> None: ...

    with pytest.raises(
        TypeError, match=r"RateLimiter of libdlock: a limiter of libdlock\.aio can only be asked from tasks"
    ):
        limits.limit(Tasks())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="decorates a view or a blueprint, not str"):
        limits.limit(limits.rate_limiter(name, rate=1, per=1))("view")  # type: ignore[type-var]


def test_what_is_not_configured_says_what_to_do(name: str) -> None:
    app = flask.Flask("bare")
    app.config["PROPAGATE_EXCEPTIONS"] = True
    with pytest.raises(RuntimeError, match=r'set app\.config\["LIBDLOCK_URL"\], such as "redis://'):
        Libdlock(app)
    app.get("/")(limits.limit(limits.rate_limiter(name, rate=1, per=1))(lambda: "ok"))
    with pytest.raises(RuntimeError, match=r"'bare' has no Libdlock: call init_app\(app\) first"):
        get(app)


def test_each_application_has_its_own_client(name: str) -> None:
    limiter = limits.rate_limiter(name, rate=1, per=3600)
    apps = []
    for number in range(2):
        app = flask.Flask(f"app{number}")
        app.config["LIBDLOCK_URL"] = f"memory://{name}-{number}"
        limits.init_app(app)
        app.get("/")(limits.limit(limiter)(lambda: "ok"))
        apps.append(app)
    assert [get(app).status_code for app in apps * 2] == [200, 200, 429, 429]
    for app in apps:
        with app.app_context():
            first = limits.client
            assert limits.client is first
            limits.close()
            assert first.closed
            assert limits.client is not first
            assert get(app).status_code in (200, 429)
            limits.close()


def test_the_server_may_be_away_at_first(name: str) -> None:
    app = flask.Flask("early")
    app.config["LIBDLOCK_URL"] = "redis://127.0.0.1:1?operation_timeout=200ms"
    early = Libdlock(app)
    for absent in ("fail", "allow", "deny"):
        view = early.limit(early.rate_limiter(f"{name}-{absent}", rate=1, per=3600, absent=absent))(
            lambda: "ok"
        )
        app.add_url_rule(f"/{absent}", absent, view)
    for absent, status in (("fail", 503), ("allow", 200), ("deny", 429)):
        answer = get(app, f"/{absent}")
        assert answer.status_code == status
        assert answer.headers["RateLimit-Policy"] == f'"{name}-{absent}";q=1;w=3600'
        assert "RateLimit" not in answer.headers
    with app.app_context():
        early.close()


def test_first_requests_at_once_open_one_client(server: RedisServer, name: str) -> None:
    app = flask.Flask("busy")
    app.config["LIBDLOCK_URL"] = server.url
    busy = Libdlock(app)
    app.get("/")(busy.limit(busy.rate_limiter(name, rate=5, per=3600))(lambda: "ok"))
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(get(app).status_code)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(statuses) == [200] * 5 + [429] * 7
    with app.app_context():
        busy.close()


def test_a_child_of_a_fork_opens_a_client_of_its_own(server: RedisServer, name: str) -> None:
    app = flask.Flask("forks")
    app.config["LIBDLOCK_URL"] = server.url
    forks = Libdlock(app)
    app.get("/")(forks.limit(forks.rate_limiter(name, rate=2, per=3600))(lambda: "ok"))
    assert get(app).status_code == 200
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if [get(app).status_code for _ in range(2)] == [200, 429] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert get(app).status_code == 429
    with app.app_context():
        forks.close()


def test_two_rates_of_one_name_are_told(
    app: flask.Flask, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "libdlock"):
        for rate in (2, 3):
            view = limits.limit(limits.rate_limiter(name, rate=rate, per=3600))(lambda: "ok")
            app.add_url_rule(f"/{rate}", str(rate), view)
        assert [get(app, f"/{rate}").status_code for rate in (2, 3)] == [200, 200]
        deadline = threading.Event()
        for _ in range(500):
            if caplog.records:
                break
            deadline.wait(0.01)  # events come on a thread of their own
    (told,) = caplog.records
    assert told.lock_name == name  # type: ignore[attr-defined]
    assert "two rate limiters of this name have different rates" in told.getMessage()
