"""What Python's packages export: the exceptions of api/errors.json, and `__all__`, which is what is imported."""

from __future__ import annotations

import ast

from errors import FAMILIES, RAISED
from parts import Part, present


def order(name: str) -> tuple[bool, str]:
    """Classes first, as ruff sorts `__all__`."""
    return not name[0].isupper(), name


def imported(source: str) -> set[str]:
    """The names that the package takes from its modules."""
    of = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) and node.level > 0]
    return {alias.name for node in of for alias in node.names}


def parts() -> list[Part]:
    errors = sorted(
        ["DlockError", *(family.python for family in FAMILIES), *(str(kind.python) for kind in RAISED)], key=str.lower
    )
    written = []
    for path, dots in (("py/python/libdlock/__init__.py", "."), ("py/python/libdlock/aio/__init__.py", "..")):
        lines = "".join(f"    {name},\n" for name in errors)
        own = Part(path, f"from {dots}_errors import (\n{lines})\n\n", "errors")
        names = sorted(imported(own.apply(present(path))), key=order)
        written += [own, Part(path, "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n", "all")]
    return written
