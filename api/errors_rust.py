"""The kinds of error in core, and the statuses of the C library with its header for C++."""

from __future__ import annotations

import textwrap

from errors import FACTS, FAMILIES, KINDS, STATUSES, Kind
from parts import Part
from words import item, pascal


def core() -> str:
    """The lines of the macro that makes `ErrorKind`."""

    def row(kind: Kind) -> str:
        family = f"Some(ErrorFamily::{pascal(kind.family)})" if kind.family else "None"
        return f'{pascal(kind.name)} = {kind.code}, "{kind.name}", {family}, {str(kind.retryable).lower()};'

    return "".join(item(kind.phrase("rust"), row(kind), "    ") for kind in KINDS)


def families() -> str:
    return "".join(item(family.meaning, f"{pascal(family.name)},", "    ") for family in FAMILIES)


#: How C has a fact: its field and what says that there is none.
C_FACTS = {
    "text?": ("{}: [c_char; DLOCK_{}_SIZE]", "empty when there is none"),
    "milliseconds?": ("{}_ms: i64", "-1 when it is not known"),
    "microseconds?": ("{}_us: i64", "-1 when it is not known"),
    "flag": ("{}: bool", ""),
}


def facts() -> str:
    """The last fields of `dlock_error_t`."""
    text = ""
    for fact in FACTS:
        field, none = C_FACTS[fact.type]
        size = "OWNER" if fact.name == "holder" else fact.name.upper()
        text += item("; ".join(filter(None, (fact.phrase("c"), none))), f"pub {field.format(fact.name, size)},", "    ")
    return text


def statuses() -> str:
    return "".join(
        item(kind.phrase("c"), f"pub const DLOCK_{kind.name}: dlock_status_t = {kind.code};") for kind in STATUSES
    )


def names() -> str:
    return "".join(f'        DLOCK_{kind.name} => c"{kind.name}",\n' for kind in STATUSES)


def aliases() -> str:
    return "".join(item(kind.phrase("c"), f"using {kind.cpp} = error_of<DLOCK_{kind.name}>;") for kind in KINDS)


def bases() -> str:
    """The class of each family, and which of them stands above which kind."""
    text = ""
    for family in FAMILIES:
        text += item(family.meaning, f"class {family.cpp} : public error {{\npublic:\n    using error::error;\n}};")
    text += "\nnamespace detail {\n\n"
    text += "/// The class above that of a kind.\ntemplate <dlock_status_t Code> struct above { using type = error; };\n"
    for family in FAMILIES:
        for kind in family.kinds:
            text += f"template <> struct above<DLOCK_{kind.name}> {{ using type = {family.cpp}; }};\n"
    return text + "\n} // namespace detail\n"


def raised() -> str:
    """The call that throws, filled as clang-format fills it."""
    call = f"raise_one_of<{', '.join(f'DLOCK_{kind.name}' for kind in KINDS)}>(cause);"
    return textwrap.fill(call, 120, initial_indent="    ", subsequent_indent=" " * 17, break_on_hyphens=False) + "\n"


def parts() -> list[Part]:
    return [
        Part("core/src/error.rs", core(), "kinds"),
        Part("core/src/error.rs", families(), "families"),
        Part("ffi-c/src/error.rs", statuses(), "statuses"),
        Part("ffi-c/src/error.rs", facts(), "facts"),
        Part("ffi-c/src/error.rs", names(), "names"),
        Part("include/dlock/error.hpp", bases(), "families"),
        Part("include/dlock/error.hpp", aliases(), "classes"),
        Part("include/dlock/error.hpp", raised(), "raised"),
    ]
