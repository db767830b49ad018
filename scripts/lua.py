#!/usr/bin/env python3
"""Lints the Lua scripts of core with luacheck, each as a server gets it, and reports lines of their fragments.

The `.lua` files are fragments, which Rust composes. This reads the arguments of `Script::new` in the sources: literals,
`concat!`, `include_str!`, and the macros that expand to these. Rust that it cannot expand is an error; a test of the group `c`
looks for each script in the built library. The scripts are left in `build/lua`.

A name or a value of a shared fragment counts as unused if no script that the fragment belongs to uses it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "core"
#: The scripts of a kind that only tests have are literals behind a macro that makes whole steps.
FOR_TESTS = Path("src/contended/permits")

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<raw>b?r(?P<marks>\#*)".*?"(?P=marks))|(?P<text>"(?:\\.|[^"\\])*")"""
    r"""|(?P<other>'(?:\\[^']*|[^'\\])'|'?\$?\w+|.)""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:(\n\s*)|(.))", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "0": "\0"}
CLOSING = {"(": ")", "[": "]", "{": "}"}
FINDING = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+)-\d+: \((?P<code>[EW]\d+)\) (?P<message>.*)$")
#: Only files that match this can compose a script.
CONCERNED = re.compile(r"macro_rules!|Script::new|fn prelude")
#: Luacheck's codes of names and values that nothing uses.
UNUSED = ("W2", "W3")


class Unknown(Exception):
    """Rust code that this file cannot expand."""


@dataclass(frozen=True)
class Token:
    """A word, a literal, one other character, or a pair of brackets with its content."""

    text: str
    file: Path
    line: int
    inside: tuple[Token, ...] = ()

    def literal(self) -> str | None:
        """The value of a string literal."""
        if not self.text.startswith('"'):
            return None

        def unescaped(found: re.Match[str]) -> str:
            if found[1]:
                return ""
            if found[2] not in ESCAPES:
                raise Unknown(f"{self.file}:{self.line}: the escape {found[0]}")
            return ESCAPES[found[2]]

        return ESCAPE.sub(unescaped, self.text[1:-1])


@dataclass(frozen=True)
class Piece:
    """Text of a script, and where it is written: a fragment, or a literal in a Rust file."""

    text: str
    file: Path
    line: int


@dataclass(frozen=True)
class Script:
    """A script as the server gets it; it is named by the place in Rust that composes it."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def origin(self, line: int, column: int) -> tuple[Piece, int]:
        """The piece at a place of the text, and the line of the piece's file."""
        at = sum(len(each) for each in self.text.splitlines(keepends=True)[: line - 1]) + column - 1
        for piece in self.pieces:
            if at < len(piece.text):
                return piece, piece.line + piece.text.count("\n", 0, at)
            at -= len(piece.text)
        return self.pieces[-1], self.pieces[-1].line + self.pieces[-1].text.count("\n")


def tokens(file: Path, text: str) -> tuple[Token, ...]:
    """The tokens of a Rust file; tokens in brackets are inside the token of the bracket."""
    line = 1
    open_: list[tuple[str, int, list[Token]]] = [("", 0, [])]
    for found in TOKEN.finditer(text):
        word = found[0]
        if word in CLOSING:
            open_.append((word, line, []))
        elif word in CLOSING.values():
            bracket, began, inside = open_.pop()
            if CLOSING.get(bracket) != word:
                raise Unknown(f"{file}:{line}: {word} closes nothing")
            open_[-1][2].append(Token(bracket, file, began, tuple(inside)))
        elif not found["skip"]:
            open_[-1][2].append(Token(word, file, line))
        line += word.count("\n")
    if len(open_) > 1:
        raise Unknown(f"{file}:{open_[-1][1]}: {open_[-1][0]} is not closed")
    return tuple(open_[0][2])


def words(listed: Iterable[Token]) -> str:
    """The text of tokens without the content of brackets, for comparisons."""
    return " ".join(token.text for token in listed)


