"""Every scenario in every language, on a real server, and on `memory://` where no step needs a server: see README.md."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator

import pytest
import runners
from helpers import Server, Worker, eventually
from scenario import OWN, Answer, Run, Scenario, Step, scenarios

MEMORY = "memory://"
SCENARIOS = scenarios()
#: One number for each run of a scenario: names are never shared.
UNIQUE = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    with server:
        yield server


#: Gives the runner of a language on a store; with another role, another process.
Start = Callable[[str, str, str], Worker]


@pytest.fixture(scope="session")
def runner(server: Server) -> Iterator[Start]:
    """Each is started when it is first asked for, and kept: a JVM takes its time to start."""
    running: list[Worker] = []
    command = functools.cache(runners.command)

    @functools.cache
    def start(language: str, store: str, role: str) -> Worker:
        # A memory store of one name is shared by the clients of one process, as a server is by all.
        url = server.url if store == "redis" else f"{MEMORY}scenarios"
        running.append(Worker([*command(language), url]))
        return running[-1]

    yield start
    for worker in running:
        worker.kill()


def own(step: Step, words: list[str], server: Server) -> None:
    """Does a step of the test itself."""
    match step.verb, words[1:]:
        case "delete", [name]:
            server.command("DEL", name)
        case "set", [name, value]:
            server.command("SET", name, value.removeprefix("value="))
        case "configure", [given]:
            server.command("CONFIG", "SET", *given.split("="))
        case "sleep", [ms]:
            time.sleep(int(ms.removeprefix("ms=")) / 1000)
        case _:
            raise AssertionError(f"cannot read {step.do}")


def ask(step: Step, run: Run, worker: Worker) -> None:
    """Has a runner do a step, and compares its answer."""
    request = " ".join(run.words(step.do))
    if step.later:
        worker.tell(request)
        return
    answer = Answer.of(worker.answer() if step.verb == "answer" else worker.ask(request))

    def reached() -> bool:
        nonlocal answer
        if run.reached(step, answer):
            return True
        answer = Answer.of(worker.ask(request))
        return False

    eventually(f"{step.do} answers {step.until}", reached)
    run.check(step, answer)
    run.remember(step.do, answer.values)


@pytest.mark.parametrize("store", ["redis", "memory"])
@pytest.mark.parametrize("language", runners.LANGUAGES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_scenario(scenario: Scenario, language: str, store: str, server: Server, runner: Start) -> None:
    if language in scenario.excepted or (store == "memory" and scenario.needs_server):
        pytest.skip(scenario.excepted.get(language, "a step needs a server"))
    workers = {role: runner(language, store, role) for role in scenario.processes}
    run = Run(f"{next(UNIQUE)}")
    try:
        for step in scenario.steps:
            if step.verb in OWN:
                own(step, run.words(step.do), server)
            else:
                ask(step, run, workers[step.by])
    finally:
        for worker in workers.values():
            assert worker.ask("forget") == ["ok"]
        for option in {step.do.split()[1].split("=")[0] for step in scenario.steps if step.verb == "configure"}:
            server.command("CONFIG", "SET", option, "0")


def test_every_scenario_has_a_name_of_its_own() -> None:
    names = [str(scenario) for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
