"""What crates.io would get: the crate with its README and licences, and nothing that is for this project's tests alone."""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path

from testing import main

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ("libdlock", "libdlock-fork")


def cargo(*arguments: str) -> str:
    done = subprocess.run(["cargo", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Packages(unittest.TestCase):
    def test_a_crate_carries_its_readme_and_licences(self) -> None:
        for name in PUBLISHED:
            with self.subTest(name=name):
                files = set(cargo("package", "--list", "--allow-dirty", "--package", name).splitlines())
                self.assertLessEqual({"README.md", "LICENSE-APACHE", "LICENSE-MIT", "Cargo.toml"}, files)

    def test_a_crate_says_its_origin_and_has_no_feature_for_tests(self) -> None:
        metadata = json.loads(cargo("metadata", "--no-deps", "--format-version", "1"))
        crates = {crate["name"]: crate for crate in metadata["packages"]}
        for name in PUBLISHED:
            with self.subTest(name=name):
                crate = crates[name]
                self.assertTrue(crate["repository"] and crate["license"] and crate["description"])
                self.assertEqual(crate["readme"], "README.md")
                self.assertNotIn("fault-injection", crate["features"])


if __name__ == "__main__":
    main()
