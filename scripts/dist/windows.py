"""The C library for Windows: built with Debian's MinGW, run under Wine. Nobody has run it on Windows."""

from __future__ import annotations

import shutil
import time
import zipfile
from pathlib import Path

from parts import ROOT
from private_redis import PrivateRedis
from running import call, run

HERE = Path(__file__).resolve().parent
TRIPLE = "x86_64-pc-windows-gnu"
COMPILER = "x86_64-w64-mingw32-gcc"
WINE = "/usr/lib/wine/wine64"
#: What every Windows has, from 10 on.
OF_THE_SYSTEM = {
    *("advapi32", "api-ms-win-core-synch-l1-2-0", "bcrypt", "bcryptprimitives", "crypt32", "kernel32", "msvcrt"),
    *("ncrypt", "ntdll", "secur32", "userenv", "ws2_32"),
}


def archive(version: str, target: Path, out: Path, work: Path) -> list[str]:
    """Builds the library and puts it into `out`; what is wrong with it."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    began = time.monotonic()
    call(HERE / "tools.sh", TRIPLE)
    environment = {"CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_RELEASE_DEBUG": "0"}
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--target", TRIPLE, "--package", "libdlock-ffi"]
    call(*build, env=environment)
    print(f"built for Windows in {time.monotonic() - began:.0f} s", flush=True)
    built = target / TRIPLE / "release"
    library = work / "dlock.dll"
    shutil.copy(built / "dlock.dll", library)
    call("x86_64-w64-mingw32-strip", library)
    name = f"libdlock-{version}-windows-x64"
    with zipfile.ZipFile(out / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.write(library, f"{name}/bin/dlock.dll")
        zipped.write(built / "libdlock.dll.a", f"{name}/lib/libdlock.dll.a")
        for header in sorted((ROOT / "include").rglob("*.h*")):
            zipped.write(header, f"{name}/include/{header.relative_to(ROOT / 'include')}")
        for text in ("LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"):
            zipped.write(ROOT / text, f"{name}/{text}")
    return needs(library) + runs(library, work)


def needs(library: Path) -> list[str]:
    """A library that not every Windows has."""
    told = call("x86_64-w64-mingw32-objdump", "-p", library)
    needed = {line.split(":")[1].strip().lower().removesuffix(".dll") for line in told.splitlines() if "DLL Name:" in line}
    if not needed:
        return ["dlock.dll names nothing that it needs"]
    return [f"dlock.dll needs {name}.dll" for name in sorted(needed - OF_THE_SYSTEM)]


def runs(library: Path, work: Path) -> list[str]:
    """A program with the library, in memory and with a server."""
    program = work / "smoke.exe"
    call(COMPILER, f"-I{ROOT / 'include'}", HERE / "smoke.c", "-o", program, library)
    # Debian's Wine is older than Rust's std expects.
    call(COMPILER, "-shared", HERE / "wine.c", "-o", work / "bcryptprimitives.dll", "-ladvapi32")
    wine = {"WINEPREFIX": str(work / "wine"), "WINEDEBUG": "-all"}
    with PrivateRedis() as server:
        urls = ("memory://", server.url)
        return [problem for url in urls for problem in run(f"on Wine with {url}", [WINE, program, url], env=wine)]
