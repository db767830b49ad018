#!/usr/bin/env python3
"""Finds habits that make English read like a translation, in comments, string literals and docs of tracked files.

    scripts/prose.py [PATH]      lists all lines, or the lines below a folder
    scripts/prose.py --base REV  lists lines added since REV, and commits since REV whose message breaks a rule
    scripts/prose.py --lower     lowers the bounds in scripts/prose.json to the counts; raises none

Read a listed line aloud and rewrite the sentence. test_prose.py fails if a top-level folder is not at its bound.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BOUNDS = "scripts/prose.json"


@dataclass(frozen=True)
class Habit:
    """A pattern to avoid, a sentence that matches it, and a better sentence that does not."""

    name: str
    #: A space matches any white space, because sentences continue on the next line.
    pattern: str
    bad: str
    good: str

    def search(self, text: str) -> Iterator[re.Match[str]]:
        return re.finditer(self.pattern.replace(" ", r"\s+"), text)


HABITS = (
    Habit(
        "a clause for a subject",
        r"(?:\A[\"'(]*|[.!?] )(?:What|How|Who|Whose|Whom|Where|Those|Of)\b(?![^.]*\?)",
        "Takes the lock. Who only tries may overtake the queue.",
        "Takes the lock. A non-blocking attempt may jump the queue, and what else may? How often?",
    ),
    Habit(
        "is no",
        r"\b(?<!here\s)(?:is|are|was|were) no (?!longer\b|more\b|less\b|later\b|different\b|doubt\b|such\b)[a-z]+",
        "A timeout is no error.",
        "There is no error: a timeout is not a failure, and the lease is no longer than it was.",
    ),
    Habit(
        "so many",
        r"\b[Ss]o (?:many|much|long|often)\b(?! (?:as|that)\b)",
        "A waiter is dropped after so many looks.",
        "A waiter is dropped after REACH looks, so long as nobody hears it.",
    ),
    Habit(
        "whoever",
        r"(?i)\b(?:whoever|whomever|whom|whatsoever)\b",
        "The lock goes to whoever asks first.",
        "The lock goes to the first caller.",
    ),
    Habit(
        "of its own",
        r"\bof (?:its|their|one's|my|our|your) own\b",
        "Each test has a server of\nits own.",
        "Each test has its own server.",
    ),
    Habit(
        "for ever",
        r"(?i)\bfor ever\b",
        "The key stays for ever.",
        "The key never expires.",
    ),
    Habit(
        "all the same",
        r"(?i)\b(?:all the same|in (?:its|the|their) stead|but for)\b",
        "The other locks are taken all the same.",
        "The other locks are still taken.",
    ),
    Habit(
        "is told",
        r"\b(?:is|are|was|were|be|been) (?:told|heard|said|noticed)\b",
        "The next waiter is told.",
        "The script notifies the next waiter.",
    ),
    Habit(
        "that is none",
        r"\b(?:that|which|who) (?:is|are|was|were) none\b",
        "A reply that is none fails the call.",
        "A malformed reply fails the call, of which there is none in a healthy server.",
    ),
    Habit(
        "anew",
        r"(?i)\banew\b",
        "The client connects anew.",
        "The client reconnects.",
    ),
    Habit(
        "has it wait",
        r"\b(?:has|have|had) (?:it|them|those|one|an? [a-z]+) (?:wait|keep|ask|know|end|begin|look|go)\b",
        "A full queue has a caller wait.",
        "A caller waits while the queue is full.",
    ),
    Habit(
        "as long as it likes",
        r"\bas (?:long|often|many|much) as (?:it|one|they) (?:takes?|likes?|wants?)\b",
        "A caller may wait as long as it likes.",
        "A caller may wait without a limit, as long as it renews its lease.",
    ),
    Habit(
        "stands behind",
        r"\b(?:stands?|stood|lies?|lay) (?:beside|behind|in front)\b",
        "The token stands behind the owner.",
        "The token follows the owner.",
    ),
)


def language(line: str, *others: str) -> re.Pattern[str]:
    """The comments and string literals of a language; `line` begins a comment, which may continue on the next lines."""
    return re.compile("|".join((rf"(?P<comment>{line}[^\n]*(?:\n[ \t]*{line}[^\n]*)*)", *others)), re.DOTALL | re.MULTILINE)


def texts(*patterns: str) -> str:
    return f"(?P<text>{'|'.join(patterns)})"


BLOCK = r"(?P<block>/\*.*?\*/)"
RAW = r'r(?P<marks>\#*)".*?"(?P=marks)'
DOUBLE, SINGLE, TEMPLATE = r'"(?:\\.|[^"\\])*"', r"'(?:\\.|[^'\\\n])*'", r"`(?:\\.|[^`\\])*`"
DOUBLE_LINE = r'"(?:\\.|[^"\\\n])*"'
CHARACTER = r"'(?:\\[^'\n]+|[^'\\\n])'"
TRIPLE = r'"""(?:\\.|[^\\])*?"""'
C_LIKE = language("//", BLOCK, texts(RAW, TRIPLE, DOUBLE), CHARACTER)
SCRIPT = language("//", BLOCK, texts(DOUBLE_LINE, SINGLE, TEMPLATE))
HASH = language(r"(?:(?<=\s)|^)\#", texts(TRIPLE, DOUBLE_LINE, SINGLE))
LANGUAGES = {
    **dict.fromkeys(("rs", "c", "h", "hpp", "cpp", "java"), C_LIKE),
    **dict.fromkeys(("ts", "js", "mjs", "cjs"), SCRIPT),
    **dict.fromkeys(("py", "pyi", "sh", "toml", "yml", "yaml", "mk", "supp", "Makefile", "run"), HASH),
    "lua": language("--", texts(DOUBLE_LINE, SINGLE)),
    "json": re.compile(texts(DOUBLE_LINE)),
}
#: Languages of code in Markdown that are not named like their files.
FENCES = {"rust": "rs", "python": "py", "typescript": "ts", "javascript": "js", "bash": "sh", "console": "sh"}
FENCE = re.compile(r"^[ \t]*```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
MARKS = re.compile(r"^[ \t]*(?://[/!]?|/\*\*?|\*/|\*|#[:!]?|--)[ \t]?", re.MULTILINE)
#: A string literal with fewer words is a name, a command or a format.
SENTENCE = re.compile(r"(?:\S+\s+){3}\S")
#: Generated files, and those that quote the habits.
SKIPPED = re.compile(
    r"(?:^|/)(?:package-lock\.json|include/dlock\.h)$|^docs/(?:pictures/|benchmarks\.md)|^scripts/(?:test_)?prose\.py$"
)


class Passage(NamedTuple):
    """A paragraph, and its first line."""

    text: str
    line: int


class Found(NamedTuple):
    """A match of a habit in a file, from its first line to its last."""

    path: str
    line: int
    last: int
    habit: str
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.habit}: {' '.join(self.words.split())}"


def paragraphs(text: str, line: int) -> Iterator[Passage]:
    """The paragraphs of a text; a list item, a heading and a table row begin a new one."""
    lines: list[str] = []
    for at, words in enumerate([*text.split("\n"), ""], line):
        if lines and re.match(r"\s*(?:$|[-*] |\d+\. |[#|>])", words):
            yield Passage("\n".join(lines), at - len(lines))
            lines = []
        if words.strip():
            lines.append(re.sub(r"^\s*(?:[-*]|\d+\.) ", "", words))


def passages(kind: str, text: str, line: int = 1) -> Iterator[Passage]:
    """The prose of a file with this suffix; nothing if the suffix is unknown."""
    if kind == "md":
        for fence in FENCE.finditer(text):
            known = FENCES.get(fence["language"], fence["language"])
            yield from passages(known, fence["code"], line + text.count("\n", 0, fence.start("code")))
        yield from paragraphs(FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text), line)
        return
    for found in LANGUAGES[kind].finditer(text) if kind in LANGUAGES else ():
        begins = line + text.count("\n", 0, found.start())
        groups = found.groupdict()
        if groups.get("comment") or groups.get("block"):
            yield from paragraphs(MARKS.sub("", found[0]), begins)
        elif groups.get("text") and SENTENCE.search(found[0]):
            yield from paragraphs(found[0].lstrip("r#").strip("\"'`"), begins)


def habits(path: str, text: str) -> Iterator[Found]:
    """The habits in a file; code in backticks is not read."""
    for passage in passages(PurePosixPath(path).name.rpartition(".")[2], text):
        words = re.sub(r"`[^`]+`", lambda code: re.sub(r"[^\n`]", "_", code[0]), passage.text)
        for each in HABITS:
            for found in each.search(words):
                first = passage.line + words.count("\n", 0, found.start())
                last = passage.line + words.count("\n", 0, found.end())
                around = passage.text[max(found.start() - 30, 0) : found.end() + 50]
                yield Found(path, first, last, each.name, around)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tree(folder: str = ".") -> Iterator[Found]:
    """The habits in the tracked files below a folder."""
    for path in git("ls-files", "-z", "--", folder).split("\0")[:-1]:
        if not SKIPPED.search(path) and (ROOT / path).is_file():
            yield from habits(path, (ROOT / path).read_text(errors="replace"))


def counts(found: Iterable[Found]) -> Counter[str]:
    """The number of lines with a habit in each top-level folder."""
    lines = {(each.path, each.line) for each in found}
    return Counter(path.partition("/")[0] if "/" in path else "." for path, _ in lines)


def added(base: str) -> Iterator[Found]:
    """The habits in lines that the base does not have."""
    lines: dict[str, set[int]] = {}
    path = ""
    for line in git("diff", "--merge-base", "--unified=0", "--no-color", "--no-ext-diff", "--no-prefix", base).splitlines():
        if line.startswith("+++ "):
            path = line[4:]
        elif hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line):
            first = int(hunk[1])
            lines.setdefault(path, set()).update(range(first, first + int(hunk[2] or 1)))
    for found in tree():
        if not lines.get(found.path, set()).isdisjoint(range(found.line, found.last + 1)):
            yield found


def bounds() -> dict[str, int]:
    """The highest count that each folder may have; 0 for a folder that is not named."""
    read: dict[str, int] = json.loads((ROOT / BOUNDS).read_text())
    return read


#: The beginning of a message that is not in the imperative: an article or the like, a word in the plural or the third person, or
#: a noun and its verb without a conjunction or pronoun between them.
STATEMENT = re.compile(
    r"(?:the|an?|its|their|this|that|these|those|each|every|some|all|no|of|what|how|who|whose|where|there|nothing|nobody)\b"
    r"|\w+[^asu\W]s\b"
    r"|(?:(?!(?:that|what|which|who|whose|where|how|if|when|whether|until|while|because|as|than|but)\b)\S+ ){1,4}"
    r"(?:is|are|was|were|has|have|had|can|cannot|may|must|does|do not|will|no longer)\b",
    re.IGNORECASE,
)
LONGEST = 72


def faults(message: str) -> list[str]:
    """The rules that the message of a commit breaks. Only a reader can judge whether the body says why."""
    subject, _, body = message.strip().partition("\n")
    found = []
    if len(subject) > LONGEST:
        found.append(f"the subject has {len(subject)} characters, more than {LONGEST}")
    if STATEMENT.match(re.sub(r"^[\w+./, -]+: ", "", subject)):
        found.append("the subject states a fact: say in the imperative what the commit does")
    if not re.sub(r"(?m)^[A-Z][\w-]+: .*$", "", body).strip():
        found.append("no body says why")
    return found


def commits(*revisions: str) -> Iterator[str]:
    """The rules that commits break, each with its commit; merges are exempt."""
    for entry in git("log", "--no-merges", "-z", "--format=%h%n%B", *revisions, "--").split("\0"):
        commit, _, message = entry.partition("\n")
        for fault in faults(message) if commit else ():
            yield f"{commit} {message.partition(chr(10))[0]}: {fault}"


def lowered(old: dict[str, int], now: Counter[str]) -> dict[str, int]:
    """The bounds lowered to the counts; none is raised."""
    new = {folder: min(bound, now[folder]) for folder, bound in sorted(old.items())}
    return {folder: bound for folder, bound in new.items() if bound}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default=".", help="a file or a folder")
    parser.add_argument("--base", help="a revision")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    if options.lower:
        old, now = bounds(), counts(tree())
        new = lowered(old, now)
        (ROOT / BOUNDS).write_text(json.dumps(new, indent=2) + "\n")
        print(f"{sum(old.values())} before, {sum(new.values())} now")
        sys.exit("".join(f"{folder}: {now[folder]} found\n" for folder in now if now[folder] > new.get(folder, 0)) or None)
    found = list(added(options.base) if options.base else tree(options.path))
    for line in [*found, *(commits(f"{options.base}..HEAD") if options.base else ())]:
        print(line)
    print(f"{sum(counts(found).values())} lines")


if __name__ == "__main__":
    main()
