"""The applications of Python's frameworks, with the packages of the environment that runs the tests."""

from __future__ import annotations

import sys

from apps import App

FOLDER = "examples/frameworks"


def of_asgi(name: str) -> App:
    return App(name, [sys.executable, f"{FOLDER}/{name}/{name}_app.py"])


def of_wsgi(name: str, application: str) -> App:
    here = f"{FOLDER}/{name}"
    config = ["--config", f"{here}/{name}_gunicorn.py", "--chdir", here]
    return App(name, [sys.executable, "-m", "gunicorn", *config, f"{name}_app:{application}"], processes=2)


APPS = [of_asgi("fastapi"), of_asgi("starlette"), of_wsgi("django", "application"), of_wsgi("flask", "app")]
