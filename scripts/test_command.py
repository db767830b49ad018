"""The command `dlock` as each package of build/dist brings it: what is started is the program itself, also by npm's script."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from clean_place import ROOT, CleanPlace
from testing import main
from user_programs import WithServer

#: Far beyond what anything here takes.
PATIENCE = 30
#: A command that says its process id, and ends with 5 at TERM.
UNTIL_TERM = "trap 'exit 5' TERM; echo $$; while :; do sleep 0.02; done"


class Commands(WithServer):
    place: CleanPlace
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.place = CleanPlace()
        cls.addClassCleanup(cls.place.remove)
        assert shutil.which("cargo", path=cls.place.environment["PATH"]) is None
        cls.folder = cls.place.folder("packages")
        cls.place.shell("python3 -m venv venv && venv/bin/pip install --quiet $DIST/libdlock-*.whl", cls.folder)
        cls.place.shell("npm init --yes && npm install $DIST/libdlock-*.tgz", cls.folder)
        cls.place.shell("npm install --global --prefix $PWD/global $DIST/libdlock-*.tgz", cls.folder)
        cls.place.shell("mkdir archive && tar -xzf $DIST/libdlock-*.tar.gz -C archive --strip-components=1", cls.folder)

    def each(self) -> Iterator[Path]:
        """Every `dlock` that was installed."""
        for command in ("venv/bin/dlock", "node_modules/.bin/dlock", "global/bin/dlock", "archive/bin/dlock"):
            with self.subTest(command=command):
                yield self.folder / command

    def start(self, *command: str | Path) -> subprocess.Popen[str]:
        environment = {**self.place.environment, "DLOCK_URL": self.server.url}
        # Whoever runs these in the background may have INT ignored, and so would `dlock`.
        words = ("env", "--default-signal", *command)
        running = subprocess.Popen(
            words, cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(running.communicate)
        self.addCleanup(running.kill)
        return running

    def said(self, running: subprocess.Popen[str]) -> int:
        """The process id that the command says."""
        assert running.stdout is not None
        return int(running.stdout.readline())

    def test_it_is_of_the_version_of_its_package(self) -> None:
        version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
        assert version is not None
        for dlock in self.each():
            said, _ = self.start(dlock, "--version").communicate(timeout=PATIENCE)
            self.assertEqual(said, f"dlock {version[1]}\n")

    def test_streams_and_exit_codes_pass_through(self) -> None:
        for dlock in self.each():
            running = self.start(dlock, "run", "streams", "--", "sh", "-c", 'read word; echo "$word"; exit 7')
            self.assertEqual(running.communicate("there and back\n", timeout=PATIENCE), ("there and back\n", None))
            self.assertEqual(running.returncode, 7)
            running = self.start(dlock, "run", "streams", "--", "sh", "-c", "kill -KILL $$")
            running.communicate(timeout=PATIENCE)
            self.assertEqual(running.returncode, 128 + signal.SIGKILL)
            running = self.start(dlock, "run", "streams")
            self.assertEqual(running.wait(PATIENCE), 125)

    def test_signals_pass_through_and_the_lock_is_released(self) -> None:
        for dlock in self.each():
            running = self.start(dlock, "run", "signals", "--", "sh", "-c", UNTIL_TERM)
            self.said(running)
            running.send_signal(signal.SIGTERM)
            self.assertEqual(running.wait(PATIENCE), 5)
            self.assertEqual(self.server.command("EXISTS", "signals"), "0")
            running = self.start(dlock, "run", "signals", "--", "sh", "-c", "echo $$; exec sleep 60")
            self.said(running)
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(PATIENCE), 128 + signal.SIGINT)

    def test_the_command_dies_with_what_was_started(self) -> None:
        for number, dlock in enumerate(self.each()):
            running = self.start(dlock, "run", f"killed-{number}", "--", "sh", "-c", UNTIL_TERM)
            command = Path("/proc", str(self.said(running)))
            running.kill()
            deadline = time.monotonic() + PATIENCE
            while command.exists() and ") Z " not in (command / "stat").read_text():
                self.assertLess(time.monotonic(), deadline, "the command goes on without its lock being watched")
                time.sleep(0.01)
            # Nobody may take it before its lease is over.
            self.assertEqual(self.server.command("EXISTS", f"killed-{number}"), "1")

    def test_npx_runs_it(self) -> None:
        running = self.start("npx", "dlock", "run", "npx", "--", "sh", "-c", "echo $DLOCK_NAME; exit 7")
        self.assertEqual(running.communicate(timeout=PATIENCE)[0], "npx\n")
        self.assertEqual(running.returncode, 7)

    def test_make_install_brings_the_completions(self) -> None:
        for file in (
            "bash-completion/completions/dlock",
            "zsh/site-functions/_dlock",
            "fish/vendor_completions.d/dlock.fish",
        ):
            self.assertIn("conflict-exit-code", (self.folder / "archive/share" / file).read_text())


if __name__ == "__main__":
    main()
