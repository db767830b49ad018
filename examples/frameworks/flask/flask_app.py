"""A Flask application whose routes are limited, each in its own way. See docs/python/frameworks.md.

gunicorn serves it: `gunicorn --config python:flask_gunicorn flask_app:app`.
"""

import os
from collections.abc import Callable
from typing import Any

from flask import Flask, request
from libdlock import RateLimiter
from libdlock.integrations.flask import Libdlock

app = Flask(__name__)
app.config["LIBDLOCK_URL"] = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
limits = Libdlock(app)


def limiter(name: str) -> Callable[[], RateLimiter]:
    absent = os.environ.get("LIMIT_ABSENT", "fail")
    burst = os.environ.get("LIMIT_BURST")
    options: dict[str, Any] = {"share_of": 2} if absent == "local_share" else {}
    return limits.rate_limiter(
        name,
        rate=int(os.environ.get("LIMIT_TOKENS", "100")),
        per=int(os.environ.get("LIMIT_PERIOD_MS", "60000")) / 1000,
        burst=None if burst is None else int(burst),
        algorithm=os.environ.get("LIMIT_ALGORITHM", "gcra"),
        absent=absent,
        **options,
    )


def together() -> None:
    """Without a key, all requests share the limiter's tokens."""


def faulty() -> str:
    raise LookupError("a key function that fails")


@app.get("/")
def index() -> str:
    return "ok"


@app.get("/limited")
@limits.limit(limiter("demo"))
def limited() -> str:
    return "ok"


@app.get("/together")
@limits.limit(limiter("together"), key=together)
def all_together() -> str:
    return "ok"


@app.get("/user")
@limits.limit(limiter("user"), key=lambda: request.headers.get("X-User"))
def by_user() -> str:
    return "ok"


@app.get("/cost")
@limits.limit(limiter("cost"), key=together, cost=lambda: int(request.args["n"]))
def by_cost() -> str:
    return "ok"


@app.get("/faulty")
@limits.limit(limiter("faulty"), key=faulty)
def with_a_faulty_key() -> str:
    return "ok"


@app.get("/both")
@limits.limit(limiter("outer"), key=together)
@limits.limit(limiter("inner"), key=together)
def both() -> str:
    return "ok"


@app.get("/skip")
@limits.limit(limiter("skip"), skip=lambda: request.headers.get("X-Skip") == "yes")
def with_exemptions() -> str:
    return "ok"
