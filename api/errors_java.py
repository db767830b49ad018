"""Java's exceptions: `DlockError`, `Kind`, one class for each kind and family, and the way from one to the other."""

from __future__ import annotations

from errors import FACTS, FAMILIES, RAISED, Fact, Family, Kind
from parts import Part
from words import camel, javadoc, sentence

FOLDER = "java/src/main/java/org/libdlock"
HEAD = "// Written by `python3 api/write.py` from api/errors.json.\npackage org.libdlock;\n\n"
VERSION = "    private static final long serialVersionUID = 1;\n\n"
#: Types, and what a fact that is missing is.
TYPES = {
    "text?": ("@Nullable String", "{@code null} when there is none"),
    "milliseconds?": ("@Nullable Duration", "{@code null} when it is not known"),
    "microseconds?": ("@Nullable Duration", "{@code null} when it is not known"),
    "flag": ("boolean", "whether it can"),
}
ABOVE = {family.name: family for family in FAMILIES}
#: What is asked of the kind, and what the failure carries.
METHODS = [
    *(("int", "code"), ("String", "kind"), ("@Nullable String", "family")),
    *(("String", "op"), ("@Nullable String", "object")),
    *((TYPES[fact.type][0], camel(fact.name)) for fact in FACTS),
]
ANSWERS = {
    "code": "Kind.of(failure.code()).code()",
    "kind": "Kind.of(failure.code()).name()",
    "family": "Kind.of(failure.code()).family()",
}


def plain(name: str) -> str:
    """Below another class of libdlock, which keeps the failure."""
    return f"    {name}(Failure failure) {{\n        super(failure);\n    }}\n"


def keeping(name: str, final: str) -> str:
    """Below an exception of the JDK."""
    text = f"    /** What it tells. */\n    private final Failure failure;\n\n    {name}(Failure failure) {{\n"
    text += "        super(failure.message());\n        this.failure = failure;\n    }\n"
    for type, method in METHODS:
        answer = ANSWERS.get(method, f"failure.{method}()")
        text += f"\n    @Override\n    public {final}{type} {method}() {{\n        return {answer};\n    }}\n"
    return text


def base(kind: Kind) -> str:
    """The family's class, where it has one."""
    family = ABOVE.get(kind.family)
    if family is None or not family.java:
        return kind.java_is
    assert kind.java_is == family.java_is, f"{kind.name} is not what its family {family.name} is"
    return family.java


def written(name: str, base: str, phrase: str, modifier: str) -> Part:
    package, _, above = base.rpartition(".")
    ours = above in {"DlockException", *(kind.java for kind in RAISED), *(family.java for family in FAMILIES)}
    lines = [] if ours else ["import java.time.Duration;"]
    lines += [f"import {package}.{above};"] if package else []
    lines += [] if ours else ["import org.jspecify.annotations.Nullable;"]
    lines += ["import org.libdlock.internal.Failure;"]
    text = "\n".join([*lines, "", *javadoc(sentence(phrase), ""), ""])
    text += f"public {modifier}class {name} extends {above}{'' if ours else ' implements DlockError'} {{\n{VERSION}"
    text += plain(name) if ours else keeping(name, "" if modifier == "final " else "final ")
    return Part(f"{FOLDER}/{name}.java", f"{HEAD}{text}}}\n")


def exception(kind: Kind) -> Part:
    opened = kind.java in {other.java_is for other in RAISED}
    return written(str(kind.java), base(kind), kind.phrase("java"), "" if opened else "final ")


def family(family: Family) -> list[Part]:
    if not family.java:
        return []
    return [written(family.java, family.java_is, f"{family.meaning}: the class above those kinds of error", "abstract ")]


def method(fact: Fact) -> str:
    type, none = TYPES[fact.type]
    null, _, bare = type.rpartition(" ")
    text = "\n".join(javadoc(sentence(fact.phrase("java")), "    ", f"@return {none}")) + "\n"
    return text + (f"    {null}\n" if null else "") + f"    {bare} {camel(fact.name)}();\n"


def constant(kind: Kind) -> str:
    family = f'"{kind.family}"' if kind.family else "null"
    return f"    {kind.name}({kind.code}, {family})"


def parts() -> list[Part]:
    constants = ",\n".join(map(constant, RAISED))
    cases = "".join(f"            case {kind.name} -> new {kind.java}(failure);\n" for kind in RAISED)
    return [
        Part(f"{FOLDER}/DlockError.java", "\n".join(map(method, FACTS)), "facts"),
        Part(f"{FOLDER}/DlockException.java", keeping("DlockException", "final "), "body"),
        Part(f"{FOLDER}/Kind.java", f"{constants};\n", "kinds"),
        Part(f"{FOLDER}/Errors.java", cases, "exceptions"),
        *(part for each in FAMILIES for part in family(each)),
        *map(exception, RAISED),
    ]
