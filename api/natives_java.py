"""`Native` of Java, and the table that binds it to Rust's functions."""

from __future__ import annotations

from natives import Native, of
from parts import Part
from words import camel, javadoc

SUBMIT = [("port", "long"), ("id", "long")]
LETTERS = {"void": "V", "boolean": "Z", "int": "I", "long": "J", "byte": "B"}
#: By how the name begins; all others by its first word.
MODULES = {
    "bloom_filter": "bloom_filter",
    "backoff": "queue",
    "cancel": "port",
    "counting_semaphore": "counting_semaphore",
    "delivery": "queue",
    "free": "port",
    "holder": "port",
    "id_generator": "id_generator",
    "id": "snowflake",
    "layout": "snowflake",
    "lock_all": "lock_all",
    "rw_lock": "rw_lock",
}


def parameters(native: Native) -> list[tuple[str, str]]:
    return [*(SUBMIT if native.submit else []), *native.parameters("java")]


def result(native: Native) -> str:
    return "long" if native.submit else native.result("java")


def declaration(native: Native) -> str:
    """Laid out as the formatter does."""
    access = "" if native.java.get("package") else "public "
    words = [f"{type} {camel(word)}" for word, type in parameters(native)]
    begin = f"    {access}static native {result(native)} {camel(native.name)}("
    line = f"{begin}{', '.join(words)});"
    if len(line) > 120:
        inner = f"            {', '.join(words)});"
        line = (
            f"{begin}\n{inner}"
            if len(inner) <= 120
            else f"{begin}\n" + ",\n".join(f"            {word}" for word in words) + ");"
        )
    comment = native.comment("java")
    return "\n".join([*(javadoc(comment, "    ") if comment else []), line, "", ""])


def letter(type: str) -> str:
    """The type in a JNI signature."""
    type = type.replace(" @Nullable ", "")
    return "[" + LETTERS[type.removesuffix("[]")] if type.endswith("[]") else LETTERS[type]


def binding(native: Native) -> str:
    signature = "".join(letter(type) for _, type in parameters(native))
    name = f"{native.name}_"
    module = next((module for begin, module in MODULES.items() if name.startswith(f"{begin}_")), name.split("_")[0])
    return f'        "{camel(native.name)}" "({signature}){letter(result(native))}" {module}::{native.name},\n'


def parts() -> list[Part]:
    return [
        Part("java/src/main/java/org/libdlock/internal/Native.java", "".join(map(declaration, of("java"))), "natives"),
        Part("java/native/src/natives.rs", "".join(map(binding, of("java"))), "natives"),
    ]
