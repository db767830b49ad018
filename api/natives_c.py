"""The list with which the tests of C call every export, out of the header, which comes from Rust."""

from __future__ import annotations

import re

from parts import Part, present

#: These take no error; the tests call them in their own way.
OTHERS = {"dlock_status_name", "dlock_version", "dlock_abi_version", "dlock_shutdown"}


WIDTH = 119


def argument(declared: str) -> str:
    """Nothing, of that parameter's type."""
    if declared.startswith("struct dlock_error_t *"):
        return "error"
    return "NULL" if "*" in declared else "false" if declared.startswith("bool ") else "0"


def calls(header: str) -> list[tuple[str, str]]:
    found = re.findall(r"^dlock_status_t (dlock_\w+)\(([^)]*)\);", header, re.MULTILINE)
    return [
        (name, ", ".join(argument(" ".join(each.split())) for each in given.split(",")))
        for name, given in found
        if name not in OTHERS
    ]


def parts() -> list[Part]:
    lines = ["#define EACH_FALLIBLE_EXPORT(X)"]
    for name, arguments in calls(present("include/dlock.h")):
        line = f"    X({name}, {name}({arguments}))"
        # As clang-format breaks what is too long.
        lines += [line] if len(line) < WIDTH else [f"    X({name},", f"      {name}({arguments}))"]
    body = "".join(f"{line.ljust(WIDTH)}\\\n" for line in lines[:-1]) + lines[-1] + "\n"
    return [Part("ffi-c/tests/programs/exports.h", body, "exports")]
