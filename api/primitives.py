"""The primitives, as api/primitives.json has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import facts

#: The languages that a primitive can be used from, by their folders in docs/; Rust has no folder there.
LANGUAGES = ["rust", "c", "python", "node", "java"]

#: The names that a package takes from each of its modules.
Exports = dict[str, list[str]]


@dataclass(frozen=True)
class State:
    """What a primitive has on the server, under one word in tests/vectors/access.json."""

    #: The state in the primitive's folder.
    state: str
    rights: str
    #: Where below core/src its scripts are.
    scripts: list[str]


@dataclass(frozen=True)
class Primitive:
    """One primitive. Its name is that of its page in each folder of docs/ and of its folder in examples/."""

    name: str
    #: Its folder in core/src.
    module: str
    #: What its page has; `says` replaces it in a folder of docs/ that has something else.
    what: str
    #: What its examples show.
    example: str
    says: dict[str, str] = field(default_factory=dict)
    #: From which languages it can be used: all, unless it is being built. Examples and pages of the others are not asked for.
    languages: list[str] = field(default_factory=lambda: list(LANGUAGES))
    #: Its state in that folder, its word in tests/vectors/access.json, and where below core/src its scripts are. A primitive that
    #: asks no server has none of these.
    state: str = ""
    rights: str = ""
    scripts: list[str] = field(default_factory=list)
    #: Further states, of a primitive that may keep its objects in other keys.
    other_states: list[dict[str, Any]] = field(default_factory=list)
    #: What Python's packages export: from modules that they share, and from modules that each has.
    python: Exports = field(default_factory=dict)
    python_each: Exports = field(default_factory=dict)
    #: What Node's package exports.
    node: Exports = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert bool(self.state) == bool(self.rights) == bool(self.scripts), (
            f"{self.name}: a state, rights and scripts, or none"
        )

    @property
    def states(self) -> list[State]:
        """All of them."""
        own = [State(self.state, self.rights, self.scripts)] if self.state else []
        return own + [State(**row) for row in self.other_states]

    def has_page(self, folder: str) -> bool:
        """Whether it has one in that folder of docs/."""
        return folder == "protocol" or folder in self.languages

    @property
    def underscored(self) -> str:
        """Its name where there are no hyphens: the file of its scenarios, and of its programs in most languages."""
        return self.name.replace("-", "_")

    def phrase(self, folder: str) -> str:
        """What its page in that folder of docs/ has."""
        return self.says.get(folder, self.what)


_JSON: dict[str, Any] = facts.read("primitives")
PRIMITIVES = [Primitive(**row) for row in _JSON["primitives"]]
#: What belongs to no primitive.
COMMON: dict[str, Exports] = _JSON["common"]


def merged(parts: Iterable[Exports]) -> Exports:
    """The names of all, by module."""
    found: Exports = {}
    for part in parts:
        for module, names in part.items():
            found.setdefault(module, []).extend(names)
    return found
