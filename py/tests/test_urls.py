"""The forms of a URL that the page names, against a server that listens on a port and on a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import libdlock
from libdlock import aio
from redis_server import RedisServer

FORMS = [
    "redis://127.0.0.1:{port}/0",
    "valkey://127.0.0.1:{port}/0",
    "unix://{socket}",
    "redis+unix://{socket}",
    "valkey+unix://{socket}",
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, Path]]:
    socket = tmp_path_factory.mktemp("s") / "redis.sock"
    server = RedisServer("--unixsocket", str(socket)).start()
    yield server, socket
    server.stop()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_reaches_the_same_server(places: tuple[RedisServer, Path], name: str, form: str) -> None:
    server, socket = places
    with (
        libdlock.connect(form.format(port=server.port, socket=socket)) as client,
        libdlock.connect(server.url) as other,
        client.lock(name),
    ):
        assert not other.lock(name).acquire(blocking=False)
        assert server.command("EXISTS", name) == 1


@pytest.mark.parametrize("form", FORMS)
async def test_every_form_does_for_tasks_too(places: tuple[RedisServer, Path], name: str, form: str) -> None:
    server, socket = places
    async with aio.connect(form.format(port=server.port, socket=socket)) as client, client.lock(name):
        assert server.command("EXISTS", name) == 1


def test_a_socket_that_is_not_there_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone.sock"
    with pytest.raises(libdlock.ConnectionFailed, match=r"gone\.sock"):
        libdlock.connect(f"unix://{gone}", connect_timeout=0.5)
