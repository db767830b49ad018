"""Compares the features with which the native libraries and the Rust tests have the crates below core: where one differs, core is
compiled twice."""

from __future__ import annotations

import re
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path

from testing import main

ROOT = Path(__file__).resolve().parent.parent

#: The packages that calls of cargo build by themselves, in the profiles of `scripts/build.sh`.
PACKAGES = (
    "libdlock-ffi",
    "libdlock-cli",
    "libdlock-py",
    "libdlock-node",
    "libdlock-jni",
    "libdlock-scenarios",
    "libdlock-redisson-worker",
)
#: A line of `cargo tree`: the crate with its version, then its features.
CRATE = re.compile(r"^(?P<crate>\S+ v\S+)(?: \([^)]*\))* (?P<features>[^ (]*)")


def tree(*selected: str, edges: str = "normal,build") -> dict[str, str]:
    """The features of every crate in the tree of what is selected, those of macros and build scripts included."""
    command = ["cargo", "tree", "--locked", *selected, "--edges", edges, "--prefix", "none", "--format", "{p} {f}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [CRATE.match(line) for line in done.stdout.splitlines()]
    return {crate["crate"]: crate["features"] for crate in found if crate}


def differences(trees: dict[str, dict[str, str]], below: set[str]) -> dict[str, dict[str, list[str]]]:
    """The crates of `below` that are not the same in all trees, each with its packages by features."""
    found: dict[str, dict[str, list[str]]] = {}
    for crate in sorted(below):
        by_features = defaultdict[str, list[str]](list)
        for package, features in trees.items():
            if crate in features:
                by_features[features[crate]].append(package)
        if len(by_features) > 1:
            found[crate] = dict(by_features)
    return found


class Features(unittest.TestCase):
    def test_core_is_compiled_once_for_all_of_them(self) -> None:
        trees = {package: tree("--package", package) for package in PACKAGES}
        # As `cargo test` at the root builds them.
        trees["the tests"] = tree(edges="normal,build,dev")
        below = set(trees["libdlock-ffi"])
        self.assertTrue(any(crate.startswith("libdlock v") for crate in below), below)
        found = differences(trees, below)
        told = [f"{crate}: {features} in {', '.join(names)}" for crate in found for features, names in found[crate].items()]
        self.assertFalse(found, "\n".join(["name in features/Cargo.toml what some of these lack:", *told]))

    def test_a_feature_that_one_package_adds_is_found(self) -> None:
        trees = {"one": {"tokio v1": "net", "syn v3": "full"}, "two": {"tokio v1": "net,process", "clap v4": "std"}}
        expected = {"tokio v1": {"net": ["one"], "net,process": ["two"]}}
        self.assertEqual(differences(trees, {"tokio v1", "syn v3"}), expected)


if __name__ == "__main__":
    main()
