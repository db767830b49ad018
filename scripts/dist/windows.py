"""The C library for Windows: built with Debian's MinGW, run under Wine. Nobody has run it on Windows."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
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
    subprocess.run([HERE / "tools.sh", TRIPLE], check=True)
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_RELEASE_DEBUG": "0"}
    build = ["cargo", "build", "--quiet", "--release", "--locked", "--target", TRIPLE, "--package", "libdlock-ffi"]
    subprocess.run(build, check=True, cwd=ROOT, env=environment)
    print(f"built for Windows in {time.monotonic() - began:.0f} s", flush=True)
    built = target / TRIPLE / "release"
    library = work / "dlock.dll"
    shutil.copy(built / "dlock.dll", library)
    subprocess.run(["x86_64-w64-mingw32-strip", library], check=True)
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
    told = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    needed = {line.split(":")[1].strip().lower().removesuffix(".dll") for line in told.splitlines() if "DLL Name:" in line}
    if not needed:
        return ["dlock.dll names nothing that it needs"]
    return [f"dlock.dll needs {name}.dll" for name in sorted(needed - OF_THE_SYSTEM)]


def runs(library: Path, work: Path) -> list[str]:
    """A program with the library, in memory and with a server."""
    program = work / "smoke.exe"
    subprocess.run([COMPILER, f"-I{ROOT / 'include'}", HERE / "smoke.c", "-o", program, library], check=True)
    # Debian's Wine is older than Rust's std expects.
    subprocess.run([COMPILER, "-shared", HERE / "wine.c", "-o", work / "bcryptprimitives.dll", "-ladvapi32"], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", work], stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        return [problem for url in ("memory://", f"redis://127.0.0.1:{port}") for problem in run(program, url, work)]
    finally:
        server.kill()
        server.wait()


def run(program: Path, url: str, work: Path) -> list[str]:
    """What one run says beside "ok"."""
    environment = os.environ | {"WINEPREFIX": str(work / "wine"), "WINEDEBUG": "-all"}
    done = subprocess.run([WINE, program, url], capture_output=True, text=True, env=environment, timeout=120)
    if done.stdout.strip() == "ok" and done.returncode == 0:
        return []
    return [f"on Wine with {url}: {done.stdout}{done.stderr}, ended with {done.returncode}"]


def wait_for(port: int) -> None:
    """Until the server listens."""
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("redis-server did not start")
