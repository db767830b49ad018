"""What Node's package exports: what api/primitives.json names, and the statistics of api/records.json."""

from __future__ import annotations

from parts import Part
from primitives import COMMON, PRIMITIVES, merged
from records import BLOCKS, HISTOGRAM, STATS

TYPE = "type "


def line(module: str, names: list[str]) -> str:
    """One export, laid out as prettier does."""
    words = sorted(names, key=lambda name: name.removeprefix(TYPE).lower())
    begin = "export "
    if all(word.startswith(TYPE) for word in words):
        begin, words = "export type ", [word.removeprefix(TYPE) for word in words]
    line = f'{begin}{{ {", ".join(words)} }} from "./{module}.js";\n'
    if len(line) <= 121:
        return line
    return f"{begin}{{\n" + "".join(f"  {word},\n" for word in words) + f'}} from "./{module}.js";\n'


def parts() -> list[Part]:
    stats = {"stats": [f"{TYPE}{each.name}" for each in (STATS, HISTOGRAM, *BLOCKS.values())]}
    exports = merged([COMMON["node"], stats, *(each.node for each in PRIMITIVES)])
    lines = "".join(line(module, exports[module]) for module in sorted(exports))
    return [Part("node/ts/index.ts", lines, "exports")]
