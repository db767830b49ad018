"""Runs a short program with the packages of a platform, where this machine can: its own, musl's, and arm64 by qemu-user."""

from __future__ import annotations

import platform as machine
import shutil
import subprocess
import sys
from pathlib import Path

import arm64
from parts import ROOT
from platforms import Platform
from running import NODE, PYTHON, run

HERE = Path(__file__).resolve().parent
ZIG = ROOT / "build/dist-tools/bin/python"
MUSL_LOADER = Path("/lib/ld-musl-x86_64.so.1")


def can_emulate() -> bool:
    """Whether programs of arm64 can be run."""
    return machine.machine() == "x86_64" and shutil.which("qemu-aarch64") is not None


def runner(each: Platform) -> list[str] | None:
    """What programs of the platform are started with; `None` where they cannot be."""
    if each.is_apple or machine.machine() != "x86_64":
        return None
    if each.cpu == "arm64":
        if not can_emulate():
            return None
        arm64.fetch()
        return arm64.EMULATED
    return [] if each.libc == "glibc" or MUSL_LOADER.exists() else None


def in_c(each: Platform, work: Path, prefix: list[str]) -> list[str]:
    """With the shared library of the archive, and with the static one."""
    root = next((work / "archive").iterdir()) / "usr/local"
    target = f"{each.triple.split('-')[0]}-linux-{'gnu.2.17' if each.libc == 'glibc' else 'musl'}"
    problems = []
    shared = [f"-L{root / 'lib'}", "-ldlock", f"-Wl,-rpath,{root / 'lib'}"]
    static = [str(root / "lib/libdlock.a"), "-lpthread", "-ldl", "-lm", "-lrt", "-lunwind"]
    for kind, flags in (("shared", shared), ("static", static)):
        program = work / f"smoke-{kind}"
        dynamic = ["-dynamic"] if each.libc == "musl" and kind == "shared" else []
        # Optimised, as Zig otherwise links checks into the program that want a newer musl than Debian's.
        compile_: list[str | Path] = [ZIG, "-m", "ziglang", "cc", "-O1", "-target", target, *dynamic, f"-I{root / 'include'}", HERE / "smoke.c", "-o", program, *flags]
        made = subprocess.run(compile_, capture_output=True, text=True)
        if made.returncode != 0:
            problems.append(f"a program with the {kind} library is not linked: {made.stderr}")
        else:
            problems += run(f"a program with the {kind} library", [*prefix, program])
    return problems


def platform(each: Platform, work: Path, packages: list[Path], jni: Path) -> list[str]:
    """What does not work; says what was run."""
    prefix = runner(each)
    if prefix is None:
        print(f"{each.name}: nothing is run, there is no way to here", flush=True)
        return []
    problems = in_c(each, work, prefix)
    problems += run("the command", [*prefix, next((work / "archive").rglob("bin/dlock")), "--version"], "dlock .*")
    ran = "the C library, shared and static, and the command"
    _, wheel, addon = packages
    if each.name == "linux-arm64-gnu":
        problems += arm64.wheel(work, wheel) + arm64.npm_packages(work, main_package(addon), addon, NODE)
        ran += ", the wheel and the npm package"
    if each.name == "linux-x64-gnu":
        problems += with_pip(work, wheel) + with_npm(work, addon)
        ran += ", the wheel and the npm package"
    print(f"{each.name}: ran {ran}", flush=True)
    return problems


def with_pip(work: Path, wheel: Path) -> list[str]:
    """The wheel as pip takes it."""
    venv = work / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    install: list[str | Path] = [venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode != 0:
        return [f"pip refuses the wheel: {done.stderr}"]
    return run("the wheel", [venv / "bin/python", "-c", PYTHON]) + run("its command", [venv / "bin/dlock", "--version"], "dlock .*")


def main_package(addon: Path) -> Path:
    """npm's package without a library, beside one with it."""
    return next(addon.parent.glob("libdlock-[0-9]*.tgz"))


def with_npm(work: Path, addon: Path) -> list[str]:
    """The packages as npm takes them."""
    app = work / "app"
    app.mkdir()
    (app / "package.json").write_text('{"private": true, "type": "module"}')
    main = main_package(addon)
    install: list[str | Path] = ["npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--silent", main, addon]
    done = subprocess.run(install, cwd=app, capture_output=True, text=True)
    if done.returncode != 0:
        return [f"npm refuses the packages: {done.stderr}"]
    (app / "smoke.mjs").write_text(NODE)
    return run("the npm packages", ["node", app / "smoke.mjs"]) + run("their command", [app / "node_modules/.bin/dlock", "--version"], "dlock .*")
