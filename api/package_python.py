"""What Python's packages export: what api/primitives.json names, the exceptions of api/errors.json, the statistics of
api/records.json; and `__all__`, which is what is imported."""

from __future__ import annotations

import ast

from errors import FAMILIES, RAISED
from parts import Part, present
from primitives import COMMON, PRIMITIVES, Exports, merged
from records import BLOCKS, HISTOGRAM, STATS

ERRORS = ["DlockError", *(family.python for family in FAMILIES), *(str(kind.python) for kind in RAISED)]
#: From modules that both packages share.
SHARED = merged(
    [
        COMMON["python"],
        {"_errors": ERRORS, "_stats": [each.name for each in (STATS, HISTOGRAM, *BLOCKS.values())]},
        *(each.python for each in PRIMITIVES),
    ]
)
#: From modules that each package has.
EACH = merged([COMMON["python_each"], *(each.python_each for each in PRIMITIVES)])


def order(name: str) -> tuple[bool, str]:
    """Classes first, as ruff sorts `__all__`."""
    return not name[0].isupper(), name


def line(module: str, names: list[str]) -> str:
    """One import, laid out as ruff does."""
    words = sorted(names, key=lambda name: (not name[0].isupper(), name.lower()))
    line = f"from {module} import {', '.join(words)}\n"
    if len(line) <= 111:
        return line
    return f"from {module} import (\n" + "".join(f"    {word},\n" for word in words) + ")\n"


def imports(exports: Exports, dots: str) -> str:
    return "".join(line(f"{dots}{module}", exports[module]) for module in sorted(exports))


def imported(source: str) -> set[str]:
    """The names that the package takes from its modules."""
    of = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) and node.level > 0]
    return {alias.name for node in of for alias in node.names}


def parts() -> list[Part]:
    packages = {
        "py/python/libdlock/__init__.py": imports(merged([SHARED, EACH]), "."),
        "py/python/libdlock/aio/__init__.py": imports(SHARED, "..") + imports(merged([EACH, COMMON["python_aio"]]), "."),
    }
    written = []
    for path, exports in packages.items():
        own = Part(path, f"{exports}\n", "exports")
        names = sorted(imported(own.apply(present(path))), key=order)
        written += [own, Part(path, "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n", "all")]
    return written
