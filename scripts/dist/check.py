"""What the libraries of a platform need of it: no newer glibc than is promised, and no other library."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import macho
from platforms import Platform

#: The newest glibc whose symbols may be used.
GLIBC = (2, 17)
SYSTEM = {
    "glibc": r"lib(c|m|dl|rt|pthread)\.so\.\d|libgcc_s\.so\.1|ld-linux[-\w]*\.so\.\d",
    "musl": r"libc\.so",
    None: r"/usr/lib/(libSystem\.B|libiconv\.2|libcharset\.1)\.dylib|/System/Library/Frameworks/(Security|CoreFoundation)\.framework/.*",
}
#: What `llvm-readobj` calls the form of a file.
FORMS = {
    ("linux", "x64"): "elf64-x86-64",
    ("linux", "arm64"): "elf64-littleaarch64",
    ("darwin", "x64"): "Mach-O 64-bit x86-64",
    ("darwin", "arm64"): "Mach-O arm64",
}


def read(*words: str | Path) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def needed(file: Path) -> list[str]:
    """The shared libraries that it needs."""
    return re.findall(r"Shared library: \[([^\]]+)\]", read("llvm-readelf", "--dynamic-table", file))


def file_problems(each: Platform, file: Path) -> list[str]:
    problems = []
    form = re.search(r"Format: (.*)", read("llvm-readobj", "--file-headers", file))
    if form is None or form[1] != FORMS[each.os, each.cpu]:
        problems.append(f"{file.name} is {form and form[1]}, not {FORMS[each.os, each.cpu]}")
    if each.is_apple:
        facts = macho.read(file)
        libraries = facts.needs
        if facts.own_name is not None and not facts.own_name.startswith("@rpath/"):
            problems.append(f"{file.name} calls itself {facts.own_name}")
        if not facts.is_signed and (each.cpu == "arm64" or facts.is_signed is False):
            problems.append(f"{file.name} has no signature that holds")
    else:
        libraries = needed(file)
    others = [name for name in libraries if not re.fullmatch(SYSTEM[each.libc], name)]
    if others:
        problems.append(f"{file.name} needs {', '.join(others)}")
    if each.libc == "glibc":
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", read("llvm-readelf", "--version-info", file))}
        if not versions or max(versions) > GLIBC:
            problems.append(f"{file.name} needs glibc {max(versions, default=None)}")
    return problems


def platform(each: Platform, work: Path, jni: Path) -> list[str]:
    """What is wrong with the files of this platform."""
    files = [jni, next((work / "wheel").rglob("_native.abi3.so")), next((work / "npm").rglob("dlock.node"))]
    library = "libdlock.*.dylib" if each.is_apple else "libdlock.so.*.*"
    archive = work / "archive"
    files += [next(file for file in archive.rglob(library) if not file.is_symlink()), next(archive.rglob("bin/dlock"))]
    return [problem for file in files for problem in file_problems(each, file)]
