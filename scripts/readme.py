"""The steps of README.md in each language, commands and files, for test_docs.py and test_newcomer.py."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TEXT = (Path(__file__).resolve().parent.parent / "README.md").read_text()

#: A fenced block, with the paragraph before it.
_BLOCK = re.compile(r"(?:^(?P<before>\S[^\n]*)\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """What a reader does: writes a file, or enters commands, in which case the file has no name."""

    kind: str
    file: str
    text: str


def steps(language: str) -> list[Step]:
    """What the README says to do in one language, in the order in which it says so."""
    found = re.findall(rf"<summary>{re.escape(language)}</summary>\n(.*?)</details>", TEXT, re.DOTALL)
    assert len(found) == 1, f"{len(found)} sections about {language}"
    return [_step(block) for block in _BLOCK.finditer(found[0])]


def languages() -> list[str]:
    """All that it has steps for."""
    return re.findall(r"<summary>(.*)</summary>", TEXT)


def program(file: str) -> str:
    """The program that the README has under that name."""
    found = [step.text for language in languages() for step in steps(language) if step.file == file]
    assert len(found) == 1, f"{len(found)} programs {file}"
    return found[0]


def _step(block: re.Match[str]) -> Step:
    # "The file `report.py`:"
    named = re.search(r"`([^`]+)`:$", block["before"] or "")
    is_command = block["kind"] == "sh"
    return Step(block["kind"], named[1] if named and not is_command else "", block["text"])
