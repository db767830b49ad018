"""The options of `connect`, as api/options.json has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import facts


@dataclass(frozen=True)
class Option:
    """One option. `what` says what it is for, `why` why the default is what it is; both without capital and full stop.

    The fields named after languages hold what differs there: another `what`, `more` to say, the name of a `parameter`, a `type`.
    """

    name: str
    type: str
    default: int | bool | str | None
    what: str
    #: The password that it says the place of.
    of: str = ""
    group: str = ""
    flat: bool = False
    why: str = ""
    unit: str = ""
    min: int | None = None
    max: int | None = None
    also: list[str] = field(default_factory=list)
    allowed: str = ""
    secret: bool = False
    rust: dict[str, str] = field(default_factory=dict)
    node: dict[str, str] = field(default_factory=dict)
    java: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.type in ("duration", "integer", "boolean", "string"), f"option {self.name} has the type {self.type}"
        if self.type in ("duration", "integer"):
            numbers = (self.min, self.default, self.max)
            assert all(type(number) is int for number in numbers), f"option {self.name}: min, default and max are numbers"
            assert self.min <= self.default <= self.max, f"option {self.name}: the default is out of range"  # type: ignore[operator]

    @property
    def full(self) -> str:
        """The name in texts, as in a URL: with the group before it. A `flat` one is accepted without it, too."""
        return f"{self.group}.{self.name}" if self.group else self.name

    def own(self, language: str, key: str) -> str | None:
        """What only that language says."""
        own: dict[str, str] = getattr(self, language, {})
        return own.get(key)

    def sentence(self, language: str) -> str:
        """What the option is for, in that language's words."""
        return (self.own(language, "what") or self.what).format(**WORDS[language])


@dataclass(frozen=True)
class Group:
    """Options of one kind of object; `what` has no capital and no full stop."""

    name: str
    what: str
    options: list[Option]


_JSON: dict[str, Any] = facts.read("options")
OPTIONS = [Option(**row) for row in _JSON["options"]]
GROUPS = [Group(**row, options=[option for option in OPTIONS if option.group == row["name"]]) for row in _JSON["groups"]]
FLAT = [option for option in OPTIONS if option.flat]
assert all(option.group for option in FLAT), "an option without a group has one name anyway"
_TOP = [option.name for option in OPTIONS if option.flat or not option.group]
assert len({*_TOP}) == len(_TOP), "a name without a group stands for two options"
assert {option.group for option in OPTIONS} <= {"", *(group.name for group in GROUPS)}, "an option is of an unknown group"
PASSWORD_SOURCES = [Option(**row) for row in _JSON["password_sources"]]
assert {source.of for source in PASSWORD_SOURCES} == {option.name for option in OPTIONS if option.secret}
WORDS = {
    language: {word: row[language] for word, row in _JSON["words"].items()}
    for language in ("rust", "c", "python", "node", "java")
}


def at_top(option: Option) -> bool:
    """Whether the option may be given without a group."""
    return option.flat or not option.group


def in_table() -> list[Option]:
    """All options in the order in which users read them: the ways to give a password stand together."""
    return [row for option in OPTIONS for row in (option, *sources_of(option))]


def sources_of(option: Option) -> list[Option]:
    """The options that say where this password stands."""
    return [source for source in PASSWORD_SOURCES if source.of == option.name]