def split(listed: Iterable[Token], at: str) -> list[tuple[Token, ...]]:
    """The parts of a list between separators; a trailing separator is allowed."""
    parts: list[list[Token]] = [[]]
    for token in listed:
        if token.text == at:
            parts.append([])
        else:
            parts[-1].append(token)
    if not parts[-1]:
        parts.pop()
    return [tuple(part) for part in parts]


def everywhere(listed: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """The list, and each list in brackets below it."""
    yield listed
    for token in listed:
        yield from everywhere(token.inside)


class Source:
    """The Rust files of the crate."""

    def __init__(self, crate: Path) -> None:
        self.crate = crate
        self.files = {
            file: tokens(file, file.read_text())
            for file in sorted((crate / "src").rglob("*.rs"))
            if crate / FOR_TESTS not in file.parents and CONCERNED.search(file.read_text())
        }
        self.macros: dict[str, list[tuple[tuple[Token, ...], tuple[Token, ...]]]] = {}
        for listed in self.files.values():
            for inside in everywhere(listed):
                for at, token in enumerate(inside[:-3]):
                    if token.text == "macro_rules":
                        # Two macros with one name are ambiguous: neither is expanded.
                        arms = [] if inside[at + 2].text in self.macros else self.arms(inside[at + 3])
                        self.macros[inside[at + 2].text] = arms

    @staticmethod
    def arms(body: Token) -> list[tuple[tuple[Token, ...], tuple[Token, ...]]]:
        """The arms of a macro, each a pattern and its expansion."""
        rules = (rule for rule in split(body.inside, ";") if len(rule) == 4)
        return [(pattern.inside, result.inside) for pattern, _, _, result in rules]

    def scripts(self) -> Iterator[Script]:
        """All scripts, once with each prelude."""
        preludes = list(self.preludes())
        for file, listed in self.files.items():
            for inside in everywhere(listed):
                for at, token in enumerate(inside):
                    if token.text == "(" and words(inside[max(at - 4, 0) : at]) == "Script : : new":
                        pieces = self.pieces(token.inside, file)
                        for number, prelude in enumerate(preludes):
                            name = f"{file.relative_to(self.crate / 'src').with_suffix('')}-{token.line}-{number}"
                            yield Script(name, (prelude, *pieces))

    def preludes(self) -> Iterator[Piece]:
        """The texts that `Script::text` puts in front of a script."""
        for inside in everywhere(self.files[self.crate / "src/step/script.rs"]):
            for at, token in enumerate(inside):
                if token.text == "prelude" and words(inside[at - 1 : at]) == "fn":
                    body = next(each for each in inside[at:] if each.text == "{")
                    for part in everywhere(body.inside):
                        for each in part:
                            if (text := each.literal()) is not None:
                                yield Piece(text, each.file, each.line)

    def pieces(self, listed: tuple[Token, ...], file: Path) -> list[Piece]:
        """The text of an expression in `file`, in pieces."""
        if len(listed) == 1 and (text := listed[0].literal()) is not None:
            return [Piece(text, listed[0].file, listed[0].line)]
        if len(listed) < 3 or listed[-2].text != "!":
            raise Unknown(f"{file}:{listed[0].line if listed else 0}: {words(listed)}")
        name, inside = listed[-3].text, listed[-1].inside
        if name == "concat":
            return [piece for part in split(inside, ",") for piece in self.pieces(part, file)]
        if name == "env" and [token.literal() for token in inside] == ["CARGO_MANIFEST_DIR"]:
            return [Piece(str(self.crate), file, listed[-1].line)]
        if name == "include_str":
            # Relative to the file that calls the outermost macro.
            path = file.parent / "".join(piece.text for piece in self.pieces(inside, file))
            return [Piece(path.read_text(), path, 1)]
        return self.pieces(self.expanded(listed[-3], inside), file)

    def expanded(self, name: Token, given: tuple[Token, ...]) -> tuple[Token, ...]:
        """The expansion of a macro of the crate, with literals as its arguments."""
        arguments = split(given, ",")
        for pattern, result in self.macros.get(name.text, []):
            if not pattern and not arguments:
                return result
            repeated = pattern[1].inside if words(pattern) == "$ ( , +" else pattern
            if len(repeated) == 3 and words(repeated[1:]) == ": literal" and (repeated != pattern or len(arguments) == 1):
                return tuple(self.filled(result, repeated[0].text, arguments))
        raise Unknown(f"{name.file}:{name.line}: {name.text}! with {len(arguments)} arguments")

    def filled(self, result: tuple[Token, ...], variable: str, arguments: list[tuple[Token, ...]]) -> Iterator[Token]:
        """The expansion of a macro with its variable replaced; `$(),+` is repeated for each argument."""
        at = 0
        while at < len(result):
            token = result[at]
            if words(result[at : at + 4]) == "$ ( , +":
                for argument in arguments:
                    yield from self.filled(result[at + 1].inside, variable, [argument])
                    yield Token(",", token.file, token.line)
                at += 4
                continue
            if token.text == variable:
                yield from arguments[0]
            else:
                yield Token(token.text, token.file, token.line, tuple(self.filled(token.inside, variable, arguments)))
            at += 1


class Finding(NamedTuple):
    """A warning, the piece of scripts that it is about, and the line of the piece's file."""

    file: Path
    line: int
    code: str
    message: str
    piece: Piece

    def __str__(self) -> str:
        return f"{relative(self.file)}:{self.line}: ({self.code}) {self.message}"


def luacheck(scripts: list[Script], folder: Path) -> Iterator[tuple[Script, Finding]]:
    """The warnings of luacheck for each script."""
    by_file = {}
    for script in scripts:
        file = folder / f"{script.name}.lua"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script.text)
        by_file[str(file)] = script
    config = Path(__file__).with_name("luacheckrc")
    command = ["luacheck", "--config", str(config), "--formatter", "plain", "--codes", "--ranges", "--quiet", *by_file]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode > 2:
        raise SystemExit(f"luacheck: {ran.stderr or ran.stdout}")
    for line in ran.stdout.splitlines():
        found = FINDING.match(line)
        if not found:
            raise SystemExit(f"luacheck says: {line}")
        script = by_file[found["file"]]
        yield script, located(script, found)


