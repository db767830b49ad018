"""The stubs of Python's native module."""

from __future__ import annotations

import re

from natives import Native, of
from parts import Part, present

SUBMIT = [("port", "Port"), ("key", "int")]


def name(native: Native) -> str:
    return ("submit_" if native.submit else "") + native.name


def stub(native: Native) -> str:
    """Laid out as ruff does."""
    parameters = [*(SUBMIT if native.submit else []), *native.parameters("python")]
    result = "int" if native.submit else native.result("python")
    words = [f"{word}: {type}" for word, type in parameters]
    line = f"def {name(native)}({', '.join(words)}) -> {result}: ..."
    if len(line) > 110:
        inner = f"    {', '.join(words)}\n"
        inner = inner if len(inner) <= 111 else "".join(f"    {word},\n" for word in words)
        line = f"def {name(native)}(\n{inner}) -> {result}: ..."
    return line + "\n"


def parts() -> list[Part]:
    path = "py/python/libdlock/_native.pyi"
    # The classes stand there, written by hand.
    classes = re.findall(r"^class (\w+)", present(path), re.MULTILINE)
    exported = sorted([*classes, "__version__", *map(name, of("python"))])
    names = "".join(f'    "{each}",\n' for each in exported)
    return [
        Part(path, f"__all__ = [\n{names}]\n", "all"),
        Part(path, "".join(stub(native) for native in of("python") if not native.submit) + "\n", "functions"),
        Part(path, "".join(stub(native) for native in of("python") if native.submit) + "\n", "submits"),
    ]
