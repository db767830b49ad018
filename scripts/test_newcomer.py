"""Does what README.md says, to the letter, in each language: from an empty folder and the packages of build/dist to a program
that has taken the lock. Prints how long each took.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import unittest
from pathlib import Path

import readme
from clean_place import ROOT, CleanPlace
from testing import main
from user_programs import WithServer

#: From one step to the next the reader's shell keeps its folder and its variables.
_REMEMBER = "\nexport -p >.environment\n"
_GO_ON = "[ ! -e .environment ] || . ./.environment\n"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>example</groupId><artifactId>report</artifactId><version>1</version>
<properties><maven.compiler.release>17</maven.compiler.release>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies>{dependency}</dependencies><build><plugins>
<plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
<plugin><artifactId>maven-compiler-plugin</artifactId><version>3.14.1</version></plugin>
</plugins></build></project>
"""


class Newcomer(WithServer):
    def follow(self, language: str, *, programs: int = 1) -> tuple[CleanPlace, Path]:
        """Takes the steps of one language; what was entered last has run its program."""
        place = CleanPlace(has_rust=language == "Rust")
        self.addCleanup(place.remove)
        self.assertEqual(shutil.which("cargo", path=place.environment["PATH"]) is not None, language == "Rust")
        folder = place.folder("report")
        if language == "Rust":
            # The crates as they are tested here; a newcomer gets the newest.
            shutil.copy(ROOT / "Cargo.lock", folder)
        began = time.monotonic()
        said = ""
        for step in readme.steps(language):
            if step.file:
                (folder / step.file).write_text(step.text)
            elif step.kind == "sh":
                said += place.shell(_GO_ON + step.text + _REMEMBER, folder, url=self.server.url, timeout=300)
        print(f"{language}: {time.monotonic() - began:.1f} s", flush=True)
        self.assertEqual(len(re.findall(r"^held, fencing token \d{16}$", said, re.MULTILINE)), programs, said)
        # A C++ guard does not wait for a reply, but what it sent is there before a later command.
        self.assertEqual(self.server.command("EXISTS", "report"), "0")
        return place, folder

    def test_python(self) -> None:
        self.follow("Python", programs=2)

    def test_node(self) -> None:
        self.follow("Node")

    def test_java(self) -> None:
        place, _ = self.follow("Java")
        (program, dependency) = (step.text for step in readme.steps("Java") if step.kind in ("java", "xml"))
        project = place.folder("project")
        (project / "pom.xml").write_text(_POM.format(dependency=dependency))
        place.folder("project/src/main/java").joinpath("Report.java").write_text(program)
        said = place.shell(
            "mvn -B -q compile && java -cp target/classes:$(find ~/.m2/repository -name 'libdlock-*.jar') Report",
            project,
            url=self.server.url,
            timeout=300,
        )
        self.assertRegex(said, r"held, fencing token \d{16}\n$")

    @unittest.skipUnless(os.environ.get("DLOCK_LONG"), "compiles core and all beneath it once more: test-docs.sh long")
    def test_rust(self) -> None:
        self.follow("Rust")

    def test_cpp(self) -> None:
        self.follow("C++")

    def test_c(self) -> None:
        self.follow("C")

    def test_shell(self) -> None:
        place = CleanPlace()
        self.addCleanup(place.remove)
        folder = place.folder("shell")
        place.shell("mkdir dlock && tar -xzf $DIST/libdlock-*-$(uname -m).tar.gz -C dlock --strip-components=1", folder)
        (step,) = readme.steps("A shell")
        said = place.shell(f"PATH=$PWD/dlock/bin:$PATH\n{step.text}", folder, url=self.server.url)
        self.assertRegex(said, r"^held, fencing token \d{16}\n$")

    def test_every_language_is_followed(self) -> None:
        self.assertEqual(readme.languages(), ["Python", "Node", "Java", "Rust", "C++", "C", "A shell"])


if __name__ == "__main__":
    main()
