"""The packages of all platforms, in build/dist-all: `make dist-all`, or scripts/dist/all.py PLATFORM... for some.

Builds for each platform with Zig, puts what was built into the packages that `make dist` makes for this one, and checks them.
Takes minutes for each platform the first time.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import time
import zipfile
from pathlib import Path

_SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_SCRIPTS / "dist"), str(_SCRIPTS), str(_SCRIPTS.parent / "api")]
import arm64
import check
import smoke
import windows
from parts import ROOT
from platforms import PLATFORMS, Platform, platform
from running import call

OUT = ROOT / "build/dist-all"
TOOLS = ROOT / "build/dist-tools/bin"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
#: Tools of LLVM, which know every platform's files.
FOREIGN = {"STRIP": "llvm-strip", "OBJCOPY": "llvm-objcopy"}
#: Debian has no short name for it.
INSTALL_NAME = next(iter(sorted(Path("/usr/bin").glob("llvm-install-name-tool*"))), "llvm-install-name-tool")


def version() -> str:
    """Of all packages."""
    lines = (ROOT / "Cargo.toml").read_text().splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith("version = "))


def stripped(file: Path, to: Path) -> Path:
    """A copy without symbols that nobody needs at run time."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)
    to.chmod(0o755)
    if file.suffix == ".dylib":
        # Its name would be where it was built.
        call(INSTALL_NAME, "-id", f"@rpath/{file.name}", to)
    call(FOREIGN["STRIP"], "--strip-debug", "--discard-all", to)
    return to


def archive(each: Platform, built: Path, work: Path) -> Path:
    """The C library and the command, to be unpacked into a prefix."""
    name = f"libdlock-{version()}-{each.name}"
    stage = work / "archive" / name
    call("ffi-c/install.sh", built, "/usr/local", env=FOREIGN | {"DESTDIR": str(stage), "DLOCK": str(host_command())})
    for licence in ("LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"):
        shutil.copy(ROOT / licence, stage / "usr/local")
    file = OUT / f"{name}.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        tar.add(stage / "usr/local", arcname=name)
    return file


def host_command() -> Path:
    """The command, for this machine: it writes the completions of all."""
    return TARGET / "quick/dlock"


def wheel(each: Platform, built: Path, work: Path) -> Path:
    """This machine's wheel with the other library, the other command and the other tag."""
    host = next((ROOT / "build/wheels").glob("libdlock-*.whl"))
    unpacked = work / "wheel"
    with zipfile.ZipFile(host) as zipped:
        zipped.extractall(unpacked)
    stripped(built / f"lib_native.{each.suffix}", unpacked / "libdlock/_native.abi3.so")
    stripped(built / "dlock", next(unpacked.glob("*.data/scripts/dlock")))
    for sbom in unpacked.rglob("*.cyclonedx.json"):
        sbom.unlink()  # it names this machine's platform
    facts = next(unpacked.glob("*.dist-info/WHEEL"))
    lines = [line for line in facts.read_text().splitlines() if line and not line.startswith("Tag:")]
    facts.write_text("\n".join([*lines, f"Tag: cp310-abi3-{each.wheel}"]) + "\n")
    call(TOOLS / "python", "-m", "wheel", "pack", unpacked, "--dest-dir", OUT)
    return next(OUT.glob(f"*-{each.wheel}.whl"))


def npm_package(each: Platform, built: Path, work: Path) -> Path:
    """The addon and the command."""
    stage = work / "npm"
    call("node", "stage.mjs", stage, each.name, cwd=ROOT / "node")
    package = stage / f"libdlock-{each.name}"
    stripped(built / f"libdlock_node.{each.suffix}", package / "dlock.node")
    stripped(built / "dlock", package / "bin/dlock")
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / licence, package)
    call("npm", "pack", "--silent", "--pack-destination", OUT, cwd=package)
    return OUT / f"libdlock-{each.name}-{version()}.tgz"


def build(each: Platform) -> Path:
    """Everything for one platform; where it is."""
    began = time.monotonic()
    call("scripts/dist/tools.sh", each.triple)
    call("scripts/dist/build.sh", each.triple, each.zig, env={"CARGO_TARGET_DIR": str(TARGET)})
    print(f"built for {each.name} in {time.monotonic() - began:.0f} s", flush=True)
    return TARGET / each.triple / "release"


def of_the_jar(wanted: list[Platform]) -> list[str]:
    """What is wrong with it."""
    jar = OUT / f"libdlock-{version()}.jar"
    missing = {each.java for each in wanted} - arm64.libraries_in(jar)
    problems = [f"it has no library for {name}" for name in sorted(missing)]
    if {"linux-x64-gnu", "linux-arm64-gnu"} <= {each.name for each in wanted} and smoke.can_emulate():
        problems += arm64.jar(ROOT / "build/dist-work/jar", jar)
        print("the jar: ran on x86-64 and on arm64", flush=True)
    return problems


def told(name: str, problems: list[str]) -> int:
    """Says what is wrong with what is called so, and how many things those are."""
    for problem in problems:
        print(f"not ok {name}: {problem}", flush=True)
    return len(problems)


def main(names: list[str]) -> int:
    wanted = [platform(name) for name in names] if names else PLATFORMS
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    natives = ROOT / "build/dist-natives"
    shutil.rmtree(natives, ignore_errors=True)
    # Only what is the same for all platforms is taken from these.
    quick = {"DLOCK_PROFILE": "quick", "CARGO_TARGET_DIR": str(TARGET)}
    call("scripts/packages.sh", "python", env=quick)
    call("scripts/build.sh", "libdlock-cli", env=quick)
    call("scripts/dist/packages.sh", OUT, env=quick)
    failed = 0
    for each in wanted:
        built = build(each)
        work = ROOT / "build/dist-work" / each.name
        shutil.rmtree(work, ignore_errors=True)
        packages = [make(each, built, work) for make in (archive, wheel, npm_package)]
        jni = natives / "org/libdlock/native" / each.java / f"libdlock_jni.{each.suffix}"
        stripped(built / f"libdlock_jni.{each.suffix}", jni)
        failed += told(each.name, check.platform(each, work, jni) + smoke.platform(each, work, packages, jni))
    if not names:
        failed += told("windows-x64", windows.archive(version(), TARGET, OUT, ROOT / "build/dist-work/windows-x64"))
    # One jar for all.
    call("java/package.sh", OUT, "all", env={"LIBDLOCK_NATIVES": str(natives)})
    failed += told("the jar", of_the_jar(wanted))
    for file in sorted(OUT.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.2f} MB  {file.name}")
    print(f"{failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
