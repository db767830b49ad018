"""Every test runs with each application, and with a server of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from apps import App, Running, apps, prepared
from private_redis import PrivateRedis

#: What a server may take that goes away: the defaults are meant for a failover.
BOUNDS = "?operation_timeout=2s&response_timeout=1s"
#: What one may take that stays: more than a busy machine makes it take.
PATIENT = "?response_timeout=15s"
#: Few tokens that do not come back during a test.
FEW = {"LIMIT_TOKENS": "6", "LIMIT_PERIOD_MS": "3600000", "LIMIT_ALGORITHM": "fixed_window"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="load for 10 s in place of 2 s")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "load: what `make check-long` does for longer")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With pytest-xdist, one process prepares an application and runs all of its tests."""
    for item in items:
        assert isinstance(item, pytest.Function)
        app = item.callspec.params.get("app") if hasattr(item, "callspec") else None
        item.add_marker(pytest.mark.xdist_group(app.name if isinstance(app, App) else "of no application"))


@pytest.fixture(scope="session")
def prepared_apps() -> dict[str, str | None]:
    """Which applications were prepared, and what was wrong."""
    return {}


@pytest.fixture(scope="module", params=apps(), ids=lambda app: app.name)
def app(request: pytest.FixtureRequest, prepared_apps: dict[str, str | None]) -> App:
    """An application that was prepared. One that cannot be is a failure of each of its tests."""
    found: App = request.param
    if found.name not in prepared_apps:
        try:
            prepared(found)
            prepared_apps[found.name] = None
        except (AssertionError, OSError) as error:
            prepared_apps[found.name] = str(error)
    wrong = prepared_apps[found.name]
    assert wrong is None, wrong
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateRedis]:
    with PrivateRedis() as server:
        yield server


@pytest.fixture(scope="module")
def shared(app: App, server: PrivateRedis) -> Iterator[Running]:
    """The application with six tokens an hour, for the tests of one file."""
    with Running(app, server.url + PATIENT, **FEW) as running:
        yield running


@pytest.fixture
def running(shared: Running, server: PrivateRedis) -> Running:
    """The same, with all tokens there."""
    server.command("FLUSHALL")
    return shared
