"""Every primitive of api/primitives.json has what a primitive has, and nothing has a primitive's place that is not listed."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path

from testing import main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "api"))
from primitives import PRIMITIVES
from primitives_docs import FOLDERS

ROOT = Path(__file__).resolve().parent.parent
NAMES = [each.name for each in PRIMITIVES]

# Pages of no primitive: the index of each folder, how a lock is taken on several servers, what frameworks have of it.
OTHER_PAGES = {"README", "quorum", "frameworks", "operations-and-tests"}


def stems(folder: str, pattern: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob(pattern)}


class Primitives(unittest.TestCase):
    maxDiff = None

    def test_every_folder_of_docs_has_a_page_for_each(self) -> None:
        for folder in FOLDERS:
            with self.subTest(folder=folder):
                pages = {each.name for each in PRIMITIVES if each.has_page(folder)}
                self.assertEqual(stems(f"docs/{folder}", "*.md") - OTHER_PAGES, pages)

    def test_each_has_a_page_that_is_in_the_choice_of_primitives(self) -> None:
        self.assertEqual(stems("docs/primitives", "*.md") - OTHER_PAGES, set(NAMES))
        choice = (ROOT / "docs/primitives/README.md").read_text()
        self.assertEqual([name for name in NAMES if choice.count(f"({name}.md)") < 2], [])

    def test_each_has_examples(self) -> None:
        others = {"frameworks", "event-loops"}
        self.assertEqual({path.name for path in (ROOT / "examples").iterdir() if path.is_dir()} - others, set(NAMES))

    def test_each_has_scenarios(self) -> None:
        # Some scenarios are about no primitive alone; with one language there is nothing to compare.
        compared = {each.underscored for each in PRIMITIVES if len(each.languages) > 1}
        self.assertLessEqual(compared, stems("tests/scenarios", "*.json"))

    def test_each_has_its_folder_in_core(self) -> None:
        for each in PRIMITIVES:
            with self.subTest(each.name):
                self.assertTrue((ROOT / "core/src" / each.module / "mod.rs").is_file())

    def test_the_access_list_has_each_that_asks_the_server(self) -> None:
        rights = json.loads((ROOT / "tests/vectors/access.json").read_text())
        listed = {word for word, row in rights.items() if isinstance(row, dict)}
        self.assertEqual(listed, {state.rights for each in PRIMITIVES for state in each.states})

    def test_every_script_belongs_to_one(self) -> None:
        source = ROOT / "core/src"
        paths = [source / path for each in PRIMITIVES for state in each.states for path in state.scripts]
        # What asks the server about its users is of no primitive.
        scripts = sorted(set(source.rglob("*.lua")) - set((source / "backend").rglob("*.lua")))
        lost = [str(script) for script in scripts if not {script, *script.parents} & set(paths)]
        self.assertEqual(lost, [])
        self.assertTrue(all(path.exists() for path in paths), paths)


if __name__ == "__main__":
    main()
