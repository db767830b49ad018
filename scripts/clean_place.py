"""A machine as a newcomer's: an empty home, no Rust, no network, and of libdlock only what `make dist` has written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What `make dist` has written, here or where the variable says.
DIST = Path(os.environ.get("DLOCK_DIST", ROOT / "build/dist"))

#: What the packages are to work without.
_NOT_THERE = re.compile(r"(cargo|rust|maturin|dlock)")

#: Where Maven has what the build of the jar needed too, before it asks the network.
_SETTINGS = """<settings><profiles><profile><id>here</id>
<repositories><repository><id>here</id><url>file://{cache}</url></repository></repositories>
<pluginRepositories><pluginRepository><id>here</id><url>file://{cache}</url></pluginRepository></pluginRepositories>
</profile></profiles><activeProfiles><activeProfile>here</activeProfile></activeProfiles></settings>
"""


class CleanPlace:
    """An empty home with a folder of commands that is the whole PATH. Gone with `remove`."""

    def __init__(self, *, has_rust: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="libdlock-clean-")
        self.home = Path(self._folder.name)
        # What pip and npm take from the network otherwise is not needed.
        self.environment = {
            "DIST": str(DIST),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            # Java asks the operating system for the home.
            "MAVEN_OPTS": f"-Duser.home={self.home}",
            "PATH": str(self._commands(has_rust)),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INDEX": "1",
            "npm_config_offline": "true",
        }
        if "JAVA_HOME" in os.environ:
            self.environment["JAVA_HOME"] = os.environ["JAVA_HOME"]
        (self.home / ".m2").mkdir()
        (self.home / ".m2/settings.xml").write_text(_SETTINGS.format(cache=Path.home() / ".m2/repository"))
        if has_rust:
            # Its toolchain, and what it has built of the crates that libdlock needs: settings that change the build are the same.
            self.environment |= {name: value for name, value in os.environ.items() if name.startswith("CARGO_")}
            self.environment["CARGO_HOME"] = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
            self.environment["RUSTUP_HOME"] = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
            self.environment["CARGO_TARGET_DIR"] = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
            self.environment["CARGO_NET_OFFLINE"] = "true"

    def _commands(self, has_rust: bool) -> Path:
        commands = self.home / ".commands"
        commands.mkdir()
        # This Python, and not what finds one by settings in a home.
        for name in ("python3", "python"):
            (commands / name).symlink_to(os.path.realpath(sys.executable))
        for folder in os.environ["PATH"].split(os.pathsep):
            for command in Path(folder).glob("*") if folder else ():
                here = commands / command.name
                if (has_rust or not _NOT_THERE.search(command.name)) and not here.is_symlink():
                    here.symlink_to(command)
        return commands

    def folder(self, name: str) -> Path:
        """A folder that is there from now on."""
        (self.home / name).mkdir(parents=True, exist_ok=True)
        return self.home / name

    def shell(self, script: str, folder: Path, *, url: str = "", timeout: float = 120) -> str:
        """The output of commands that must succeed, entered in a folder one after another."""
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env={**self.environment, "REDIS_URL": url, "DLOCK_URL": url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said, complaints = shell.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # With what it has started.
            os.killpg(shell.pid, signal.SIGKILL)
            shell.communicate()
            raise
        assert shell.returncode == 0, f"{script}\nended with {shell.returncode}: {said[-1000:]}{complaints[-3000:]}"
        return said

    def remove(self) -> None:
        """Ends it."""
        self._folder.cleanup()
