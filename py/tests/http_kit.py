"""What the tests of web frameworks share: an ASGI server in memory that records messages, and a real one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn


@dataclass
class Recorded:
    """The messages that an application sent."""

    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def start(self) -> dict[str, Any]:
        return self.messages[0]

    @property
    def status(self) -> int:
        status = self.start["status"]
        assert isinstance(status, int)
        return status

    def fields(self, name: str) -> list[str]:
        """The values of a field, one for each of its lines."""
        wanted = name.lower().encode()
        headers: list[tuple[bytes, bytes]] = self.start["headers"]
        return [value.decode("latin-1") for key, value in headers if key.lower() == wanted]

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])


async def ask(
    app: Any,
    path: str = "/",
    *,
    headers: Mapping[str, str] | None = None,
    client: tuple[str, int] | None = ("192.0.2.7", 1),
    method: str = "GET",
    kind: str = "http",
    extensions: Mapping[str, Any] | None = None,
) -> Recorded:
    """Sends a request to an application, and ends it as a server does."""
    recorded = Recorded()
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    path, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http" if kind == "http" else "ws",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": raw,
        "client": client,
        "server": ("127.0.0.1", 80),
        "extensions": dict(extensions or {}),
        "subprotocols": [],
    }
    if kind == "http":
        scope["method"] = method
        waiting = [{"type": "http.request", "body": b"", "more_body": False}]
    else:
        waiting = [{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1000}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()  # the client stays
        return waiting.pop(0)

    async def send(message: dict[str, Any]) -> None:
        recorded.messages.append(message)

    await app(scope, receive, send)
    return recorded


@contextlib.asynccontextmanager
async def served(app: Any, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """Serves an application on a free port, with uvicorn; the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        config = uvicorn.Config(
            app, proxy_headers=False, log_level="critical", lifespan="off", ws="websockets-sansio"
        )
        server = uvicorn.Server(config)
        # As `serve` does, but for the signals, which are pytest's.
        serving = asyncio.create_task(server._serve([listener]))
        try:
            for _ in range(1000):
                if server.started or serving.done():
                    break
                await asyncio.sleep(0.01)  # it has no event for that
            assert server.started
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await asyncio.wait_for(serving, 10)


async def exchanged(port: int, request: str, host: str = "127.0.0.1") -> tuple[int, dict[str, str], bytes]:
    """Sends a request as it stands, and reads the answer up to the end of its body: status, fields, body."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(request.replace("\n", "\r\n").encode())
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode("latin-1").split("\r\n")
        fields: dict[str, str] = {}
        for line in filter(None, head[1:]):
            name, _, value = line.partition(": ")
            key = name.lower()
            fields[key] = f"{fields[key]}, {value}" if key in fields else value
        is_head = request.startswith("HEAD")
        length = 0 if is_head else int(fields.get("content-length", "0"))
        body = await asyncio.wait_for(reader.readexactly(length), 10)
        return int(head[0].split(" ")[1]), fields, body
    finally:
        writer.close()
