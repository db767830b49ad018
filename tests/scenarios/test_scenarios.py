"""Every scenario in every language, on a real server, and on `memory://` where no step needs a server: see README.md."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator

import pytest
import runners
from helpers import Server, Worker
from scenario import Answer, Run, Scenario, Step, scenarios

MEMORY = "memory://"
SCENARIOS = scenarios()
#: One number for each run of a scenario: names are never shared.
UNIQUE = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    with server:
        yield server


@pytest.fixture(scope="session")
def runner(server: Server) -> Iterator[functools._lru_cache_wrapper[Worker]]:
    """The runner of a language on a store, started when it is first asked for."""

    @functools.cache
    def start(language: str, store: str) -> Worker:
        # Shared by the clients of one process, as a server is by all.
        url = server.url if store == "redis" else f"{MEMORY}scenarios"
        return Worker([*runners.command(language), url])

    running: list[Worker] = []

    @functools.cache
    def kept(language: str, store: str) -> Worker:
        running.append(start(language, store))
        return running[-1]

    yield kept
    for worker in running:
        worker.kill()


def own(step: Step, words: list[str], server: Server) -> None:
    """Does a step of the test itself."""
    match step.verb, words[1:]:
        case "delete", [name]:
            server.command("DEL", name)
        case "set", [name, value]:
            server.command("SET", name, value.removeprefix("value="))
        case "sleep", [ms]:
            time.sleep(int(ms.removeprefix("ms=")) / 1000)
        case _:
            raise AssertionError(f"cannot read {step.do}")


@pytest.mark.parametrize("store", ["redis", "memory"])
@pytest.mark.parametrize("language", runners.HOW)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_scenario(
    scenario: Scenario, language: str, store: str, server: Server, runner: functools._lru_cache_wrapper[Worker]
) -> None:
    if language in scenario.excepted or (store == "memory" and scenario.needs_server):
        pytest.skip(scenario.excepted.get(language, "a step needs a server"))
    worker = runner(language, store)
    run = Run(f"{next(UNIQUE)}")
    try:
        for step in scenario.steps:
            words = run.words(step.do)
            if step.verb in ("delete", "set", "sleep"):
                own(step, words, server)
                continue
            answer = Answer.of(worker.ask(" ".join(words)))
            run.check(step, answer)
            run.remember(step.do, answer.values)
    finally:
        assert worker.ask("forget") == ["ok"]


def test_every_scenario_has_a_name_of_its_own() -> None:
    names = [str(scenario) for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
