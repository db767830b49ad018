"""The kinds of error, as api/errors.json has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import facts


@dataclass(frozen=True)
class Kind:
    """One kind: its frozen number, what it means, and the class that each language has for it.

    `meaning` has no capital and no full stop; `says` replaces it in a language that says more. `retryable` is what core says of
    such an error, unless it knows more of the one.
    """

    name: str
    code: int
    meaning: str
    cpp: str | None
    python: str | None
    node: str | None
    java: str | None
    family: str = ""
    retryable: bool = False
    python_also: str = ""
    java_is: str = ""
    cpp_page: str = ""
    says: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.node in (None, f"DLOCK_{self.name}"), f"error {self.name}: Node's code is DLOCK_ and the name"

    def phrase(self, language: str) -> str:
        """What the kind means, in that language's words."""
        return self.says.get(language, self.meaning)


@dataclass(frozen=True)
class Family:
    """Kinds that a program handles alike, with the class that stands above theirs."""

    name: str
    meaning: str
    cpp: str
    python: str
    java: str | None
    java_is: str = ""

    @property
    def kinds(self) -> list[Kind]:
        """What belongs to it."""
        return [kind for kind in KINDS if kind.family == self.name]


@dataclass(frozen=True)
class Fact:
    """What an error carries beside its text. A type with a question mark may be missing.

    `says` replaces `what` in a language that says something else.
    """

    name: str
    type: str
    what: str
    says: dict[str, str] = field(default_factory=dict)

    def phrase(self, language: str) -> str:
        """What it is, in that language's words."""
        return self.says.get(language, self.what)


_JSON: dict[str, Any] = facts.read("errors")
#: All statuses, success included.
STATUSES = [Kind(**row) for row in _JSON["errors"]]
#: The kinds of core.
KINDS = [kind for kind in STATUSES if kind.code != 0]
#: Those that become exceptions.
RAISED = [kind for kind in KINDS if kind.python]
FAMILIES = [Family(**row) for row in _JSON["families"]]
FACTS = [Fact(**row) for row in _JSON["facts"]]
assert len({kind.code for kind in STATUSES}) == len(STATUSES), "a number stands for two errors"
assert {kind.family for kind in KINDS} == {"", *(family.name for family in FAMILIES)}, "a family that is not there"
