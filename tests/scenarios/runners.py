"""A runner in every language. Run by itself, this builds them."""

from __future__ import annotations

import functools
from pathlib import Path

import crates
from helpers import Server, Worker
from programs import Programs

RUNNERS = Programs(Path(__file__).resolve().parent, "runner")
LANGUAGES = ["Rust", *RUNNERS.how]


def rust() -> list[str]:
    return [str(crates.built("libdlock-scenarios") / "scenario-runner")]


def command(language: str) -> list[str]:
    """Builds a language's runner; how it is started."""
    return rust() if language == "Rust" else RUNNERS.command(language)


class Runners:
    """Each is started when it is first asked for, and kept: a JVM takes its time to start."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._command = functools.cache(command)
        self._running: dict[tuple[str, str, str], Worker] = {}

    def get(self, language: str, store: str, role: str) -> Worker:
        """That of a language on a store; with another role, another process."""
        key = (language, store, role)
        if key not in self._running:
            # A memory store of one name is shared by the clients of one process, as a server is by all.
            url = self._server.url if store == "redis" else "memory://scenarios"
            self._running[key] = Worker([*self._command(language), url])
        return self._running[key]

    def kill(self, language: str, store: str, role: str) -> None:
        """That process is no more; whoever asks for it again gets another."""
        self._running.pop((language, store, role)).kill()

    def forget(self, language: str, store: str, role: str) -> None:
        """It is as new. One that owes an answer, which would be taken for the next one, is replaced."""
        worker = self._running[language, store, role]
        if worker.unanswered:
            self.kill(language, store, role)
        else:
            assert worker.ask("forget") == ["ok"]

    def end(self) -> None:
        """No process is left."""
        for worker in self._running.values():
            worker.kill()


if __name__ == "__main__":
    RUNNERS.build()
    rust()
