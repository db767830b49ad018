"""Every scenario in every language, on a real server, and on `memory://` where no step needs a server: see README.md."""

from __future__ import annotations

import itertools
import time

import pytest
import runners
from helpers import Server, Worker, eventually
from more_servers import MoreServers
from quorum_servers import QuorumServers
from runners import Runners
from scenario import OWN, Answer, Run, Scenario, Step, scenarios

SCENARIOS = scenarios()
MIXED = {"bloom_filter", "counting_semaphore", "id_generator", "latch", "lock_all", "quorum"}
#: What several processes do and no test of tests/interop does: the processes are also of several languages.
BETWEEN = [each for each in SCENARIOS if len(each.processes) > 1 and each.file in MIXED]
#: One number for each run of a scenario: names are never shared.
UNIQUE = itertools.count(1)


def own(step: Step, words: list[str], server: Server, quorum: QuorumServers) -> None:
    """Does a step of the test itself."""
    match step.verb, words[1:]:
        case "delete", [name]:
            server.command("DEL", name)
        case "set", [name, value]:
            server.command("SET", name, value.removeprefix("value="))
        case "has", [name, value]:
            assert server.command("GET", name) == value.removeprefix("value="), step.do
        case "configure", [given]:
            server.command("CONFIG", "SET", *given.split("="))
        case "kill_server", [number]:
            quorum.kill(int(number.removeprefix("number=")))
        case "start_servers", []:
            quorum.start_again()
        case "listened", [name]:
            quorum.listened(name)
        case "held_at", [name, number]:
            quorum.held_at(name, int(number.removeprefix("servers=")))
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


def carry_out(
    scenario: Scenario,
    store: str,
    languages: dict[str, str],
    server: Server,
    running: Runners,
    more: MoreServers,
) -> None:
    """Does the steps, each process in its language."""
    workers = {role: running.get(languages[role], store, role) for role in scenario.processes}
    run = Run(f"{next(UNIQUE)}", more.values(scenario.file))
    try:
        for step in scenario.steps:
            if step.verb == "kill":
                running.kill(languages[step.by], store, step.by)
                del workers[step.by]
            elif step.verb in OWN:
                own(step, run.words(step.do), server, more.quorum)
            else:
                ask(step, run, workers[step.by])
    finally:
        more.quorum.start_again()
        for role in workers:
            running.forget(languages[role], store, role)
        for option in {step.do.split()[1].split("=")[0] for step in scenario.steps if step.verb == "configure"}:
            server.command("CONFIG", "SET", option, "0")


@pytest.mark.parametrize("store", ["redis", "memory"])
@pytest.mark.parametrize("language", runners.LANGUAGES)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_scenario(
    scenario: Scenario, language: str, store: str, server: Server, running: Runners, more: MoreServers
) -> None:
    reason = scenario.why_not(language)
    if reason or (store == "memory" and scenario.needs_server):
        pytest.skip(reason or "a step needs a server")
    carry_out(scenario, store, dict.fromkeys(scenario.processes, language), server, running, more)


@pytest.mark.parametrize("language", runners.LANGUAGES)
@pytest.mark.parametrize("scenario", BETWEEN, ids=str)
def test_scenario_between_languages(
    scenario: Scenario, language: str, server: Server, running: Runners, more: MoreServers
) -> None:
    """The first process is of that language, the second of the next one that can, and so on."""
    using = [each for each in runners.LANGUAGES if scenario.why_not(each) is None]
    if language not in using or len(using) < 2:
        pytest.skip(scenario.why_not(language) or "no other language can")
    first = using.index(language)
    languages = {role: using[(first + at) % len(using)] for at, role in enumerate(scenario.processes)}
    carry_out(scenario, "redis", languages, server, running, more)


def test_every_scenario_has_a_name_of_its_own() -> None:
    names = [str(scenario) for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
