"""The lint of Lua composes scripts as Rust does and reports each kind of fault, in a small crate (needs luacheck)."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import lua
from testing import main

PRELUDE = """fn prelude(self) -> &'static str {
    match self { Plain => "local SAY = 'a'\\n", Other => "local SAY = 'b'\\n" }
}"""
MACROS = """
macro_rules! shared_lua {
    () => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/shared.lua")) };
    ($kind:literal) => { concat!($crate::shared_lua!(), "KIND = '", $kind, ":'\\n") };
}
macro_rules! parts {
    ($($part:literal),+) => { concat!(shared_lua!("of \\"many\\""), $(include_str!(concat!($part, ".lua"))),+) };
}
"""
SHARED = "local KIND = ''\nlocal function say() return redis.call(SAY, KIND) end\n"


class Composed(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.crate = Path(folder.name)
        self.write(
            {
                "src/step/script.rs": PRELUDE,
                "src/macros.rs": MACROS,
                "src/shared.lua": SHARED,
                "src/a/end.lua": "return say()\n",
            }
        )

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            file = self.crate / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def scripts(self, *expressions: str) -> list[lua.Script]:
        """The scripts of a file with these arguments of `Script::new`."""
        composed = (f"static S{at}: Script = Script::new({text});\n" for at, text in enumerate(expressions))
        self.write({"src/a/step.rs": "// Script::new(nothing)\n" + "".join(composed)})
        return list(lua.Source(self.crate).scripts())

    def findings(self, *expressions: str) -> list[str]:
        """The warnings, with paths below `src`."""
        found = lua.findings(self.scripts(*expressions), self.crate / "build")
        return [line.replace(f"{self.crate}/src/", "") for line in found]

    def of_fragment(self, text: str) -> list[str]:
        """The warnings for a script whose last fragment is this."""
        self.write({"src/a/end.lua": text})
        return self.findings('concat!(crate::shared_lua!("x"), include_str!("end.lua"))')


class Composing(Composed):
    def test_a_script_is_composed_as_rust_does(self) -> None:
        self.write({"src/a/more.lua": "local more = 1\n"})
        plain, other = self.scripts('parts!("more", "end")')
        expected = SHARED + "KIND = 'of \"many\":'\nlocal more = 1\nreturn say()\n"
        self.assertEqual([plain.text, other.text], ["local SAY = 'a'\n" + expected, "local SAY = 'b'\n" + expected])
        self.assertEqual(lua.absent([plain], b"..." + expected.encode() + b"..."), [])
        self.assertEqual(lua.absent([plain], expected.encode()[1:]), ["a/step-2-0: the library lacks it"])

    def test_rust_that_is_not_understood_is_an_error(self) -> None:
        for expression in ("TEXT", "unknown!()", "shared_lua!(A, B)", 'concat!("a", 1)', '"\\x41"', 'format!("{}", 1)'):
            with self.subTest(expression), self.assertRaises(lua.Unknown):
                self.scripts(expression)

    def test_a_fragment_without_a_script_is_found(self) -> None:
        self.write({"src/a/old.lua": ""})
        orphans = lua.orphans(self.crate, self.scripts('parts!("end")'))
        self.assertEqual(orphans, [f"{self.crate}/src/a/old.lua: no script has it"])


class Finding(Composed):
    def test_a_clean_script_has_no_finding(self) -> None:
        self.assertEqual(self.of_fragment("return {say(), cjson.encode(KEYS), #ARGV, math.huge}"), [])

    def test_each_fault_is_found_at_its_line(self) -> None:
        for text, expected in (
            ("count = 1\nreturn say()", "a/end.lua:1: (W111) setting non-standard global variable 'count'"),
            ("return say(count)", "a/end.lua:1: (W113) accessing undefined variable 'count'"),
            ("return say(os.time())", "a/end.lua:1: (W113) accessing undefined variable 'os'"),
            ("KEYS = {}\nreturn say()", "a/end.lua:1: (W121) setting read-only global variable 'KEYS'"),
            ("\nlocal count = 1\nreturn say()", "a/end.lua:2: (W211) unused variable 'count'"),
            (
                "local n = 1\nn = 2\nreturn say(n)",
                "a/end.lua:1: (W311) value assigned to variable 'n' is overwritten at a/end.lua:2",
            ),
            ("local say = say()\nreturn say", "a/end.lua:1: (W411) variable 'say' was previously defined at shared.lua:2"),
            (
                "return (function(KIND) return say(KIND) end)()",
                "a/end.lua:1: (W431) shadowing upvalue 'KIND' at shared.lua:1",
            ),
            ("do return say() end\nreturn 1", "a/end.lua:2: (W511) unreachable code"),
            ("return say(", "a/end.lua:1: (E011) expected expression near <eof>"),
        ):
            with self.subTest(text):
                found = self.of_fragment(text)
                self.assertEqual([line[: len(expected)] for line in found], [expected])

    def test_a_literal_in_rust_is_linted_too(self) -> None:
        self.assertEqual(
            self.findings('concat!(\n    shared_lua!(),\n    "local x = 1\\n",\n    include_str!("end.lua"))'),
            ["a/step.rs:4: (W211) unused variable 'x'"],
        )

    def test_a_shared_name_is_unused_if_no_script_uses_it(self) -> None:
        with_shared, without = 'concat!(shared_lua!(), include_str!("end.lua"))', 'concat!(shared_lua!(), "return KIND")'
        self.assertEqual(self.findings(with_shared, without), [])
        self.assertEqual(
            self.findings(without, 'concat!(shared_lua!(), "return #KIND")'),
            ["shared.lua:2: (W211) unused function 'say'"],
        )


if __name__ == "__main__":
    main()
