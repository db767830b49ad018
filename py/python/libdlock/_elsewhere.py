"""What other libraries call a method, and what it is called here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NoReturn


class SaysElsewhere:
    """An object whose `AttributeError` says what to use instead."""

    #: By the name that somebody may look for, what to write.
    _elsewhere: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # with it a type checker would take every name

        def __getattr__(self, name: str) -> NoReturn:
            here = self._elsewhere.get(name)
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(f"{text}: use {here}" if here else text, name=name, obj=self)
