"""A TCP proxy with the few faults that the Python tests need: silence, resets, and replies that do not arrive."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading


class Proxy:
    """Forwards a loopback port to `target`. One thread serves all connections."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._ended, self._end = socket.socketpair()
        self._selector.register(self._ended, selectors.EVENT_READ)
        self._peer: dict[socket.socket, socket.socket] = {}
        self._from_server: set[socket.socket] = set()
        self._passing = threading.Event()
        self._passing.set()
        self._held: list[tuple[socket.socket, bytes]] | None = None
        self._holding = threading.Lock()
        self._reset_at: bytes | None = None
        self._asked: set[socket.socket] = set()
        self.resets = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def black_hole(self) -> None:
        """From now on nothing passes, and nothing says so."""
        self._passing.clear()

    def passes_again(self) -> None:
        """The end of a black hole: what was lost in it stays lost."""
        self._passing.set()

    def reset_at_reply_to(self, name: str) -> None:
        """Drops the next reply to a request that names `name`, which was carried out, and resets its connection."""
        self._reset_at = name.encode()

    def hold_replies(self) -> None:
        """From now on what the server says waits here."""
        with self._holding:
            self._held = []

    def pass_replies(self) -> None:
        """Sends on what was held back, and no longer holds."""
        with self._holding:
            held, self._held = self._held or [], None
            for target, data in held:
                with contextlib.suppress(OSError):
                    target.sendall(data)

    def close(self) -> None:
        self._passing.set()
        self._end.close()
        self._thread.join(5)
        for each in [*self._peer, self._listener, self._ended]:
            each.close()
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                source = key.fileobj
                assert isinstance(source, socket.socket)
                if source is self._ended:
                    return
                if source is self._listener:
                    self._accept()
                elif source in self._peer:
                    self._forward(source)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            client.close()
            return
        self._peer[client], self._peer[server] = server, client
        self._from_server.add(server)
        self._selector.register(client, selectors.EVENT_READ)
        self._selector.register(server, selectors.EVENT_READ)

    def _forward(self, source: socket.socket) -> None:
        try:
            data = source.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._drop(source)
            return
        # What is read while the hole is open is gone, as bytes on a cut cable are: close() sets it again, only to end.
        if not self._passing.is_set():
            return
        if self._reset_at and source not in self._from_server and self._reset_at in data:
            self._asked.add(source)
        if source in self._from_server and self._peer[source] in self._asked:
            self._reset_at = None
            self.resets += 1
            linger = struct.pack("ii", 1, 0)
            self._peer[source].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._drop(source)
            return
        with self._holding:
            if self._held is not None and source in self._from_server:
                self._held.append((self._peer[source], data))
                return
            with contextlib.suppress(OSError):
                self._peer[source].sendall(data)

    def _drop(self, source: socket.socket) -> None:
        peer = self._peer.pop(source)
        del self._peer[peer]
        self._from_server -= {source, peer}
        self._asked -= {source, peer}
        for each in (source, peer):
            self._selector.unregister(each)
            each.close()
