"""All languages spend from one bucket: what one takes, the next finds taken."""

from __future__ import annotations

from helpers import Fleet
from workers import LANGUAGES


def test_languages_take_turns_at_one_bucket_until_it_is_empty(fleet: Fleet) -> None:
    workers = [fleet.worker(language, "holder") for language in LANGUAGES]
    turns = workers * 2
    # Ten tokens that come back one in six minutes: none does while this test runs.
    for left in range(len(turns) - 1, -1, -1):
        assert turns[left].ask("spend api") == ["spent", "1", str(left)]
    for worker in workers:
        assert worker.ask("spend api") == ["spent", "0", "0"]
