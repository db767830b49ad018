"""What is on the wire: raw commands, the messages of channels, and every command that the server carried out."""

from __future__ import annotations

import re
import socket
import time
from types import TracebackType
from typing import TYPE_CHECKING

from helpers import SOON
from private_redis import ADMIN

if TYPE_CHECKING:
    from typing_extensions import Self

#: A word of MONITOR's, and what a backslash stands before in it.
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
UNESCAPE = re.compile(r'\\(["\\])')

#: A reply: text, number, nothing, or a list of them. Errors are raised.
Reply = str | int | None | list["Reply"]


class Wire:
    """One connection, in RESP 2, of a user who may do everything, or of one with the documented minimal rights."""

    def __init__(self, port: int, every_right: bool = True) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SOON)
        # A script is longer than one write.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rwb")
        if every_right:
            self.command("AUTH", ADMIN, "any password")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def command(self, *words: str) -> Reply:
        self.send(*words)
        return self.read()

    def send(self, *words: str) -> None:
        self._file.write(b"*%d\r\n" % len(words))
        for word in words:
            self._file.write(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()))
        self._file.flush()

    def read(self) -> Reply:
        line = self._file.readline().decode().rstrip("\r\n")
        kind, rest = line[:1], line[1:]
        match kind:
            case "+":
                return rest
            case ":":
                return int(rest)
            case "$":
                return None if rest == "-1" else self._file.read(int(rest) + 2)[:-2].decode()
            case "*":
                return [self.read() for _ in range(int(rest))]
            case _:
                raise RuntimeError(line or "the server closed the connection")

    def text(self, *words: str) -> str:
        """The reply to a command that answers with a text."""
        reply = self.command(*words)
        assert isinstance(reply, str), reply
        return reply

    def number(self, *words: str) -> int:
        reply = self.command(*words)
        assert isinstance(reply, int), reply
        return reply

    def fields(self, key: str) -> dict[str, str]:
        """A hash."""
        reply = self.command("HGETALL", key)
        assert isinstance(reply, list)
        texts = [str(item) for item in reply]
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def all_keys(self) -> set[str]:
        """Every key of the database."""
        reply = self.command("KEYS", "*")
        assert isinstance(reply, list)
        return {str(key) for key in reply}


class Messages(Wire):
    """Listens to every channel."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        assert self.command("PSUBSCRIBE", "*") == ["psubscribe", "*", 1]

    def next(self) -> tuple[str, str]:
        """Channel and text of the next message."""
        reply = self.read()
        assert isinstance(reply, list)
        _, _, channel, text = reply
        return str(channel), str(text)


class Monitor(Wire):
    """Sees every command that is carried out after it was made; those within scripts too, marked as such."""

    MARK = "libdlock-monitor-mark"

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._port = port
        assert self.command("MONITOR") == "OK"

    def until_now(self) -> list[Command]:
        """What was carried out since the last call, in order."""
        mark = f"{self.MARK}-{time.monotonic_ns()}"
        with Wire(self._port) as other:
            other.command("ECHO", mark)
        seen: list[Command] = []
        while (command := self.next()).words != ["ECHO", mark]:
            seen.append(command)
        return seen

    def next(self) -> Command:
        """The next command; waits for one."""
        line = self.read()
        assert isinstance(line, str)
        return Command(line)


class Command:
    """One line of MONITOR: `<time> [<db> <address, or lua>] "word" ...`."""

    def __init__(self, line: str) -> None:
        head, _, rest = line.partition("] ")
        self.in_script = head.endswith(" lua")
        self.words: list[str] = [UNESCAPE.sub(r"\1", word) for word in WORD.findall(rest)]

    @property
    def name(self) -> str:
        return self.words[0].upper()

    def __repr__(self) -> str:
        return f"{'lua: ' if self.in_script else ''}{' '.join(self.words)}"
