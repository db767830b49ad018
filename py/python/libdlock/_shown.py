"""The `repr` of objects, also of those that were not made."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def shown(text: Callable[[_T], str]) -> Callable[[_T], str]:
    """A `__repr__`, also for an object whose constructor raised or was never called: debuggers show those, too."""

    @functools.wraps(text)
    def text_of(self: _T) -> str:
        try:
            return text(self)
        except AttributeError:
            kind = type(self)
            return f"<{getattr(kind, '_label', kind.__qualname__)} not made>"

    return text_of
