"""A server as a client sees it that is far away: a proxy that keeps each byte back for a while, in both directions."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from types import TracebackType
from urllib.parse import urlsplit

from .programs import Reachable

CHUNK = 65536


class Far:
    """The way to a server, with so many seconds more in a round trip. Bytes do not wait for one another."""

    def __init__(self, server: Reachable, round_trip: float) -> None:
        address = urlsplit(server.url)
        self._server = (str(address.hostname), int(address.port or 0))
        self._one_way = round_trip / 2
        self._sockets: list[socket.socket] = []

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Far:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._sockets):
            end(each)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
            except OSError:  # closed, this proxy or the server
                return
            self._sockets += [client, server]
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, destination in ((client, server), (server, client)):
                lane: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                threading.Thread(target=self._read, args=(source, lane), daemon=True).start()
                threading.Thread(target=write, args=(lane, destination), daemon=True).start()

    def _read(self, source: socket.socket, lane: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        while True:
            try:
                piece = source.recv(CHUNK)
            except OSError:
                piece = b""
            lane.put((time.monotonic() + self._one_way, piece))
            if not piece:
                return


def write(lane: queue.SimpleQueue[tuple[float, bytes]], destination: socket.socket) -> None:
    """Sends each piece when its time has come; one without bytes is the last."""
    while True:
        due, piece = lane.get()
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            if not piece:
                end(destination)
                return
            destination.sendall(piece)
        except OSError:
            return


def end(connection: socket.socket) -> None:
    """Ends both directions, if that has not happened yet."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
