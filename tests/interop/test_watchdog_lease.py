"""The watchdog's lease of each lock, in every language: two locks of one client are renewed and expire each at its own."""

from __future__ import annotations

from functools import partial

from helpers import Server, Start, eventually
from workers import LANGUAGES

SHORT, LONG = 2_000, 20_000  # ms


def test_each_lock_is_renewed_and_expires_by_its_own_lease(server: Server, start: Start) -> None:
    def left(language: str, lease: int) -> int:
        return int(server.command("PTTL", f"{language}-{lease}"))

    workers = [start(language, server.url) for language in LANGUAGES]
    for worker, language in zip(workers, LANGUAGES, strict=True):
        for lease in (SHORT, LONG):
            assert worker.ask(f"renew {language}-{lease} {lease}") == ["renewed"]
            assert lease - 1_000 < left(language, lease) <= lease
    lowest = dict.fromkeys(LANGUAGES, SHORT)

    def renewed(language: str) -> bool:
        now = left(language, SHORT)
        lowest[language] = min(lowest[language], now)
        return now > lowest[language] + 100

    def gone(language: str) -> bool:
        return left(language, SHORT) == -2

    for language in LANGUAGES:
        eventually(f"{language} renews the short one", partial(renewed, language))
        assert SHORT / 3 < lowest[language] < SHORT - SHORT / 4, f"{language} renews it at a third"
        assert left(language, LONG) < LONG - 500, f"{language} does not renew the long one yet"
    for worker in workers:
        worker.kill()
    for language in LANGUAGES:
        eventually(f"{language}'s short one expires", partial(gone, language), SHORT / 1000)
        assert LONG / 2 < left(language, LONG) <= LONG