def located(script: Script, found: re.Match[str]) -> Finding:
    """A warning of luacheck, moved from the composed script to the file of the piece."""

    def place(other: re.Match[str]) -> str:
        piece, line = script.origin(int(other[1]), 1)
        return f"at {relative(piece.file)}:{line}"

    piece, line = script.origin(int(found["line"]), int(found["column"]))
    return Finding(piece.file, line, found["code"], re.sub(r"on line (\d+)", place, found["message"]), piece)


def findings(scripts: list[Script], folder: Path) -> list[str]:
    """The warnings for all scripts, each once."""
    users: defaultdict[Piece, set[str]] = defaultdict(set)
    for script in scripts:
        for piece in script.pieces:
            users[piece].add(script.name)
    found: defaultdict[Finding, set[str]] = defaultdict(set)
    for script, finding in luacheck(scripts, folder):
        found[finding].add(script.name)
    return [
        str(finding)
        for finding, names in sorted(found.items(), key=lambda item: item[0][:4])
        if not finding.code.startswith(UNUSED) or names == users[finding.piece]
    ]


def orphans(crate: Path, scripts: list[Script]) -> list[str]:
    """The fragments that no script has."""
    used = {piece.file for script in scripts for piece in script.pieces}
    return [f"{relative(file)}: no script has it" for file in sorted((crate / "src").rglob("*.lua")) if file not in used]


def absent(scripts: list[Script], library: bytes) -> list[str]:
    """The scripts that a built library lacks. It has them without their preludes."""
    composed = ((script.name, "".join(piece.text for piece in script.pieces[1:])) for script in scripts)
    return [f"{name}: the library lacks it" for name, text in composed if text.encode() not in library]


def relative(file: Path) -> Path:
    return file.relative_to(ROOT) if ROOT in file.parents else file


def main() -> None:
    scripts = list(Source(CRATE).scripts())
    bad = findings(scripts, ROOT / "build" / "lua") + orphans(CRATE, scripts)
    print("".join(f"{line}\n" for line in bad), end="")
    print(f"{len(scripts)} scripts, {len(bad)} findings")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
