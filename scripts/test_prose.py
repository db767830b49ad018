"""The prose of the tree gets better only, and commit messages keep the rules (needs Git).

The bounds are in prose.json; prose.py lists the lines that count.
"""

from __future__ import annotations

import json
import unittest
from collections import Counter

import prose
from testing import main


class Bounds(unittest.TestCase):
    def test_each_folder_is_at_its_bound(self) -> None:
        bounds, now = prose.bounds(), prose.counts(prose.tree())
        differ = {folder: (now[folder], bounds.get(folder, 0)) for folder in sorted({*bounds, *now})}
        more = [f"{folder}: {count} lines, {bound} allowed" for folder, (count, bound) in differ.items() if count > bound]
        less = [f"{folder}: {count} lines, {bound} allowed" for folder, (count, bound) in differ.items() if count < bound]
        self.assertEqual(more, [], "rewrite the lines that scripts/prose.py --base main lists")
        self.assertEqual(less, [], "run scripts/prose.py --lower and commit scripts/prose.json")

    def test_no_commit_has_raised_the_bounds(self) -> None:
        # A commit that changes prose.py may raise them: a new habit finds more lines.
        start = prose.git("log", "-1", "--format=%H", "--", "scripts/prose.py").strip()
        if not start:
            self.skipTest("scripts/prose.py is in no commit")
        later = prose.git("log", "--first-parent", "--reverse", "--format=%H", f"{start}..HEAD", "--", prose.BOUNDS).split()
        written = [json.loads(prose.git("show", f"{commit}:{prose.BOUNDS}")) for commit in (start, *later)]
        totals = [sum(each.values()) for each in (*written, prose.bounds())]
        self.assertEqual(totals, sorted(totals, reverse=True), "the bounds in each commit, and here")

    def test_lowering_raises_no_bound(self) -> None:
        now = Counter({"core": 3, "docs": 9, "new": 1})
        self.assertEqual(prose.lowered({"docs": 8, "core": 5, "gone": 2}, now), {"core": 3, "docs": 8})


class Commits(unittest.TestCase):
    def test_the_messages_since_this_file_keep_the_rules(self) -> None:
        start = prose.git("log", "--diff-filter=A", "--format=%H", "--", "scripts/test_prose.py").split()
        if not start:
            self.skipTest("this file is in no commit")
        # A branch that began before this file is older than the rules.
        self.assertEqual(list(prose.commits("--ancestry-path", f"{start[-1]}..HEAD")), [])

    def test_a_message_that_breaks_a_rule_is_found(self) -> None:
        why = "\n\nBecause.\n"
        for subject in (
            "java: the key of a lock is a name",
            "java, node: formatters can be replaced",
            "what a cost of 0 means",
            "core: locks with a queue no longer starve",
            "no test waits for a clock",
            "adds a test",
            "node: clients of HTTP/2",
        ):
            self.assertEqual(prose.faults(subject + why)[0][:19], "the subject states ", subject)
        self.assertEqual(prose.faults("core: " + "x" * 67 + why), ["the subject has 73 characters, more than 72"])
        for body in ("", "\n", "\n\nSigned-off-by: A <a@b.example>\n"):
            self.assertEqual(prose.faults("core: add a test" + body), ["no body says why"])

    def test_a_message_in_the_imperative_is_left_alone(self) -> None:
        for subject in (
            "core: " + "x" * 66,
            "add a test",
            "pass the alias on",
            "alias one name",
            "core, bridge: say what is missing in the error",
            "c++: wait until both jobs are back",
            "rename locals of scripts that shadow another name",
            "scripts: remove the list of what may be unused",
        ):
            self.assertEqual(prose.faults(subject + "\n\nBecause.\n\nSigned-off-by: A <a@b.example>\n"), [], subject)


class Finding(unittest.TestCase):
    def found(self, path: str, text: str) -> list[tuple[int, str]]:
        return [(each.line, each.habit) for each in prose.habits(path, text)]

    def test_each_habit_is_found_and_the_better_sentence_is_not(self) -> None:
        for habit in prose.HABITS:
            with self.subTest(habit.name):
                self.assertEqual(self.found("a.md", habit.bad), [(1, habit.name)])
                self.assertEqual(self.found("a.md", habit.good), [])

    def test_comments_and_texts_are_read_in_each_language(self) -> None:
        for path, text in (
            ("a.rs", "fn f() {}\n/// The key\n/// stays for\n/// ever.\n"),
            ("a.rs", "let a: &'a str = '\"';\n\nlet b = r#\"the key stays for ever\"#;"),
            ("a.java", "int a; // one\n/** Says nothing.\n * The key stays for ever. */"),
            ("a.hpp", 'char a = \'"\';\n\nthrow Error("the key stays " /* a */ "until it is kept for ever");'),
            ("a.ts", "const a = `b`\n\nthrow new Error('the key stays for ever')"),
            ("a.mjs", "const a = 'b'\n\nthrow new Error(`the ${key} stays for ever`)"),
            ("a.py", '"""A module.\n\nThe key stays for ever.\n"""'),
            ("a.sh", 'echo "${#keys}" # one\n\n# The key stays for ever.\n'),
            ("Makefile", "a: b\n\tc\n# The key stays for ever.\n"),
            ("a.toml", 'a = "b"\n\n# The key stays for ever.\n'),
            ("a.lua", "local a = '--'\n\nlocal b = 1 -- the key stays for ever\n"),
            ("a.json", '{\n"a": "b",\n"doc": "The key stays for ever."}'),
            ("a.md", "# A\n\n- The key stays for ever.\n"),
            ("a.md", "```rust\nlet a = 1;\nlet b = 2; // the key stays for ever\n```\n"),
        ):
            with self.subTest(path=path, text=text):
                self.assertEqual(self.found(path, text), [(3, "for ever")])

    def test_code_is_not_read(self) -> None:
        for path, text in (
            ("a.rs", 'while key.is no { for ever in keys {} }\nlet a = ["for", "for ever"];'),
            ("a.py", "for ever in keys: pass\n'is no error'\n"),
            ("a.md", "```rust\nfor ever in keys {}\n```\nThe word `for ever` is code.\n"),
            ("a.svg", "<text>The key stays for ever.</text>"),
        ):
            with self.subTest(path=path, text=text):
                self.assertEqual(self.found(path, text), [])

    def test_each_opening_of_a_list_or_comment_is_read(self) -> None:
        opening = prose.HABITS[0].name
        self.assertEqual(
            self.found("a.md", "## How it works\n\n- What waits.\n- What holds.\n"), [(3, opening), (4, opening)]
        )
        self.assertEqual(
            self.found("a.rs", "// A lock.\n//\n// What waits.\nlet a = b; // Those of it.\n"), [(3, opening), (4, opening)]
        )


if __name__ == "__main__":
    main()
