"""The functions of the native modules, as api/natives.json has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import facts

#: What a type is called in each language; a type that is not here is that language's own word. Node has no holders.
TYPES = {
    "handle": {"python": "int", "node": "Handle", "java": "long"},
    "holder": {"python": "int", "node": "", "java": "long"},
    "number": {"python": "int", "node": "number", "java": "long"},
    "number?": {"python": "int | None", "node": "number?", "java": "long"},
    "count": {"python": "int", "node": "number", "java": "int"},
    "flag": {"python": "bool", "node": "boolean", "java": "boolean"},
    "flag?": {"python": "bool | None", "node": "boolean?", "java": "int"},
    "text": {"python": "str", "node": "string", "java": "byte[]"},
    "name": {"python": "bytes", "node": "string", "java": "byte[]"},
    "name?": {"python": "bytes | None", "node": "string?", "java": "byte @Nullable []"},
    "bytes": {"java": "byte[]"},
    "options": {"python": "list[tuple[str, str]]"},
    "layout": {"python": "_Layout", "java": "long[]"},
    "nothing": {"python": "None", "node": "undefined", "java": "void"},
}


@dataclass(frozen=True)
class Native:
    """One function. With `submit` it starts an operation, whose completion brings what `brings` says."""

    name: str
    languages: list[str]
    takes: dict[str, str]
    gives: str = "nothing"
    submit: bool = False
    brings: str = ""
    what: str = ""
    python: dict[str, Any] = field(default_factory=dict)
    node: dict[str, Any] = field(default_factory=dict)
    java: dict[str, Any] = field(default_factory=dict)

    def own(self, language: str) -> dict[str, Any]:
        """What is different in that language."""
        of: dict[str, Any] = getattr(self, language)
        return of

    def parameters(self, language: str) -> list[tuple[str, str]]:
        """Names and types."""
        takes: dict[str, str] = self.own(language).get("takes", self.takes)
        typed = [(name, translated(type, language)) for name, type in takes.items()]
        return [(name, type) for name, type in typed if type]

    def result(self, language: str) -> str:
        """The type of what it returns."""
        gives: str = self.own(language).get("gives", self.gives)
        return translated(gives, language)

    def comment(self, language: str) -> str:
        """What there is to say about it beside names and types."""
        what: str = self.own(language).get("what", self.what)
        return " ".join(filter(None, (what, f"Brings {self.brings}." if self.brings else "")))


def translated(type: str, language: str) -> str:
    return TYPES.get(type, {}).get(language, type)


_JSON: dict[str, Any] = facts.read("natives")
NATIVES = [Native(languages=row.pop("in"), **row) for row in _JSON["natives"]]


def of(language: str) -> list[Native]:
    """The functions of that language's native module."""
    return [native for native in NATIVES if language in native.languages]
