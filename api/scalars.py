"""Outcomes that are one flag, number or text: the variants, and the way of each through every binding."""

from __future__ import annotations

from dataclasses import dataclass

import facts
from parts import Part
from words import item, pascal

#: The tags of completions in each language, and the outcomes.
TAGS = facts.read("wire")

#: In the bridge. A number is below 2^53, for Node.
RUST = {"flag": "bool", "number": "i64", "text": "String"}
C = {"flag": "self.{field} = answer;", "number": "self.{field} = answer;", "text": "self.put_text(&answer);"}
NODE = {
    "flag": "(Tag::{tag}, f64::from(u8::from(answer)), 0.0)",
    "number": "(Tag::{tag}, answer as f64, 0.0)",
    "text": "self.other(Either16::A(answer))",
}
#: Texts come by themselves.
NODE_READS = {"flag": "first === 1", "number": "first"}
JAVA = {"flag": "self.byte(u8::from(*answer));", "number": "self.int64(*answer);", "text": "self.text(Some(answer));"}
JAVA_READS = {"flag": "flag()", "number": "bytes.getLong()", "text": "text()"}


@dataclass(frozen=True)
class Scalar:
    """One outcome. `c` is its word in the list of C's tags, and the field of a completion."""

    name: str
    type: str
    c: str
    what: str

    def __post_init__(self) -> None:
        assert self.type in RUST, f"{self.name} has the type {self.type}"
        tagged = {"c": self.c, "java": self.name} | ({"node": self.name} if self.type in NODE_READS else {})
        for language, tag in tagged.items():
            assert any(row["name"] == tag for row in TAGS[language]), f"{self.name} has no tag {tag} in the list {language}"

    @property
    def variant(self) -> str:
        return f"Outcome::{pascal(self.name)}"

    def bridge(self) -> str:
        return item(self.what, f"{pascal(self.name)}({RUST[self.type]}),", "    ")

    def ffi(self) -> str:
        store = C[self.type].format(field=self.c)
        return arm(self.variant, f"self.kind = DLOCK_COMPLETION_{self.c.upper()};", store)

    def node_rust(self) -> str:
        return f"            {self.variant}(answer) => {NODE[self.type].format(tag=pascal(self.name))},\n"

    def node_script(self) -> str:
        if self.type not in NODE_READS:
            return ""
        return f"    case Tag.{pascal(self.name)}:\n      return {NODE_READS[self.type]};\n"

    def java_rust(self) -> str:
        return arm(self.variant, f"self.byte({self.name.upper()});", JAVA[self.type])

    def java(self) -> str:
        return f"                case {self.name.upper()} -> {JAVA_READS[self.type]};\n"


def arm(variant: str, *lines: str) -> str:
    body = "".join(f"                {line}\n" for line in lines)
    return f"            {variant}(answer) => {{\n{body}            }}\n"


SCALARS = [Scalar(**row) for row in TAGS["scalars"]]


def parts() -> list[Part]:
    conversions = "".join(f"    {RUST[each.type]} => {each.variant};\n" for each in SCALARS)
    ends = "".join(f"            {each.variant}(_) => None,\n" for each in SCALARS)
    python = "".join(f"        {each.variant}(answer) => answer.into_py_any(py),\n" for each in SCALARS)
    outcome, wire = "bridge/src/outcome/mod.rs", "java/src/main/java/org/libdlock/internal/Wire.java"
    return [
        Part(outcome, "".join(each.bridge() for each in SCALARS), "scalars"),
        Part(outcome, ends, "scalars-handle"),
        Part(outcome, conversions, "scalars-from"),
        Part("ffi-c/src/completion.rs", "".join(each.ffi() for each in SCALARS), "scalars"),
        Part("py/src/port.rs", python, "scalars"),
        Part("node/src/completion.rs", "".join(each.node_rust() for each in SCALARS), "scalars"),
        Part("node/ts/port.ts", "".join(each.node_script() for each in SCALARS), "scalars"),
        Part("java/native/src/wire.rs", "".join(each.java_rust() for each in SCALARS), "scalars"),
        Part(wire, "".join(each.java() for each in SCALARS), "scalars"),
    ]
