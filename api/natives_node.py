"""What Node's package knows of its native module."""

from __future__ import annotations

from natives import Native, of
from parts import Part
from words import camel


def result(native: Native) -> str:
    if native.submit:
        return "Submitted"
    type = native.result("node")
    return type if type == "void" or type.startswith("Answer<") else f"Answer<{type}>"


def method(native: Native) -> str:
    """Laid out as prettier does."""
    parameters = [*([("id", "Id")] if native.submit else []), *native.parameters("node")]
    words = []
    for word, type in parameters:
        optional = "?" if type.endswith("?") or word.endswith("?") else ""
        words.append(f"{camel(word.rstrip('?'))}{optional}: {type.rstrip('?')}")
    line = f"  {camel(native.name)}({', '.join(words)}): {result(native)};"
    if len(line) > 120:
        inner = "".join(f"    {word},\n" for word in words)
        line = f"  {camel(native.name)}(\n{inner}  ): {result(native)};"
    comment = f"  /** {native.comment('node')} */\n" if native.comment("node") else ""
    return f"{comment}{line}\n"


def parts() -> list[Part]:
    return [Part("node/ts/native.ts", "".join(map(method, of("node"))), "natives")]
