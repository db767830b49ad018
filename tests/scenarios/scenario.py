"""The language of the scenarios: see README.md."""

from __future__ import annotations

import json
import operator
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from languages import has

HERE = Path(__file__).resolve().parent

#: What the test does by itself. All but `sleep` need a server.
OWN = {"configure", "delete", "has", "held_at", "kill", "kill_server", "listened", "set", "sleep", "start_servers"}


@dataclass(frozen=True)
class Answer:
    """What a runner said: the values, or the kind of the error, its message, and its facts as values."""

    error: str | None
    message: str
    values: dict[str, str]

    @classmethod
    def of(cls, words: list[str]) -> Answer:
        """From the words of its line."""
        if words[0] == "error":
            end = words.index(":")
            return cls(words[1], " ".join(words[end + 1 :]), _values(words[2:end]))
        return cls(None, "", _values(words[1:]))


def _values(words: list[str]) -> dict[str, str]:
    """A value has no spaces: a text has underscores in their place."""
    return dict(word.split("=", 1) for word in words)


_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


@dataclass(frozen=True)
class Step:
    """What to do and what is expected."""

    do: str
    error: str | None
    #: A text in the message of that error.
    says: str
    gives: dict[str, Any]
    #: What a question has to answer in the end: it is asked again until then.
    until: dict[str, Any]
    #: The process that does it, if it is another one than that of most steps.
    by: str
    #: Whether its answer is waited for by a later step.
    later: bool

    @property
    def verb(self) -> str:
        return self.do.split()[0]


@dataclass(frozen=True)
class Scenario:
    """Steps, one after the other, on objects of their own."""

    file: str
    name: str
    steps: list[Step]
    #: Languages whose types cannot say it, and why.
    excepted: dict[str, str]
    #: Where its steps do not show it.
    on_server: bool

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    def why_not(self, language: str) -> str | None:
        """Why it is not for that language, if it is not."""
        if not has(language, self.file):
            return f"{language} has no {self.file} yet"
        return self.excepted.get(language)

    @property
    def needs_server(self) -> bool:
        return self.on_server or any(step.by or step.verb in OWN - {"sleep"} for step in self.steps)

    @property
    def processes(self) -> list[str]:
        """Those that its steps name; the first one has no name."""
        return list(dict.fromkeys(["", *(step.by for step in self.steps)]))


def _step(row: dict[str, Any]) -> Step:
    unknown = row.keys() - {"do", "error", "says", "gives", "until", "by", "later"}
    assert not unknown, f"a step has no {unknown}"
    return Step(
        row["do"],
        row.get("error"),
        row.get("says", ""),
        row.get("gives", {}),
        row.get("until", {}),
        row.get("by", ""),
        row.get("later", False),
    )


def _scenario(file: str, row: dict[str, Any]) -> Scenario:
    unknown = row.keys() - {"scenario", "steps", "except", "needs_server"}
    assert not unknown, f"a scenario has no {unknown}"
    steps = [_step(step) for step in row["steps"]]
    return Scenario(file, row["scenario"], steps, row.get("except", {}), row.get("needs_server", False))


def scenarios() -> list[Scenario]:
    """All scenarios of all files."""
    return [_scenario(file.stem, row) for file in sorted(HERE.glob("*.json")) for row in json.loads(file.read_text())]


class Run:
    """What one run of a scenario remembers: its unique names, and the values that its objects answered."""

    def __init__(self, unique: str, values: dict[str, str]) -> None:
        self._unique = unique
        self._values = dict(values)

    def name(self, short: str) -> str:
        """The name on the server for `@short`."""
        return f"{short}-{self._unique}"

    def words(self, do: str) -> list[str]:
        """A step's words with names and values put in."""
        return self._filled(do).split()

    def remember(self, do: str, values: dict[str, str]) -> None:
        """Keeps the values under each object that the step names: `$mine.token`."""
        objects = [word for word in do.split()[1:] if "=" not in word and not word.startswith("@")]
        for thing in objects[-1:] or ["it"]:
            self._values.update({f"{thing}.{key}": value for key, value in values.items()})

    def check(self, step: Step, answer: Answer) -> None:
        """Fails unless the answer is what the step expects."""
        expected = step.error or "success"
        assert answer.error == step.error, f"{step.do}: expected {expected}, got {answer}"
        says = self._filled(step.says)
        assert says in answer.message, f"{step.do}: {says!r} is not in {answer.message!r}"
        values = answer.values
        for key, expected in (step.gives | step.until).items():
            assert key in values, f"{step.do}: the answer has no {key}: {values}"
            assert self._fits(values[key], expected), f"{step.do}: {key} is {values[key]}, expected {expected}"

    def reached(self, step: Step, answer: Answer) -> bool:
        """Whether what the step waits for is so."""
        return all(self._fits(answer.values.get(key, "none"), expected) for key, expected in step.until.items())

    def _filled(self, text: str) -> str:
        named = re.sub(r"@([\w-]+)", lambda found: self.name(found[1]), text)
        return re.sub(r"\$([\w.]+)", lambda found: self._values[found[1]], named)

    def _fits(self, value: str, expected: Any) -> bool:
        if isinstance(expected, bool):
            return value == str(expected).lower()
        text = self._filled(str(expected))
        if found := re.fullmatch(r"(-?\d+)\.\.(-?\d+)", text):
            return value != "none" and int(found[1]) <= int(value) <= int(found[2])
        if found := re.fullmatch(r"([<>]=?) (-?\d+)", text):
            return value != "none" and bool(_COMPARE[found[1]](int(value), int(found[2])))
        return value == text
