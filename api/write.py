"""Writes the facts of api/ into every file that repeats them: `python3 api/write.py`. With `--check` it writes nothing, names the
files that are not up to date and fails if there are any."""

from __future__ import annotations

import sys

import access_docs
import decision_c
import errors_docs
import errors_java
import errors_node
import errors_python
import errors_rust
import losses
import natives_c
import natives_java
import natives_node
import natives_python
import options_docs
import options_java
import options_node
import options_python
import options_rust
import package_node
import package_python
import platforms
import primitives_docs
import primitives_rust
import records_c
import records_docs
import records_java
import records_node
import records_python
import records_rust
import scalars
import wire
from parts import ROOT, Part, outdated

OPTIONS = [options_rust, options_python, options_node, options_java, options_docs]
ERRORS = [errors_rust, errors_python, errors_node, errors_java, errors_docs]
RECORDS = [records_rust, records_c, decision_c, records_python, records_node, records_java, records_docs]
NATIVES = [natives_python, natives_node, natives_java, natives_c]
PRIMITIVES = [package_python, package_node, primitives_docs, primitives_rust, access_docs]


def parts() -> list[Part]:
    """Everything that is written."""
    return [
        part
        for facts in (*OPTIONS, *ERRORS, *RECORDS, losses, platforms, wire, scalars, *NATIVES, *PRIMITIVES)
        for part in facts.parts()
    ]


def complaint(path: str) -> str:
    """What to do about a file that is not up to date."""
    return f"{path} is not what api/ says: run `python3 api/write.py` and commit the result"


def main() -> int:
    check = "--check" in sys.argv[1:]
    files = outdated(parts())
    for path, text in files.items():
        if not check:
            (ROOT / path).write_text(text)
        print(complaint(path) if check else f"wrote {path}")
    return int(check and len(files) > 0)


if __name__ == "__main__":
    sys.exit(main())
